-- Who replaced whom: under which names a document is found, under which a claim looks for its target, and since when
-- the index has seen the claim. Rows from before are looked under when the next generation reads their text again.
ALTER TABLE document ADD COLUMN names text[] NOT NULL DEFAULT '{}';
CREATE INDEX document_names ON document USING gin (names) WITH (gin_pending_list_limit = 256);

ALTER TABLE edge ADD COLUMN subject text NOT NULL DEFAULT '';
ALTER TABLE edge ADD COLUMN names text[] NOT NULL DEFAULT '{}';
ALTER TABLE edge ADD COLUMN asserted_at timestamptz;
UPDATE edge e SET asserted_at = coalesce(d.indexed_at, d.changed_at) FROM document d WHERE d.id = e.document_id;
ALTER TABLE edge ALTER COLUMN asserted_at SET NOT NULL;
CREATE INDEX edge_names ON edge USING gin (names) WITH (gin_pending_list_limit = 256)
    WHERE kind <> 'link' AND source <> 'prose';
