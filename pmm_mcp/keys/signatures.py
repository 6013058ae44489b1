"""Checking Ed25519 signatures; `cryptography` is loaded when the first one is looked at."""


class Ed25519Signatures:
    """Implements the port `Signatures`."""

    def holds(self, public_key: str, message: bytes, signature: str) -> bool:
        """Say whether this key (hex) made this signature (hex) of these bytes; it never raises."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
            key.verify(bytes.fromhex(signature), message)
        except (InvalidSignature, ValueError):
            return False
        return True
