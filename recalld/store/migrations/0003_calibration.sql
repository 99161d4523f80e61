-- Calibrations of confidence, one row a fit; the newest of a generation counts. model and probes are plain JSON that the
-- trust layer checks before it believes it. documents and checked_at say how the corpus was when the model was last
-- looked at, drift what was found then: fitted, stable, or aged, when it counts no longer.
CREATE TABLE calibration (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id integer NOT NULL REFERENCES generation ON DELETE CASCADE,
    fitted_at     timestamptz NOT NULL,
    model         jsonb NOT NULL,
    probes        jsonb NOT NULL,
    documents     integer NOT NULL,
    checked_at    timestamptz NOT NULL,
    drift         text NOT NULL DEFAULT 'fitted' CHECK (drift IN ('fitted', 'stable', 'aged'))
);
CREATE INDEX calibration_generation ON calibration (generation_id, id DESC);
