-- How often each lesson, rule or skill was of use. A guardrail is a path, with #section where it is a part of a file.
CREATE TABLE lesson_usage (
    repo_id   integer NOT NULL REFERENCES repo ON DELETE CASCADE,
    guardrail text COLLATE "C" NOT NULL,
    surfaced  bigint NOT NULL DEFAULT 0,
    retrieved bigint NOT NULL DEFAULT 0,
    helped    bigint NOT NULL DEFAULT 0,
    failed    bigint NOT NULL DEFAULT 0,
    recurred  bigint NOT NULL DEFAULT 0,
    first_at  timestamptz NOT NULL,
    last_at   timestamptz NOT NULL,
    PRIMARY KEY (repo_id, guardrail)
);

-- Lessons that were written and are not indexed yet: whoever learns next must know of them.
CREATE TABLE lesson_written (
    repo_id      integer NOT NULL REFERENCES repo ON DELETE CASCADE,
    path         text COLLATE "C" NOT NULL,
    content_hash text NOT NULL,
    text         text NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (repo_id, path)
);

-- What prune, consolidate and review moved, so that it can be undone.
CREATE TABLE lesson_run (
    id        text PRIMARY KEY,
    repo_id   integer NOT NULL REFERENCES repo ON DELETE CASCADE,
    kind      text NOT NULL,
    at        timestamptz NOT NULL,
    agent     text NOT NULL,
    moves     jsonb NOT NULL,
    undone_at timestamptz
);
CREATE INDEX lesson_run_at ON lesson_run (repo_id, at);
