"""Data files that the code needs."""
