-- Every search looks names up, and a list of pending entries is read from end to end each time: entries go straight in.
ALTER INDEX document_names SET (fastupdate = off);
ALTER INDEX edge_names SET (fastupdate = off);
SELECT gin_clean_pending_list('document_names'), gin_clean_pending_list('edge_names');
