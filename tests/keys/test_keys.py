"""Keys: kept under a passphrase for their owner alone, and signatures that fit one message of one key."""

import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from pmm_mcp.domain.errors import ReviewRefusedError
from pmm_mcp.domain.reviews import key_id
from pmm_mcp.keys import Ed25519Signatures, KeyRing

PASSPHRASE = "correct horse battery"
on_posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no modes of files there")


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "deep" / "keys")


def test_what_a_key_signs_holds_for_that_key_and_those_bytes_only(ring: KeyRing) -> None:
    one, two = ring.create(PASSPHRASE), ring.create(PASSPHRASE)
    signature = ring.unlock(one.key, PASSPHRASE)(b"said")
    holds = Ed25519Signatures().holds
    assert holds(one.public_key, b"said", signature)
    assert not holds(one.public_key, b"said otherwise", signature)
    assert not holds(two.public_key, b"said", signature)
    assert not holds(one.public_key, b"said", "0" * 128)


def test_a_signature_is_ed25519_as_everyone_makes_it() -> None:
    """The first test of RFC 8032, section 7.1."""
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    signature = (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )
    assert Ed25519Signatures().holds(public, b"", signature)


@pytest.mark.parametrize("public_key", ["", "no hex", "ab", "0" * 64, "f" * 64, "é" * 64])
@pytest.mark.parametrize("signature", ["", "no hex", "ab", "0" * 128, "f" * 128, "é" * 128])
def test_nonsense_does_not_hold_and_raises_nothing(public_key: str, signature: str) -> None:
    assert Ed25519Signatures().holds(public_key, b"said", signature) is False


@on_posix
def test_a_key_is_for_its_owner_alone(ring: KeyRing, tmp_path: Path) -> None:
    stored = ring.create(PASSPHRASE)
    folder = tmp_path / "deep" / "keys"
    (file,) = folder.iterdir()
    assert file.name == f"{stored.key}.pem"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert file.read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def test_a_key_is_called_after_its_public_half(ring: KeyRing) -> None:
    stored = ring.create(PASSPHRASE)
    public = bytes.fromhex(stored.public_key)
    assert stored.key == key_id(public) == sha256(public).hexdigest()[:16]
    assert ring.holds(stored.key)
    assert not ring.holds("0" * 16)


@pytest.mark.parametrize("passphrase", ["", "correct horse", PASSPHRASE + " "])
def test_another_passphrase_unlocks_nothing(ring: KeyRing, passphrase: str) -> None:
    stored = ring.create(PASSPHRASE)
    with pytest.raises(ReviewRefusedError, match="not the passphrase"):
        ring.unlock(stored.key, passphrase)


@pytest.mark.parametrize("key", ["0" * 16, "", "../../etc/passwd", "\0"])
def test_a_key_that_is_not_here_unlocks_nothing(ring: KeyRing, key: str) -> None:
    with pytest.raises(ReviewRefusedError, match="not on this machine"):
        ring.unlock(key, PASSPHRASE)


def test_a_short_passphrase_makes_no_key(ring: KeyRing, tmp_path: Path) -> None:
    with pytest.raises(ReviewRefusedError, match="too short"):
        ring.create("short")
    assert not (tmp_path / "deep").exists()


def test_a_key_that_is_discarded_is_gone(ring: KeyRing) -> None:
    stored = ring.create(PASSPHRASE)
    ring.discard(stored.key)
    ring.discard(stored.key)
    assert not ring.holds(stored.key)


def test_a_file_that_is_no_key_is_refused(ring: KeyRing, tmp_path: Path) -> None:
    stored = ring.create(PASSPHRASE)
    (tmp_path / "deep" / "keys" / f"{stored.key}.pem").write_bytes(b"not a key")
    with pytest.raises(ReviewRefusedError):
        ring.unlock(stored.key, PASSPHRASE)


def test_nobody_waits_for_cryptography_who_signs_nothing() -> None:
    code = "import sys, pmm_mcp.bootstrap; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
