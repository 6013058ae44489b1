"""Where a call comes from, as git and the file system tell it."""

from pmm_mcp.places.finder import GitPlaces
from pmm_mcp.places.sources import CheckoutFiles

__all__ = ["CheckoutFiles", "GitPlaces"]
