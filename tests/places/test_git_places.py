import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import pytest

from pmm_mcp.domain.anchors import UNSCOPED, Anchor, Place, path_of, repo_anchor_of_dir, worktree_anchor
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.places import GitPlaces
from pmm_mcp.places import finder as finding
from pmm_mcp.places import git as asking
from pmm_mcp.places.paths import PATH_MAX, name_among

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(os.name == "nt", reason="the repositories are built with POSIX names and links"),
]

ORIGIN: Final = "git@github.com:owner/name.git"
REPO: Final = Anchor("repo://github.com/owner/name")
PATH: Final = os.environ.get("PATH", "")


@dataclass
class ManualClock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def git(folder: Path, *arguments: str) -> str:
    settings = (
        "user.name=T",
        "user.email=t@example.org",
        "init.defaultBranch=main",
        "protocol.file.allow=always",
    )
    done = subprocess.run(
        ["git", *(word for setting in settings for word in ("-c", setting)), *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={"PATH": PATH, "LC_ALL": "C", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        stdin=subprocess.DEVNULL,
        timeout=30,
    )
    return done.stdout.strip()


def repository(path: Path, *, origin: str | None = ORIGIN, commit: bool = True) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q")
    if origin:
        git(path, "remote", "add", "origin", origin)
    if commit:
        git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def worktree(repo: Path, path: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", path.name.replace(" ", "-"), str(path))
    return path


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD")


def places(
    *,
    path: str = PATH,
    process_dir: str = "",
    clock: Callable[[], float] | None = None,
    roots: tuple[Path, ...] | None = None,
    **variables: str,
) -> GitPlaces:
    environment = {"PATH": path, "GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere", **variables}
    return GitPlaces(environment, process_dir, clock=clock or ManualClock(), roots=roots)


@pytest.fixture(params=["with_git", "without_git"])
def finder(request: pytest.FixtureRequest) -> GitPlaces:
    """Find places with git and where git is not installed: the same answers are owed."""
    return places(path=PATH if request.param == "with_git" else "")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A directory for repositories, by its real path."""
    return Path(os.path.realpath(tmp_path))


async def find(finder: GitPlaces, cwd: Path | str | None) -> Place:
    with anyio.fail_after(20):
        return await finder.find(None if cwd is None else str(cwd))


# ------------------------------------------------------------------------------------------ repositories


async def test_a_checkout_is_known_by_its_path_and_its_remote(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    (repo / "src" / "deep").mkdir(parents=True)

    place = await find(finder, repo / "src" / "deep")

    assert place == Place(
        worktree=worktree_anchor(str(repo)), repo=REPO, common_dir=str(repo / ".git"), head=head(repo)
    )


async def test_a_repository_without_a_remote_is_known_by_its_git_dir(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name", origin=None)

    assert (await find(finder, repo)).repo == repo_anchor_of_dir(str(repo / ".git"))


async def test_a_local_remote_names_no_repository(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name", origin="../elsewhere")

    assert (await find(finder, repo)).repo == repo_anchor_of_dir(str(repo / ".git"))


async def test_before_the_first_commit_there_is_no_head(finder: GitPlaces, room: Path) -> None:
    place = await find(finder, repository(room / "name", commit=False))

    assert (place.repo, place.head) == (REPO, "")


async def test_a_clone_elsewhere_keeps_the_memory_of_its_repository(finder: GitPlaces, room: Path) -> None:
    here = await find(finder, repository(room / "here"))
    there = await find(finder, repository(room / "there", origin="https://token@GitHub.com/owner/name"))

    assert here.repo == there.repo == REPO
    assert here.worktree != there.worktree


async def test_worktrees_share_their_repository_but_not_each_other(finder: GitPlaces, room: Path) -> None:
    """Pain-catalogue row 33."""
    repo = repository(room / "name", origin=None)
    first, second = worktree(repo, room / "first"), worktree(repo, repo / ".worktrees" / "second")
    git(second, "commit", "-q", "--allow-empty", "-m", "second")

    here, one, two = [await find(finder, folder) for folder in (repo, first, second)]

    assert here.repo == one.repo == two.repo == repo_anchor_of_dir(str(repo / ".git"))
    assert here.common_dir == one.common_dir == two.common_dir
    assert [here.worktree, one.worktree, two.worktree] == [
        worktree_anchor(str(f)) for f in (repo, first, second)
    ]
    assert [here.head, one.head, two.head] == [head(repo), head(first), head(second)]
    assert one.head != two.head


async def test_a_submodule_is_its_own_repository(finder: GitPlaces, room: Path) -> None:
    inner = repository(room / "inner", origin=None)
    outer = repository(room / "outer")
    git(outer, "submodule", "--quiet", "add", str(inner), "lib")

    place = await find(finder, outer / "lib")

    assert place.worktree == worktree_anchor(str(outer / "lib"))
    assert place.repo == repo_anchor_of_dir(str(outer / ".git" / "modules" / "lib"))
    assert place.head == head(inner)


async def test_a_bare_repository_has_no_worktree(finder: GitPlaces, room: Path) -> None:
    bare = room / "name.git"
    git(room, "clone", "-q", "--bare", str(repository(room / "name")), str(bare))
    git(bare, "remote", "set-url", "origin", ORIGIN)

    place = await find(finder, bare / "refs")

    assert place == Place(worktree=None, repo=REPO, common_dir=str(bare), head=head(room / "name"))


async def test_worktrees_around_a_bare_repository(finder: GitPlaces, room: Path) -> None:
    git(room, "clone", "-q", "--bare", str(repository(room / "name")), str(room / "hub" / ".bare"))
    (room / "hub" / ".git").write_text("gitdir: ./.bare\n")
    main = room / "hub" / "main"
    git(room / "hub", "worktree", "add", "-q", str(main), "main")

    hub, checkout = await find(finder, room / "hub"), await find(finder, main)

    assert (hub.worktree, checkout.worktree) == (None, worktree_anchor(str(main)))
    assert hub.repo == checkout.repo == repo_anchor_of_dir(str(room / "hub" / ".bare"))


async def test_inside_the_git_dir_there_is_no_worktree(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")

    place = await find(finder, repo / ".git" / "refs")

    assert (place.worktree, place.repo) == (None, REPO)


async def test_a_git_dir_kept_elsewhere_is_followed(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name", origin=None)
    (repo / ".git").rename(room / "store")
    (repo / ".git").symlink_to(room / "store")

    place = await find(finder, repo)

    assert (place.worktree, place.repo) == (
        worktree_anchor(str(repo)),
        repo_anchor_of_dir(str(room / "store")),
    )


async def test_a_packed_branch_and_a_detached_head_are_read(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    git(repo, "tag", "-a", "-m", "x", "aaa/main")
    git(repo, "pack-refs", "--all")
    packed = await find(finder, repo)
    git(repo, "checkout", "-q", "--detach")
    detached = await find(finder, repo)

    assert not (repo / ".git" / "refs" / "heads" / "main").exists()
    assert packed.head == detached.head == head(repo)


async def test_an_empty_dot_git_directory_is_passed_by(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    (repo / "sub" / ".git").mkdir(parents=True)

    assert (await find(finder, repo / "sub")).worktree == worktree_anchor(str(repo))


async def test_a_link_to_a_git_dir_that_is_gone_ends_the_search(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    (repo / "sub").mkdir()
    (repo / "sub" / ".git").write_text(f"gitdir: {room}/gone\n")

    place = await find(finder, repo / "sub")

    assert place.repo == UNSCOPED
    assert "no git repository" in place.notice


@pytest.mark.parametrize(
    "name", ["My Repo", "100% done", "%20", "日本 é", "-C", "a\nb", "x\t", " lead", "quo\"te'"]
)
async def test_a_directory_may_have_any_name(finder: GitPlaces, room: Path, name: str) -> None:
    """Pain-catalogue row 36."""
    repo = repository(room / name, origin=None)

    place = await find(finder, repo)

    assert place.worktree == worktree_anchor(str(repo))
    assert path_of(place.worktree) == str(repo)
    assert place.repo == repo_anchor_of_dir(str(repo / ".git"))
    assert place.head == head(repo)
    assert "\n" not in place.common_dir


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems take UTF-8 only")
async def test_a_directory_whose_name_is_no_text_can_still_be_stored(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / os.fsdecode(b"caf\xe9"), origin=None)

    place = await find(finder, repo)

    assert str(place.worktree).encode().endswith(b"/caf%E9")
    assert place.common_dir.encode().endswith(b"/caf%E9/.git")
    assert path_of(place.repo) == str(repo / ".git")


async def test_a_symlinked_worktree_is_the_one_it_points_to(finder: GitPlaces, room: Path) -> None:
    """Pain-catalogue row 34."""
    repo = repository(room / "name")
    (repo / "src").mkdir()
    (room / "link").symlink_to(repo)
    (room / "inner").symlink_to(repo / "src")

    assert await find(finder, room / "link") == await find(finder, room / "inner") == await find(finder, repo)


def test_the_spelling_on_disk_wins_where_case_does_not_count() -> None:
    names = ["Repo", "cafe\u0301", "other"]

    assert name_among(names, "rEPO") == "Repo"
    assert name_among(names, "CAF\u00c9") == "cafe\u0301"
    assert name_among(["repo", "Repo"], "Repo") == "Repo"
    assert name_among(names, "new") == "new"


# ------------------------------------------------------------------------------------------- directories


async def test_a_file_stands_for_its_directory(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    (repo / "a.txt").touch()

    assert await find(finder, repo / "a.txt") == await find(finder, repo)


async def test_a_directory_outside_git_is_unscoped_and_says_so(finder: GitPlaces, room: Path) -> None:
    place = await find(finder, room)

    assert (place.worktree, place.repo, place.head, place.common_dir) == (None, UNSCOPED, "", "")
    assert str(room) in place.notice
    assert "cwd" in place.notice


@pytest.mark.parametrize(
    "cwd", ["src", "./x", "~/x", "file:///x", "C:\\x", "/a\0b", "/\ud800", "/" + "a" * PATH_MAX]
)
async def test_a_cwd_that_is_no_absolute_path_is_refused(finder: GitPlaces, cwd: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        await finder.find(cwd)

    assert "absolute path" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["gone", "gone/deeper", "n" * 300, "loop"])
async def test_a_directory_that_does_not_exist_is_taken_as_its_parent(
    finder: GitPlaces, room: Path, name: str
) -> None:
    repo = repository(room / "name")
    (repo / "loop").symlink_to("loop")

    place = await find(finder, repo / name)

    assert replace(place, notice="") == await find(finder, repo)
    assert "does not exist" in place.notice


async def test_a_directory_that_does_not_exist_anywhere_is_unscoped(finder: GitPlaces, room: Path) -> None:
    place = await find(finder, room / "never" / "was")

    assert place.repo == UNSCOPED
    assert "does not exist" in place.notice


async def test_a_deleted_worktree_inside_its_repository_keeps_its_name(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    gone = worktree(repo, repo / ".claude" / "worktrees" / "feature")
    git(gone, "commit", "-q", "--allow-empty", "-m", "second")
    commit = head(gone)
    shutil.rmtree(gone)

    place = await find(finder, gone / "src")

    assert (place.worktree, place.repo, place.head) == (worktree_anchor(str(gone)), REPO, commit)
    assert "does not exist" in place.notice


async def test_a_checkout_deleted_while_the_server_runs_keeps_its_place(
    finder: GitPlaces, room: Path
) -> None:
    repo = repository(room / "name")
    gone = worktree(repo, room / "sibling")
    before = await find(finder, gone)
    git(repo, "worktree", "remove", str(gone))

    for cwd in (gone, gone / "src"):
        after = await find(finder, cwd)
        assert replace(after, notice="") == before
        assert "does not exist" in after.notice


async def test_a_pipe_where_git_keeps_a_file_holds_nothing_up(room: Path) -> None:
    repo = repository(room / "name")
    for name in ("HEAD", "config"):
        (repo / ".git" / name).unlink()
        os.mkfifo(repo / ".git" / name)

    place = await find(places(path=""), repo)

    assert (place.worktree, place.head) == (worktree_anchor(str(repo)), "")


@pytest.mark.parametrize(
    "text", ["ref: ../../secret", "ref: refs/../../secret", "ref: refs/heads/loop", "\0", ""]
)
async def test_a_hostile_head_is_no_commit(room: Path, text: str) -> None:
    repo = repository(room / "name")
    (room / "name" / "secret").write_text("a" * 40)
    (repo / ".git" / "refs" / "heads" / "loop").write_text("ref: refs/heads/loop\n")
    (repo / ".git" / "HEAD").write_text(text)

    assert (await find(places(path=""), repo)).head == ""


# ---------------------------------------------------------------------------------- which directory counts


async def test_cwd_comes_before_the_variables_and_they_before_the_process(room: Path) -> None:
    repos = [repository(room / name, origin=None) for name in "abcd"]
    cwd, own, claude, process = map(str, repos)
    both = places(PMM_MCP_PROJECT_DIR=own, CLAUDE_PROJECT_DIR=claude, process_dir=process)

    found = [
        await find(both, cwd),
        await find(both, None),
        await find(places(CLAUDE_PROJECT_DIR=claude, PMM_MCP_PROJECT_DIR=" ", process_dir=process), ""),
        await find(places(process_dir=process), "  "),
    ]

    assert [place.worktree for place in found] == [worktree_anchor(str(repo)) for repo in repos]
    assert [place.notice for place in found] == [""] * 4


@pytest.mark.parametrize("unusable", ["${workspaceFolder}", ".", "~/x"])
async def test_a_variable_that_names_no_absolute_path_is_passed_by_and_reported(
    room: Path, unusable: str
) -> None:
    repo = repository(room / "name")

    place = await find(places(PMM_MCP_PROJECT_DIR=unusable, process_dir=str(repo)), None)

    assert place.worktree == worktree_anchor(str(repo))
    assert place.notice.startswith("PMM_MCP_PROJECT_DIR")


async def test_a_process_outside_git_is_unscoped_and_says_so(room: Path) -> None:
    for process_dir in (str(room), "/", "", "relative"):
        place = await find(places(process_dir=process_dir), None)
        assert place.repo == UNSCOPED
        assert "no cwd was given" in place.notice


async def test_over_http_only_a_cwd_below_a_root_counts(room: Path) -> None:
    inside, outside = repository(room / "served" / "name"), repository(room / "private")
    (room / "served" / "way-out").symlink_to(outside)
    (room / "way-in").symlink_to(room / "served")
    served = places(
        roots=(room / "served",),
        process_dir=str(outside),
        PMM_MCP_PROJECT_DIR=str(outside),
        CLAUDE_PROJECT_DIR=str(outside),
    )
    through_link = places(roots=(room / "way-in",))

    assert (await find(served, inside)).worktree == worktree_anchor(str(inside))
    assert (await find(through_link, inside)).worktree == worktree_anchor(str(inside))
    assert (await find(through_link, room / "way-in" / "name")).worktree == worktree_anchor(str(inside))
    for cwd in (
        None,
        "",
        outside,
        room / "served" / "way-out",
        room / "served" / ".." / "private",
        room / "served-too",
    ):
        place = await find(served, cwd)
        assert (place.worktree, place.repo) == (None, UNSCOPED)
        assert "cwd" in place.notice
    with pytest.raises(InvalidArgumentError):
        await served.find("name")


# ------------------------------------------------------------------------------------ what is remembered


class CountingPlaces:
    """A finder whose git counts how often it is started."""

    def __init__(self, room: Path, clock: ManualClock) -> None:
        self.log = room / "calls"
        program = room / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\necho "$@" >> "{self.log}"\nexec "{shutil.which("git")}" "$@"\n')
        program.chmod(0o755)
        self.finder = places(path=f"{program.parent}:{PATH}", clock=clock)

    @property
    def calls(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


async def test_an_answer_is_kept_but_a_new_commit_is_seen(room: Path) -> None:
    repo = repository(room / "name")
    counting = CountingPlaces(room, ManualClock())
    before = await find(counting.finder, repo)
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")

    after = await find(counting.finder, repo)

    assert counting.calls == 2
    assert after == replace(before, head=head(repo))
    assert after.head != before.head


async def test_a_changed_remote_is_seen_at_once(finder: GitPlaces, room: Path) -> None:
    repo = repository(room / "name")
    await find(finder, repo)
    git(repo, "remote", "set-url", "origin", "https://example.org/new/name")

    assert (await find(finder, repo)).repo == "repo://example.org/new/name"


async def test_a_new_repository_is_seen_at_once(finder: GitPlaces, room: Path) -> None:
    folder = room / "name"
    folder.mkdir()
    assert (await find(finder, folder)).repo == UNSCOPED
    git(folder, "init", "-q")

    assert (await find(finder, folder)).worktree == worktree_anchor(str(folder))


async def test_what_the_files_do_not_show_is_asked_again_after_a_while(room: Path) -> None:
    repo, clock = repository(room / "name", origin=None), ManualClock()
    (repo / ".git" / "more").write_text(f'[remote "origin"]\n\turl = {ORIGIN}\n')
    git(repo, "config", "include.path", "more")
    finder = places(clock=clock)
    assert (await find(finder, repo)).repo == REPO
    (repo / ".git" / "more").write_text('[remote "origin"]\n\turl = host:other\n')

    clock.now += finding.AGE_MAX_S

    assert (await find(finder, repo)).repo == "repo://host/other"


async def test_only_the_directories_used_last_are_kept(monkeypatch: pytest.MonkeyPatch, room: Path) -> None:
    monkeypatch.setattr(finding, "PLACES_MAX", 2)
    folders = [room / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    counting = CountingPlaces(room, ManualClock())
    a, b, c = folders

    for folder in (a, b, a, c, a):
        await find(counting.finder, folder)
    assert counting.calls == 3
    await find(counting.finder, b)

    assert counting.calls == 4


async def test_many_calls_at_once_ask_git_once(room: Path) -> None:
    repo = repository(room / "name")
    counting = CountingPlaces(room, ManualClock())

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(find, counting.finder, repo)

    assert counting.calls == 2


# --------------------------------------------------------------------------------- a git that does not help


@pytest.mark.parametrize(
    "script",
    ["exit 1", "exit 128", "echo nonsense", "echo a; echo b; exit 128", "kill -9 $$", "yes | head -c 100000"],
)
async def test_a_broken_git_gives_the_answers_of_the_files(room: Path, script: str) -> None:
    repo = repository(room / "name")
    (room / "bin").mkdir()
    (room / "bin" / "git").write_text(f"#!/bin/sh\n{script}\n")
    (room / "bin" / "git").chmod(0o755)

    place = await find(places(path=f"{room / 'bin'}:{PATH}"), repo)

    assert place == await find(places(path=""), repo)


async def test_a_git_that_hangs_is_stopped_and_left_alone(
    monkeypatch: pytest.MonkeyPatch, room: Path
) -> None:
    monkeypatch.setattr(asking, "GIT_LIMIT_S", 0.3)
    repo, clock = repository(room / "name"), ManualClock()
    (room / "bin").mkdir()
    (room / "bin" / "git").write_text(f'#!/bin/sh\necho x >> "{room}/calls"\nexec sleep 60\n')
    (room / "bin" / "git").chmod(0o755)
    finder = places(path=f"{room / 'bin'}:{PATH}", clock=clock)

    first = await find(finder, repo)
    clock.now += finding.AGE_MAX_S
    second = await find(finder, repo)

    assert first == second == await find(places(path=""), repo)
    assert (room / "calls").read_text() == "x\n"


async def test_a_git_of_the_project_is_never_run(monkeypatch: pytest.MonkeyPatch, room: Path) -> None:
    repo = repository(room / "name")
    (repo / "git").write_text(f'#!/bin/sh\ntouch "{room}/ran"\n')
    (repo / "git").chmod(0o755)
    monkeypatch.chdir(repo)

    for path in ("", ".", f":{PATH}", f".:{PATH}"):
        assert (await find(places(path=path), repo)).repo == REPO

    assert not (room / "ran").exists()


async def test_git_hears_nothing_of_the_surroundings(room: Path) -> None:
    repo = repository(room / "name")
    (room / "bin").mkdir()
    (room / "bin" / "git").write_text(f'#!/bin/sh\nenv > "{room}/env"\ncat > "{room}/stdin"\n')
    (room / "bin" / "git").chmod(0o755)

    await find(places(path=f"{room / 'bin'}:{PATH}", LC_ALL="de_DE.UTF-8", git_trace="1"), repo)

    seen = dict(line.split("=", 1) for line in (room / "env").read_text().splitlines() if "=" in line)
    assert {name for name in seen if name.upper().startswith("GIT_")} == {
        "GIT_TERMINAL_PROMPT",
        "GIT_OPTIONAL_LOCKS",
    }
    assert (seen["LC_ALL"], (room / "stdin").read_text()) == ("C", "")


async def test_files_that_cannot_be_read_in_time_leave_the_call_unscoped(
    monkeypatch: pytest.MonkeyPatch, room: Path
) -> None:
    monkeypatch.setattr("pmm_mcp.places.threads.READ_LIMIT_S", 0.0)

    place = await find(places(), repository(room / "name"))

    assert place.repo == UNSCOPED
    assert "could not be read in time" in place.notice


def test_the_stub_of_a_mac_without_developer_tools_is_not_run() -> None:
    assert asking.program("/usr/bin", "linux") in {"/usr/bin/git", None}
    assert asking.program("/usr/bin", "darwin") in {None, asking.MAC_GIT}
