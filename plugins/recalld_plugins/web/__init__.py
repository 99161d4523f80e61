"""Web pages: fetched without letting them reach what is private, and read for their main text."""
