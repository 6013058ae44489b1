"""What checkouts share, with real repositories: memory follows the remote, not the directory."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pmm_mcp.bootstrap import App, open_app
from pmm_mcp.config import load_settings
from pmm_mcp.domain.errors import MoveNotAllowedError
from pmm_mcp.domain.records import Actor, Call
from pmm_mcp.providers.scripted import ScriptedChat
from pmm_mcp.services.record import EvidenceInput
from pmm_mcp.services.search import SearchInput
from tests.apps import OneModel
from tests.clocks import ManualClock, SeededIds

REMOTE = "https://example.org/owner/name.git"


def git(folder: Path, *arguments: str) -> None:
    as_someone = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org")
    subprocess.run(["git", *as_someone, *arguments], cwd=folder, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "remote", "add", "origin", REMOTE)
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@asynccontextmanager
async def app_at(home: Path, environment: Mapping[str, str] | None = None) -> AsyncGenerator[App]:
    async with open_app(
        await asyncio.to_thread(load_settings, db=home / "l.db"),
        role="test",
        models=OneModel(ScriptedChat([])),
        clock=ManualClock(),
        ids=SeededIds(),
        environment={"PATH": os.environ["PATH"]} if environment is None else environment,
    ) as app:
        yield app


async def call_from(app: App, folder: Path, *, kind: str = "agent") -> Call:
    return Call(
        actor=Actor(kind="human" if kind == "human" else "agent", name="someone", session="one"),
        place=await app.places.find(str(folder)),
    )


async def record(app: App, folder: Path, content: str, *, provenance: str = "") -> None:
    given = EvidenceInput(content=content, provenance=provenance)
    await app.records.record(given, call=await call_from(app, folder))


async def seen_from(app: App, folder: Path) -> set[str]:
    found = await app.search.search(SearchInput(query="remember"), call=await call_from(app, folder))
    return {one.text for one in found.results}


async def test_two_worktrees_share_repo_memory_and_not_each_others(tmp_path: Path) -> None:
    main, beside = await asyncio.to_thread(repository, tmp_path / "main"), tmp_path / "beside"
    await asyncio.to_thread(git, main, "worktree", "add", "-q", str(beside))
    async with app_at(tmp_path) as app:
        await record(app, main, "remember main")
        await record(app, beside, "remember beside")
        await record(app, beside, "remember both", provenance="research")
        assert await seen_from(app, main) == {"remember main", "remember both"}
        assert await seen_from(app, beside) == {"remember beside", "remember both"}


async def test_a_clone_elsewhere_keeps_repo_memory(tmp_path: Path) -> None:
    main = await asyncio.to_thread(repository, tmp_path / "main")
    clone = await asyncio.to_thread(repository, tmp_path / "cloned elsewhere")
    async with app_at(tmp_path) as app:
        await record(app, main, "remember main")
        await record(app, main, "remember all", provenance="research")
        assert await seen_from(app, clone) == {"remember all"}


async def test_a_project_that_moved_keeps_repo_memory(tmp_path: Path) -> None:
    main = await asyncio.to_thread(repository, tmp_path / "main")
    async with app_at(tmp_path) as app:
        await record(app, main, "remember all", provenance="research")
        await asyncio.to_thread(shutil.move, main, tmp_path / "moved")
        assert await seen_from(app, tmp_path / "moved") == {"remember all"}


async def test_without_git_installed_places_are_found_all_the_same(tmp_path: Path) -> None:
    main = await asyncio.to_thread(repository, tmp_path / "main")
    async with app_at(tmp_path, environment={"PATH": ""}) as app:
        result = await app.placing.show(call=await call_from(app, main))
    assert result.repo == "repo://example.org/owner/name"
    assert result.worktree is not None
    assert result.worktree.endswith("/main")


async def test_a_changed_remote_is_reported_until_it_is_confirmed(tmp_path: Path) -> None:
    main = await asyncio.to_thread(repository, tmp_path / "main")
    async with app_at(tmp_path) as app:
        await record(app, main, "remember all", provenance="research")
        before = await app.status.status(call=await call_from(app, main))
        await asyncio.to_thread(git, main, "remote", "set-url", "origin", "https://example.org/other/name")
    async with app_at(tmp_path) as app:  # What git says is remembered for a moment.
        call = await call_from(app, main, kind="human")
        changed = await app.status.status(call=call)
        shown = await app.placing.show(call=call)
        confirmed = await app.placing.confirm(call=call)
        after = await app.status.status(call=call)
        with pytest.raises(MoveNotAllowedError):
            await app.placing.confirm(call=call)

    assert before.notice is None
    assert changed.notice is not None
    assert "pmm-mcp place confirm" in changed.notice
    assert shown.was == confirmed.was == "repo://example.org/owner/name"
    assert after.notice is None


async def test_every_change_of_a_remote_is_confirmed_by_itself(tmp_path: Path) -> None:
    main = await asyncio.to_thread(repository, tmp_path / "main")
    async with app_at(tmp_path) as app:
        await record(app, main, "remember first", provenance="research")
    said: list[tuple[str | None, str | None]] = []
    seen = set[str]()
    for name in ("second", "third", "second"):
        await asyncio.to_thread(git, main, "remote", "set-url", "origin", f"https://example.org/o/{name}")
        async with app_at(tmp_path) as app:
            await record(app, main, f"remember {name}", provenance="research")
            call = await call_from(app, main, kind="human")
            confirmed = await app.placing.confirm(call=call)
            await record(app, main, f"remember {name} again", provenance="research")
            shown = await app.placing.show(call=call)
            said.append((confirmed.was, shown.was))
            seen = await seen_from(app, main)

    assert said == [
        ("repo://example.org/owner/name", None),
        ("repo://example.org/o/second", None),
        ("repo://example.org/o/third", None),
    ]
    assert seen == {"remember second", "remember second again"}


async def test_a_change_that_was_undone_is_none(tmp_path: Path) -> None:
    main = await asyncio.to_thread(repository, tmp_path / "main")
    said: list[str | None] = []
    for remote in (REMOTE, "https://example.org/other/name", REMOTE):
        await asyncio.to_thread(git, main, "remote", "set-url", "origin", remote)
        async with app_at(tmp_path) as app:
            await record(app, main, f"remember {remote}", provenance="research")
            said.append((await app.placing.show(call=await call_from(app, main))).was)

    assert said == [None, "repo://example.org/owner/name", None]


async def test_a_change_is_confirmed_for_all_worktrees_at_once(tmp_path: Path) -> None:
    main, beside = await asyncio.to_thread(repository, tmp_path / "main"), tmp_path / "beside"
    await asyncio.to_thread(git, main, "worktree", "add", "-q", str(beside))
    async with app_at(tmp_path) as app:
        await record(app, main, "remember main")
        await record(app, beside, "remember beside")
    await asyncio.to_thread(git, main, "remote", "set-url", "origin", "https://example.org/other/name")
    async with app_at(tmp_path) as app:
        changed = await app.status.status(call=await call_from(app, beside))
        await app.placing.confirm(call=await call_from(app, main, kind="human"))
        after = await app.status.status(call=await call_from(app, beside))

    assert "repo://example.org/owner/name" in (changed.notice or "")
    assert after.notice is None


async def test_a_directory_that_is_now_a_worktree_of_another_repository_is_reported(tmp_path: Path) -> None:
    main, beside = await asyncio.to_thread(repository, tmp_path / "main"), tmp_path / "beside"
    other = await asyncio.to_thread(repository, tmp_path / "other")
    await asyncio.to_thread(git, other, "remote", "set-url", "origin", "https://example.org/other/name")
    await asyncio.to_thread(git, main, "worktree", "add", "-q", str(beside))
    async with app_at(tmp_path) as app:
        await record(app, other, "remember other")
        await record(app, beside, "remember beside")
    await asyncio.to_thread(git, main, "worktree", "remove", str(beside))
    await asyncio.to_thread(git, other, "worktree", "add", "-q", str(beside))
    async with app_at(tmp_path) as app:
        call = await call_from(app, beside, kind="human")
        changed = await app.placing.show(call=call)
        await app.placing.confirm(call=call)
        after = await app.placing.show(call=call)
        elsewhere = await app.placing.show(call=await call_from(app, other))

    assert (changed.was, after.was, elsewhere.was) == ("repo://example.org/owner/name", None, None)
