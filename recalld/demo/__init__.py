"""A throw-away daemon over a small project's memory, and the story that it tells."""
