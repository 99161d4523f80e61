-- The index: a view of the files, plus what has to survive a rebuild (who forgot what, since when it is known).

-- A removed repo is renamed and visible to no one until its documents have been dropped, a few at a time.
CREATE TABLE repo (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    removed    boolean NOT NULL DEFAULT false,
    path       text NOT NULL,
    node       text NOT NULL,
    include    text[] NOT NULL DEFAULT '{}',
    exclude    text[] NOT NULL DEFAULT '{}',
    read_only  boolean NOT NULL DEFAULT false,
    visible_to text[] NOT NULL DEFAULT '{}',
    added_by   text NOT NULL,
    added_at   timestamptz NOT NULL,
    state      text,
    commit     text,
    scanned_at timestamptz
);

CREATE TABLE generation (
    id                   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint          text NOT NULL UNIQUE,
    embedder             text NOT NULL,
    embedder_fingerprint text NOT NULL,
    dimension            integer NOT NULL,
    state                text NOT NULL CHECK (state IN ('building', 'serving', 'retired')),
    created_at           timestamptz NOT NULL DEFAULT now(),
    switched_at          timestamptz
);
CREATE UNIQUE INDEX generation_serving ON generation (state) WHERE state = 'serving';

-- One row a path: what the index believes (manifest), what it holds (document), and what it must not resurrect
-- (tombstone). epoch and seq are the ingest position; a lower one never overwrites a higher one.
CREATE TABLE document (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repo_id          integer NOT NULL REFERENCES repo ON DELETE CASCADE,
    path             text COLLATE "C" NOT NULL,
    state            text NOT NULL CHECK (state IN ('indexed', 'skipped', 'failed', 'deleted', 'forgotten')),
    reason           text NOT NULL DEFAULT '',
    content_hash     text NOT NULL DEFAULT '',
    size             bigint,
    mtime_ns         numeric,
    ctime_ns         numeric,
    inode            numeric,
    epoch            bigint NOT NULL,
    seq              bigint NOT NULL,
    agent            text NOT NULL DEFAULT '',
    changed_at       timestamptz NOT NULL,
    changed_in       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- What was read last; null where nothing is held. A document whose newest state failed keeps its last good text.
    text             text,
    text_hash        text,
    text_commit      text,
    title            text NOT NULL DEFAULT '',
    kind             text NOT NULL DEFAULT '',
    tags             text[] NOT NULL DEFAULT '{}',
    aliases          text[] NOT NULL DEFAULT '{}',
    metadata         jsonb NOT NULL DEFAULT '{}',
    modified_at      timestamptz,
    indexed_at       timestamptz,
    first_indexed_at timestamptz,
    UNIQUE (repo_id, path)
);
CREATE INDEX document_change ON document (changed_in, id);
CREATE INDEX document_indexed_at ON document (indexed_at);
CREATE INDEX document_failed ON document (repo_id) WHERE state = 'failed';
CREATE INDEX document_tombstone ON document (changed_at) WHERE state = 'deleted';

CREATE TABLE edge (
    document_id bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    kind        text NOT NULL,
    target      text NOT NULL,
    source      text NOT NULL,
    key         text NOT NULL,
    line        integer
);
CREATE INDEX edge_document ON edge (document_id);

-- Which documents a generation holds in their newest state, those without a chunk among them.
CREATE TABLE document_generation (
    generation_id integer NOT NULL REFERENCES generation,
    document_id   bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    PRIMARY KEY (generation_id, document_id)
);
CREATE INDEX document_generation_document ON document_generation (document_id);

CREATE TABLE chunk (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id integer NOT NULL REFERENCES generation,
    document_id   bigint NOT NULL REFERENCES document ON DELETE CASCADE,
    ordinal       integer NOT NULL,
    first_line    integer NOT NULL,
    last_line     integer NOT NULL,
    tokens        integer NOT NULL,
    length        real NOT NULL,
    hash          text NOT NULL,
    heading       text[] NOT NULL,
    text          text NOT NULL,
    terms         bigint[] NOT NULL
);
CREATE INDEX chunk_document ON chunk (document_id, generation_id, ordinal);
CREATE INDEX chunk_hash ON chunk (hash);

-- The lexical leg. A term is a 64-bit hash of the word and its generation, so that generations never meet.
CREATE TABLE posting (
    term     bigint NOT NULL,
    chunk_id bigint NOT NULL,
    tf       real NOT NULL,
    length   real NOT NULL
);
CREATE UNIQUE INDEX posting_term ON posting (term, chunk_id) INCLUDE (tf, length);
ALTER TABLE posting SET (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_scale_factor = 0.05);

-- The dense leg, narrow so that an exact scan reads little, and the token signs that rerank it.
CREATE TABLE chunk_vector (
    chunk_id      bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE,
    generation_id integer NOT NULL,
    embedding     halfvec NOT NULL
);
ALTER TABLE chunk_vector ALTER COLUMN embedding SET STORAGE MAIN;

CREATE TABLE chunk_bits (
    chunk_id bigint PRIMARY KEY REFERENCES chunk ON DELETE CASCADE,
    bits     bytea NOT NULL
);
ALTER TABLE chunk_bits ALTER COLUMN bits SET STORAGE EXTERNAL;

-- A chunk as it is handed over to be stored, with its postings' frequencies in the order of its terms.
CREATE TYPE chunk_write AS (
    id            bigint,
    generation_id integer,
    document_id   bigint,
    ordinal       integer,
    first_line    integer,
    last_line     integer,
    tokens        integer,
    length        real,
    hash          text,
    heading       text[],
    text          text,
    terms         bigint[],
    frequencies   real[],
    embedding     halfvec,
    bits          bytea
);

-- Embeddings that no chunk holds any more, for texts that come back (a branch checked out again, a file renamed).
CREATE TABLE embedding_cache (
    embedder_fingerprint text NOT NULL,
    hash                 text NOT NULL,
    embedding            halfvec NOT NULL,
    bits                 bytea,
    kept_at              timestamptz NOT NULL,
    PRIMARY KEY (embedder_fingerprint, hash)
);
ALTER TABLE embedding_cache ALTER COLUMN bits SET STORAGE EXTERNAL;
CREATE INDEX embedding_cache_kept_at ON embedding_cache (kept_at);

CREATE TABLE finding (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repo_id    integer NOT NULL REFERENCES repo ON DELETE CASCADE,
    path       text COLLATE "C" NOT NULL,
    source     text NOT NULL,
    code       text NOT NULL,
    severity   text NOT NULL,
    message    text NOT NULL,
    hint       text NOT NULL,
    line       integer,
    key        text,
    attempts   integer NOT NULL,
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL
);
CREATE INDEX finding_place ON finding (repo_id, path, source);
