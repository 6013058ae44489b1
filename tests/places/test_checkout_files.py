"""Which files evidence may cite, and what is read of them."""

import os
import sys
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest

from pmm_mcp.domain.anchors import UNSCOPED, Place, worktree_anchor
from pmm_mcp.places import CheckoutFiles
from pmm_mcp.places.sources import FILE_BYTES_MAX
from pmm_mcp.ports import FileRead


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "my checkout"
    (root / "src").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\n")
    (root / "src" / "app.py").write_bytes(b"one\ntwo\nthree")
    (tmp_path / "secret.txt").write_text("outside\n")
    return root


async def read(root: Path, path: str) -> FileRead | None:
    place = Place(worktree=worktree_anchor(root.as_posix()), repo=UNSCOPED)
    return await CheckoutFiles().read(place, path)


async def test_a_file_is_known_by_its_path_its_blob_and_its_lines(checkout: Path) -> None:
    found = await read(checkout, "src/app.py")
    as_git_says = sha1(b"blob 13\0one\ntwo\nthree").hexdigest()
    assert found == FileRead("src/app.py", as_git_says, 3)


@pytest.mark.parametrize("spelling", ["./src/app.py", "src/../src/app.py", "src//app.py"])
async def test_every_spelling_of_a_path_is_one_file(checkout: Path, spelling: str) -> None:
    assert await read(checkout, spelling) == await read(checkout, "src/app.py")


async def test_an_absolute_path_below_the_checkout_is_the_same_file(checkout: Path) -> None:
    assert await read(checkout, str(checkout / "src" / "app.py")) == await read(checkout, "src/app.py")


async def test_a_link_to_a_file_of_the_checkout_is_that_file(checkout: Path) -> None:
    (checkout / "alias.py").symlink_to(checkout / "src" / "app.py")
    assert await read(checkout, "alias.py") == await read(checkout, "src/app.py")


@pytest.mark.parametrize(("content", "lines"), [(b"", 0), (b"\n", 1), (b"a\r\nb\r\n", 2), (b"a\n\nb", 3)])
async def test_the_last_line_counts_with_and_without_its_end(
    checkout: Path, content: bytes, lines: int
) -> None:
    (checkout / "some").write_bytes(content)
    found = await read(checkout, "some")
    assert found is not None
    assert found.lines == lines


def outside(_root: Path) -> str:
    return "../secret.txt"


def absolute(root: Path) -> str:
    return str(root.parent / "secret.txt")


def link_out(root: Path) -> str:
    (root / "link").symlink_to(root.parent / "secret.txt")
    return "link"


def dead_link(root: Path) -> str:
    (root / "dead").symlink_to(root / "nowhere")
    return "dead"


def pipe(root: Path) -> str:
    os.mkfifo(root / "pipe")
    return "pipe"


def directory(_root: Path) -> str:
    return "src"


def missing(_root: Path) -> str:
    return "src/none.py"


def of_git(_root: Path) -> str:
    return ".git/config"


def of_git_in_capitals(root: Path) -> str:
    (root / ".GIT").mkdir(exist_ok=True)
    (root / ".GIT" / "config").write_text("[core]\n")
    return ".GIT/config"


def locked(root: Path) -> str:
    (root / "locked").write_text("x")
    (root / "locked").chmod(0)
    if os.access(root / "locked", os.R_OK):
        pytest.skip("nothing is locked to this user")
    return "locked"


def huge(root: Path) -> str:
    with (root / "huge").open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    return "huge"


def with_nul(_root: Path) -> str:
    return "src/a\0b"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes need rights there")
@pytest.mark.parametrize(
    "named",
    [
        outside,
        absolute,
        link_out,
        dead_link,
        pipe,
        directory,
        missing,
        of_git,
        of_git_in_capitals,
        locked,
        huge,
        with_nul,
    ],
)
async def test_what_is_no_file_of_the_checkout_is_not_read(
    checkout: Path, named: Callable[[Path], str]
) -> None:
    assert await read(checkout, named(checkout)) is None


async def test_outside_of_a_checkout_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    place = Place(worktree=None, repo=UNSCOPED)
    assert await CheckoutFiles().read(place, str(tmp_path / "a.txt")) is None
