"""The embedded engine: one SQLite file, one writer at a time."""
