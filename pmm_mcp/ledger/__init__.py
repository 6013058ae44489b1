"""The log: one package an engine."""
