"""What turns texts into vectors: a table that comes with a package, a small model, or a server."""

from pmm_mcp.embedders.choice import Embedders
from pmm_mcp.embedders.static import StaticEmbedder

__all__ = ["Embedders", "StaticEmbedder"]
