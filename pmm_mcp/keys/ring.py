"""Private keys on disk: one file each, encrypted with a passphrase, outside of every ledger."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pmm_mcp.domain.errors import ReviewRefusedError
from pmm_mcp.domain.reviews import key_id

PASSPHRASE_CHARS_MIN: Final = 8

Sign = Callable[[bytes], str]
"""Returns the signature of some bytes, in hex."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key by its name (the beginning of the SHA-256 of its public half), and its public half, in hex."""

    key: str
    public_key: str


class KeyRing:
    """The keys of this machine's user."""

    def __init__(self, directory: Path) -> None:
        """Look for keys here; the directory is made with the first one."""
        self._directory = directory

    def create(self, passphrase: str) -> StoredKey:
        """Make a key and keep its private half under a passphrase.

        Raises:
            ReviewRefusedError: the passphrase is too short.

        """
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if len(passphrase) < PASSPHRASE_CHARS_MIN:
            raise ReviewRefusedError(
                "the passphrase is too short", hint=f"Use at least {PASSPHRASE_CHARS_MIN} characters."
            )
        private = Ed25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        stored = StoredKey(key_id(public), public.hex())
        data = private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(passphrase.encode()),
        )
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(stored.key)
        beside = path.with_suffix(".new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        return stored

    def unlock(self, key: str, passphrase: str) -> Sign:
        """Return what signs with a key.

        Raises:
            ReviewRefusedError: the key is not here, or the passphrase is not its.

        """
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        path = self._path(key)
        if not path.is_file():
            raise ReviewRefusedError(
                f"the key {key} is not on this machine",
                hint=f"Keys lie in {self._directory}; `pmm-mcp reviewer list` names those of this ledger.",
            )
        try:
            private = serialization.load_pem_private_key(path.read_bytes(), passphrase.encode())
        except (ValueError, TypeError) as error:
            raise ReviewRefusedError(
                f"this is not the passphrase of the key {key}", hint="Nothing was signed; try again."
            ) from error
        if not isinstance(private, Ed25519PrivateKey):
            raise ReviewRefusedError(f"{path} holds another kind of key", hint="Move it away.")
        return lambda message: private.sign(message).hex()

    def holds(self, key: str) -> bool:
        """Say whether the private half of a key is here."""
        return self._path(key).is_file()

    def discard(self, key: str) -> None:
        """Forget a key that nobody came to know."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._directory / f"{Path(key).name}.pem"
