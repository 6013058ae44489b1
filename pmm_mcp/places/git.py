"""Questions to git itself: plumbing only, in English, for two seconds, never with a prompt."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import anyio

from pmm_mcp.places.files import Layout
from pmm_mcp.places.paths import real_path
from pmm_mcp.places.threads import in_time

GIT_LIMIT_S: Final = 2.0
GIT_REST_S: Final = 300.0  # after git was too slow once

_SUCCESS, _NO_SUCH_KEY, _FATAL = 0, 1, 128
_WITH_WORKTREE, _WITHOUT_WORKTREE = 3, 2  # lines of an answer
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_QUIET: Final = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
_NO_WINDOW: Final = getattr(subprocess, "CREATE_NO_WINDOW", 0)

# On a Mac without developer tools /usr/bin/git is a stub that opens a dialog; with them, it runs this file.
MAC_STUB: Final = "/usr/bin/git"
MAC_GIT: Final = "/Library/Developer/CommandLineTools/usr/bin/git"


class Git:
    """The git program, if there is one that answers in time; when not, every answer is None."""

    def __init__(self, environment: Mapping[str, str], *, clock: Callable[[], float]) -> None:
        kept = {name: value for name, value in environment.items() if not name.upper().startswith("GIT_")}
        self._environment = kept | _QUIET
        self._search_path = environment.get("PATH", "")
        self._clock = clock
        self._rests_until = float("-inf")

    async def layout(self, directory: str) -> Layout | None:
        """Return the layout of the repository a directory is in."""
        question = ("--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
        code, text = await self._run(directory, "rev-parse", *question)
        lines = text.removesuffix("\n").split("\n")
        # Without a work tree the last question is fatal. Any other number of lines is no repository, or a
        # line end in a path, which this answer cannot carry; a relative path is an old git's.
        expected = (code, len(lines)) in {(_SUCCESS, _WITH_WORKTREE), (_FATAL, _WITHOUT_WORKTREE)}
        if not expected or not all(map(os.path.isabs, lines)):
            return None
        paths = await in_time(partial(_real_paths, lines), otherwise=None)
        if paths is None:
            return None
        git_dir, common_dir, *worktree = paths
        return Layout(worktree="".join(worktree), git_dir=git_dir, common_dir=common_dir)

    async def origin(self, directory: str) -> str | None:
        """Return the URL that `origin` is fetched from; empty when there is no such remote."""
        code, text = await self._run(directory, "config", "-z", "--get-all", "remote.origin.url")
        return next(filter(None, text.split("\0")), "") if code in {_SUCCESS, _NO_SUCH_KEY} else None

    async def head(self, directory: str) -> str | None:
        """Return the commit that is checked out; empty before the first one."""
        code, text = await self._run(directory, "rev-parse", "--verify", "--quiet", "HEAD")
        head = text.strip()
        return None if code is None else head if _COMMIT.fullmatch(head) else ""

    async def _run(self, directory: str, *arguments: str) -> tuple[int | None, str]:
        """Return git's exit code and its answer; no code when there is no git to answer."""
        found = await in_time(partial(program, self._search_path), otherwise=None)
        if found is None or self._clock() < self._rests_until:
            return None, ""
        try:
            with anyio.fail_after(GIT_LIMIT_S):
                done = await anyio.run_process(
                    [found, "-C", directory, *arguments],
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    check=False,
                    env=self._environment,
                    creationflags=_NO_WINDOW,
                    start_new_session=True,  # no terminal to ask a question on
                )
        except TimeoutError:
            self._rests_until = self._clock() + GIT_REST_S
            return None, ""
        except OSError:
            return None, ""
        return done.returncode, os.fsdecode(done.stdout)


def _real_paths(paths: list[str]) -> list[str] | None:
    return [real_path(path) for path in paths]


def program(search_path: str, platform: str = sys.platform) -> str | None:
    """Return git from an absolute directory of PATH: a relative one could be the project's own."""
    name = "git.exe" if platform == "win32" else "git"
    folders = filter(os.path.isabs, search_path.split(os.pathsep))
    paths = (os.path.join(folder, name) for folder in folders)
    found = next((path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK)), None)
    if platform == "darwin" and found == MAC_STUB:
        return MAC_GIT if os.path.isfile(MAC_GIT) else None
    return found
