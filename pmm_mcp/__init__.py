"""A governed memory for coding agents: an append-only ledger, and everything computed from it."""

__version__ = "0.1.0"
