"""One use case a verb: requests in, replies out, no bus and no SQL."""
