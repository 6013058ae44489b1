"""Finding what was recorded."""
