-- A question in other words has the same gist, so that it is found by an index and not by looking at all vectors.
-- What was remembered before has none: the job "episodes" writes it.
ALTER TABLE episode ADD COLUMN gist text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX episode_gist ON episode (key, gist) WHERE ended_at IS NULL;
DROP INDEX episode_vector_key;
ALTER TABLE episode_vector DROP COLUMN key;
