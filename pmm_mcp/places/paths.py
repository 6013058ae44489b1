"""One spelling for each directory: links followed, letters as they are on disk."""

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

PATH_MAX: Final = 4_096  # characters


def why_unusable(path: str) -> str | None:
    """Return why a text cannot be the path of a directory; None when it can."""
    if len(path) > PATH_MAX:
        return f"is longer than {PATH_MAX} characters"
    if not os.path.isabs(path):
        return "is not an absolute path"
    try:
        os.fsencode(path)
        path.encode("utf-8", "surrogateescape")  # what an anchor can hold, on Windows as well
    except UnicodeEncodeError:
        return "is not text the file system can hold"
    return "holds a NUL character" if "\0" in path else None


def real_path(path: str) -> str:
    """Return the one spelling of a path; the part of it that exists decides."""
    real = os.path.realpath(path)
    return _as_on_disk(real) if _ignores_case(real) else real


def is_below(path: str, roots: Iterable[str | os.PathLike[str]]) -> bool:
    """Say whether a path is one of the roots or below one, both as written and with links followed."""
    # As written comes first: following a link on a foreign network share would already be a request to it.
    plain = [os.path.abspath(root) for root in roots]
    real = [real_path(root) for root in plain]
    return _within(os.path.abspath(path), plain + real) and _within(real_path(path), real)


def upwards(path: str) -> Iterator[str]:
    """Yield a directory and all its parents, nearest first."""
    yield path
    while (parent := os.path.dirname(path)) != path:
        path = parent
        yield path


def name_among(names: Sequence[str], name: str) -> str:
    """Return the one of a directory's names that this spelling of it means."""
    wanted = _folded(name)
    return name if name in names else next((other for other in names if _folded(other) == wanted), name)


def _within(path: str, roots: Iterable[str]) -> bool:
    return not set(roots).isdisjoint(upwards(path))


def _ignores_case(path: str) -> bool:
    other = path.swapcase()
    return other != path and os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def _as_on_disk(path: str) -> str:
    *below, top = upwards(path)
    found = top
    for folder in reversed(below):
        name = os.path.basename(folder)
        found = os.path.join(found, name_among(_names(found), name))
    return found


def _names(folder: str) -> Sequence[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
