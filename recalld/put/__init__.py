"""Putting documents in: files and web pages become text with a source, in files of a repo."""
