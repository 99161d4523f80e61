"""From bytes to a stored document: readers, chunkers, the indexing worker."""
