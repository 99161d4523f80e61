-- Calibrations of confidence, one row a fit; the newest of a generation counts. model and probes are plain JSON that the
-- trust layer checks before it believes it. documents and checked_at say how the corpus was when the model was last
-- found good, drift what was found then (fitted, stable).
CREATE TABLE calibration (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id integer NOT NULL REFERENCES generation ON DELETE CASCADE,
    fitted_at     timestamptz NOT NULL,
    model         jsonb NOT NULL,
    probes        jsonb NOT NULL,
    documents     integer NOT NULL,
    checked_at    timestamptz NOT NULL,
    drift         text NOT NULL DEFAULT 'fitted'
);
CREATE INDEX calibration_generation ON calibration (generation_id, id DESC);
