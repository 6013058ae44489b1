"""Where a call comes from, as git and the file system tell it."""

from pmm_mcp.places.finder import GitPlaces

__all__ = ["GitPlaces"]
