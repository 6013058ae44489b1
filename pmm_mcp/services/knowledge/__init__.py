"""The life of governed knowledge, one file a use case."""
