"""Embedders: text to vectors, off the event loop."""
