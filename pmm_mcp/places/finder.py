"""Finding the place of a call: its directory first, then what git knows about that directory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Final

import anyio

from pmm_mcp.domain.anchors import (
    UNSCOPED,
    Place,
    path_text,
    repo_anchor_of_dir,
    repo_anchor_of_remote,
    worktree_anchor,
)
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.places.files import Layout, Survey, survey
from pmm_mcp.places.git import Git
from pmm_mcp.places.paths import is_below, upwards, why_unusable
from pmm_mcp.places.threads import in_time

PLACES_MAX: Final = 256
AGE_MAX_S: Final = 30.0  # for what the compared files do not show: includes, the user's own git settings

PROJECT_VARIABLES: Final = ("PMM_MCP_PROJECT_DIR", "CLAUDE_PROJECT_DIR")

_HINT: Final = "Give the absolute path of a directory of the project, or leave cwd out."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A place that was found, and what the files said when it was."""

    files: tuple[Layout | None, str]  # layout, origin
    found_at: float
    layout: Layout | None
    place: Place


class GitPlaces:
    """Find the place of a call; implements the port `Places`."""

    def __init__(
        self,
        environment: Mapping[str, str],
        process_dir: str,
        *,
        clock: Callable[[], float],
        roots: tuple[Path, ...] | None = None,
    ) -> None:
        """Take the surroundings as they are at the start.

        Args:
            environment: of the process.
            process_dir: its directory; empty when it has none.
            clock: monotonic, in seconds.
            roots: with them (over HTTP) a call's cwd counts only below one, and nothing else counts.

        """
        self._environment = environment
        self._process_dir = process_dir
        self._clock = clock
        self._roots = roots
        self._git = Git(environment, clock=clock)
        self._known: dict[str, _Known] = {}  # by directory, the one used longest ago first
        self._asking = anyio.Lock()

    async def find(self, cwd: str | None) -> Place:
        """Return the place of a call that names `cwd`, or names none.

        Raises:
            InvalidArgumentError: cwd is not an absolute path.

        """
        given = cwd if cwd and not cwd.isspace() else ""
        if given and (reason := why_unusable(given)):
            raise InvalidArgumentError(f"cwd {reason}", hint=_HINT)
        if self._roots is not None:
            return await self._below_roots(given, self._roots)
        return await (self._look(given) if given else self._from_surroundings())

    async def _below_roots(self, cwd: str, roots: tuple[Path, ...]) -> Place:
        if not cwd:
            return _unscoped("no cwd was given")
        if not await in_time(partial(is_below, cwd, roots), otherwise=False):
            return _unscoped("cwd is not below a directory this server may look into")
        return await self._look(cwd)

    async def _from_surroundings(self) -> Place:
        ignored: list[str] = []
        for variable in PROJECT_VARIABLES:
            directory = self._environment.get(variable, "").strip()
            if not directory:
                continue
            if reason := why_unusable(directory):
                ignored.append(f"{variable} {reason} and was ignored")
                continue
            return _noted(await self._look(directory), *ignored)
        if self._process_dir and why_unusable(self._process_dir) is None:
            place = await self._look(self._process_dir)
            if place.repo != UNSCOPED:
                return _noted(place, *ignored)
        return _noted(_unscoped("no cwd was given, and the server was not started in a repository"), *ignored)

    async def _look(self, directory: str) -> Place:
        """Return the place of an absolute path, whatever is there."""
        seen = await in_time(partial(survey, directory), otherwise=None)
        if seen is None:
            return _unscoped(f"{path_text(directory)} could not be read in time")
        if not seen.vanished:
            return await self._current(seen)
        if seen.deleted_worktree:
            place = _place(seen.layout, seen.origin, head=seen.head or "", directory=seen.directory)
        else:
            place = self._remembered(seen) or await self._current(seen)
        return _noted(place, f"{path_text(seen.asked)} does not exist")

    async def _current(self, seen: Survey) -> Place:
        """Return the place of an existing directory: what is known while the files agree, else asked anew."""
        async with self._asking:
            known = self._known.pop(seen.directory, None)
            if known is None or not self._holds(known, seen):
                known = await self._ask(seen)
            known = replace(known, place=replace(known.place, head=await self._head(known, seen)))
            self._known[seen.directory] = known
            if len(self._known) > PLACES_MAX:
                del self._known[next(iter(self._known))]
        return known.place

    def _holds(self, known: _Known, seen: Survey) -> bool:
        age_s = self._clock() - known.found_at
        return known.files == (seen.layout, seen.origin) and age_s < AGE_MAX_S

    async def _ask(self, seen: Survey) -> _Known:
        layout, origin = await self._git.layout(seen.directory), None
        if layout:
            origin = await self._git.origin(seen.directory)
        layout = layout or seen.layout
        origin = seen.origin if origin is None else origin
        return _Known(
            files=(seen.layout, seen.origin),
            found_at=self._clock(),
            layout=layout,
            place=_place(layout, origin, head="", directory=seen.directory),
        )

    async def _head(self, known: _Known, seen: Survey) -> str:
        """Read the commit from the files of every call; ask git only where they do not tell."""
        if known.layout is None:
            return ""
        readable = seen.head is not None and known.layout == seen.layout
        return (seen.head if readable else await self._git.head(seen.directory)) or ""

    def _remembered(self, seen: Survey) -> Place | None:
        """Return the place of a checkout that was seen here earlier and is gone as a whole."""
        for folder in upwards(seen.asked):
            known = self._known.get(folder)
            if folder == seen.directory or known is None or known.layout is None:
                continue
            if len(known.layout.worktree or known.layout.common_dir) > len(seen.directory):
                return known.place
        return None


def _place(layout: Layout | None, origin: str, *, head: str, directory: str) -> Place:
    if layout is None:
        return _unscoped(f"{path_text(directory)} is in no git repository")
    common_dir = _slashed(layout.common_dir)
    return Place(
        worktree=worktree_anchor(_slashed(layout.worktree)) if layout.worktree else None,
        repo=repo_anchor_of_remote(origin) or repo_anchor_of_dir(common_dir),
        common_dir=path_text(common_dir),
        head=head,
    )


def _unscoped(reason: str) -> Place:
    return Place(
        worktree=None,
        repo=UNSCOPED,
        notice=f"{reason}: this call is in no project. Pass cwd, a directory of one, to use its memory.",
    )


def _noted(place: Place, *notices: str) -> Place:
    return replace(place, notice="; ".join(filter(None, (*notices, place.notice))))


def _slashed(path: str) -> str:
    return PurePath(path).as_posix()
