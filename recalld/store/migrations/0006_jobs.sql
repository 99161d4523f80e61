-- Runs of jobs, one row a slot: what was asked for, who runs it, and what came of it. Whoever runs a slot holds an
-- advisory lock of it for that long, so a row that says running and whose lock is free is of a node that died. attempt
-- counts the starts and is what a runner's later words are checked by; failures and losses say how starts ended badly.
CREATE TABLE job_run (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL,
    slot         text NOT NULL,
    state        text NOT NULL
                 CHECK (state IN ('queued', 'running', 'done', 'failed', 'timed_out', 'cancelled', 'lost')),
    requested_by text NOT NULL,
    asked_at     timestamptz NOT NULL,
    node         text NOT NULL DEFAULT '',
    attempt      integer NOT NULL DEFAULT 0,
    failures     integer NOT NULL DEFAULT 0,
    losses       integer NOT NULL DEFAULT 0,
    started_at   timestamptz,
    beat_at      timestamptz,
    ended_at     timestamptz,
    words        text NOT NULL DEFAULT '',
    share        real,
    result       jsonb NOT NULL DEFAULT '{}',
    error        text NOT NULL DEFAULT '',
    cancelled_by text NOT NULL DEFAULT '',
    UNIQUE (name, slot)
);
CREATE INDEX job_run_open ON job_run (beat_at) WHERE state IN ('queued', 'running', 'lost');
