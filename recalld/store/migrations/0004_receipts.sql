-- What each answer relied on, so that whoever got it can be told when that is no longer true.
CREATE TABLE receipt (
    id          text PRIMARY KEY,
    agent       text NOT NULL,
    query       text NOT NULL,
    abstained   boolean NOT NULL,
    as_of       timestamptz,
    known_as_of timestamptz,
    at          timestamptz NOT NULL
);
CREATE INDEX receipt_agent ON receipt (agent, at);
CREATE INDEX receipt_at ON receipt (at);

-- No reference to document: a tombstone is dropped some day, and the answer still relied on what it stood for.
CREATE TABLE citation (
    receipt_id   text NOT NULL REFERENCES receipt ON DELETE CASCADE,
    document_id  bigint NOT NULL,
    repo         text NOT NULL,
    path         text COLLATE "C" NOT NULL,
    content_hash text NOT NULL,
    valid_until  timestamptz,
    happened     text,
    reason       text NOT NULL DEFAULT '',
    successor    text,
    broken_at    timestamptz,
    PRIMARY KEY (receipt_id, document_id)
);
CREATE INDEX citation_document ON citation (document_id) WHERE happened IS NULL;
CREATE INDEX citation_valid_until ON citation (valid_until) WHERE happened IS NULL AND valid_until IS NOT NULL;
