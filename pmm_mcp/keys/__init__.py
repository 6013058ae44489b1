"""The keys that prove a person: made, kept under a passphrase, and checked."""

from pmm_mcp.keys.ring import KeyRing, Sign, StoredKey
from pmm_mcp.keys.signatures import Ed25519Signatures

__all__ = ["Ed25519Signatures", "KeyRing", "Sign", "StoredKey"]
