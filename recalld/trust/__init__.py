"""Whether a hit may be believed."""
