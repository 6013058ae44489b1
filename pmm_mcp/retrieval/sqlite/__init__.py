"""The search index in SQLite's FTS5."""
