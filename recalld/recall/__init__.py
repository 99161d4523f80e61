"""A query's way to hits: retrieve, fuse, rerank, context."""
