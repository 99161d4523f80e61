-- Both looks into memory are by a digest first: no other index begins with the key, by which Postgres would read all
-- episodes of it, and a question of any length has a place in the index. That one question under one key stands once
-- is seen to by a lock (Episodes.remember).
DROP INDEX episode_exact;
DROP INDEX episode_gist;
CREATE INDEX episode_words ON episode (hashtextextended(normal, 0), key) WHERE ended_at IS NULL;
CREATE INDEX episode_gist ON episode (gist, key) WHERE ended_at IS NULL;
