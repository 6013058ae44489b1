"""Importers and exporters: what comes from other systems, and what leaves for them."""
