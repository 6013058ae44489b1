"""What git keeps on disk, read without git: which repository a directory is in, and where it stands."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pmm_mcp.places import config
from pmm_mcp.places.paths import real_path, upwards

_FILE_BYTES_MAX: Final = 16 * 2**20
_SETTINGS_BYTES_MAX: Final = 2**20
_SYMBOLIC_REFS_MAX: Final = 5  # as in git
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ELSEWHERE: Final = "refs/heads/.invalid"  # what HEAD says when refs are kept in a reftable
_TRUE: Final = frozenset({"true", "yes", "on", "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where one checkout, or one bare repository, keeps what; every path is real and absolute."""

    worktree: str  # empty in a bare repository
    git_dir: str
    common_dir: str  # shared by all worktrees of the repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the files say about a directory."""

    asked: str  # the real path of the directory that was asked about
    directory: str  # the same, or its nearest parent when it no longer exists
    layout: Layout | None  # None outside git
    origin: str = ""
    head: str | None = ""  # None: only git itself can read it
    deleted_worktree: bool = False

    @property
    def vanished(self) -> bool:
        """Whether the directory is gone."""
        return self.asked != self.directory


def survey(path: str) -> Survey:
    """Read all that the files say about a directory, a file's directory, or a directory now deleted."""
    asked = real_path(path)
    if os.path.exists(asked) and not os.path.isdir(asked):
        asked = os.path.dirname(asked)
    directory = next((folder for folder in upwards(asked) if os.path.isdir(folder)), asked)
    layout = locate(directory)
    deleted = _deleted_worktree(layout, asked) if layout and asked != directory else None
    layout = deleted or layout
    if layout is None:
        return Survey(asked=asked, directory=directory, layout=None)
    return Survey(
        asked=asked,
        directory=directory,
        layout=layout,
        origin=config.first(_settings(layout.common_dir), "remote.origin.url"),
        head=head_of(layout),
        deleted_worktree=deleted is not None,
    )


def locate(directory: str) -> Layout | None:
    """Return the layout of the repository a directory is in, found as git finds it."""
    for folder in upwards(directory):
        entry = os.path.join(folder, ".git")
        if os.path.isfile(entry):
            git_dir = _target(entry, marker="gitdir: ")
            return _layout(git_dir, folder) if _is_git_dir(git_dir) else None
        if _is_git_dir(entry):
            return _layout(entry, folder)
        if _is_git_dir(folder):
            return _layout(folder, "")
    return None


def head_of(layout: Layout) -> str | None:
    """Return the commit checked out; empty before the first one, None when only git can tell."""
    text = _read(os.path.join(layout.git_dir, "HEAD")).strip()
    for _ in range(_SYMBOLIC_REFS_MAX):
        if not text.startswith("ref:"):
            break
        name = text.removeprefix("ref:").strip()
        if name == _ELSEWHERE:
            return None
        if not name.startswith("refs/") or ".." in name:
            return ""
        text = _read(os.path.join(layout.common_dir, name)).strip() or _packed(layout.common_dir, name)
    return text if _COMMIT.fullmatch(text) else ""


def _layout(git_dir: str, folder: str) -> Layout:
    git_dir = real_path(git_dir)
    if common := _target(os.path.join(git_dir, "commondir")):
        return Layout(worktree=folder, git_dir=git_dir, common_dir=real_path(common))
    settings = _settings(git_dir)
    worktree = "" if config.last(settings, "core.bare").lower() in _TRUE else folder
    if worktree and (elsewhere := config.last(settings, "core.worktree")):
        worktree = real_path(os.path.join(git_dir, elsewhere))
    return Layout(worktree=worktree, git_dir=git_dir, common_dir=git_dir)


def _is_git_dir(path: str) -> bool:
    if not os.path.lexists(os.path.join(path, "HEAD")):
        return False
    common = _target(os.path.join(path, "commondir")) or path
    return all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))


def _deleted_worktree(layout: Layout, asked: str) -> Layout | None:
    """Return the worktree that stood at a deleted path, as long as git has not pruned it."""
    parents = set(upwards(asked))
    for git_dir in _entries(os.path.join(layout.common_dir, "worktrees")):
        worktree = real_path(os.path.dirname(_target(os.path.join(git_dir, "gitdir")) or git_dir))
        if worktree in parents and not os.path.isdir(worktree):
            return Layout(worktree=worktree, git_dir=git_dir, common_dir=layout.common_dir)
    return None


def _entries(folder: str) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    yield from (os.path.join(folder, name) for name in names)


def _target(path: str, *, marker: str = "") -> str:
    """Return the path a small file points to, which may be relative to it; empty when it points nowhere."""
    text = _read(path)
    target = text.removeprefix(marker).rstrip("\r\n")
    if not target or "\0" in target or not text.startswith(marker):
        return ""
    return os.path.join(os.path.dirname(path), target)


def _settings(git_dir: str) -> str:
    paths = (os.path.join(git_dir, name) for name in ("config", "config.worktree"))
    return "\n".join(_read(path, bytes_max=_SETTINGS_BYTES_MAX) for path in paths)


def _packed(common_dir: str, name: str) -> str:
    text = _read(os.path.join(common_dir, "packed-refs"))
    end = text.find(f" {name}\n")  # the file may be large, and a search by pattern slow
    return text[text.rfind("\n", 0, end) + 1 : end] if end >= 0 else ""


def _read(path: str, *, bytes_max: int = _FILE_BYTES_MAX) -> str:
    """Return a file's text; empty when there is none. Never opens a pipe, which would wait for a writer."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, "rb") as file:
            return os.fsdecode(file.read(bytes_max).removeprefix(b"\xef\xbb\xbf"))
    except (OSError, ValueError):  # ValueError: a hostile file may name a path that is none
        return ""
