-- Questions that were answered, for as long as what the answers rely on stands.
CREATE TABLE episode (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key            text COLLATE "C" NOT NULL,
    generation_id  integer NOT NULL REFERENCES generation ON DELETE CASCADE,
    question       text NOT NULL,
    normal         text COLLATE "C" NOT NULL,
    asks           text NOT NULL,
    scope          text NOT NULL,
    answer         text NOT NULL,
    answerer       text NOT NULL,
    confidence     double precision,
    negative       boolean NOT NULL,
    citations      jsonb NOT NULL,
    floor          real,
    as_of          timestamptz,
    known_as_of    timestamptz,
    agent          text NOT NULL,
    at             timestamptz NOT NULL,
    indexed_at     timestamptz,
    served         bigint NOT NULL DEFAULT 0,
    helped         integer NOT NULL DEFAULT 0,
    failed         integer NOT NULL DEFAULT 0,
    corrected      integer NOT NULL DEFAULT 0,
    last_served_at timestamptz,
    ended_at       timestamptz,
    ended          text NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX episode_exact ON episode (key, normal) WHERE ended_at IS NULL;
CREATE INDEX episode_at ON episode (at);

-- What is compared with a new question, apart from what is only read of the one that is served.
CREATE TABLE episode_vector (
    episode_id bigint PRIMARY KEY REFERENCES episode ON DELETE CASCADE,
    key        text COLLATE "C" NOT NULL,
    embedding  halfvec NOT NULL
);
ALTER TABLE episode_vector ALTER COLUMN embedding SET STORAGE MAIN;
CREATE INDEX episode_vector_key ON episode_vector (key);

-- No reference to document: see citation.
CREATE TABLE episode_source (
    episode_id   bigint NOT NULL REFERENCES episode ON DELETE CASCADE,
    document_id  bigint NOT NULL,
    repo         text NOT NULL,
    path         text COLLATE "C" NOT NULL,
    content_hash text NOT NULL,
    valid_until  timestamptz,
    PRIMARY KEY (episode_id, document_id)
);
CREATE INDEX episode_source_document ON episode_source (document_id);

-- Conversations: what was said, by whom, and what a follow-up question was taken to mean.
CREATE TABLE session (
    agent      text NOT NULL,
    id         text COLLATE "C" NOT NULL,
    title      text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (agent, id)
);
CREATE INDEX session_updated_at ON session (updated_at);
CREATE TABLE session_message (
    agent      text NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    number     integer NOT NULL,
    role       text NOT NULL,
    text       text NOT NULL,
    standalone text NOT NULL DEFAULT '',
    receipt    text NOT NULL DEFAULT '',
    at         timestamptz NOT NULL,
    PRIMARY KEY (agent, session_id, number),
    FOREIGN KEY (agent, session_id) REFERENCES session ON DELETE CASCADE
);

-- What answerers were paid for, a day (UTC).
CREATE TABLE answerer_spending (
    day      date NOT NULL,
    answerer text NOT NULL,
    tokens   bigint NOT NULL,
    PRIMARY KEY (day, answerer)
);

-- How sure it may be that an earlier answer fits a later question; the newest row counts.
CREATE TABLE episode_calibration (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fitted_at timestamptz NOT NULL,
    embedder  text NOT NULL,
    model     jsonb NOT NULL
);
