import json
from dataclasses import dataclass
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.anchors import (
    ANCHOR_MAX,
    GLOBAL,
    REMOTE_URL_MAX,
    UNSCOPED,
    Anchor,
    Place,
    parse_anchor,
    path_of,
    path_text,
    repo_anchor_of_dir,
    repo_anchor_of_remote,
    resolve_anchor_argument,
    worktree_anchor,
)
from pmm_mcp.domain.errors import InvalidArgumentError

WORKTREE: Final = Anchor("worktree:///home/me/name")
REPO: Final = Anchor("repo://github.com/owner/name")
PLACE: Final = Place(worktree=WORKTREE, repo=REPO)
BARE: Final = Place(worktree=None, repo=REPO)
NOWHERE: Final = Place(worktree=None, repo=UNSCOPED)

SAME_REPOSITORY: Final = (
    "git@github.com:owner/name.git",
    "git@github.com:owner/name",
    "git@github.com:/owner/name.git/",
    "github.com:owner/name.git",
    "git@[github.com:22]:owner/name.git",
    "GitHub.com:owner/name",
    "ssh://git@github.com/owner/name.git",
    "ssh://git@github.com:22/owner/name.git",
    "ssh://git@GITHUB.COM./owner/name",
    "git+ssh://git@github.com/owner/name.git",
    "git://github.com/owner/name.git",
    "http://github.com/owner/name",
    "https://github.com/owner/name",
    "https://github.com/owner/name/",
    "https://github.com/owner/name.git",
    "https://github.com/owner/name.git/",
    "https://github.com/owner/name/.git",
    "https://github.com:443/owner/name.git",
    "https://github.com//owner//name.git",
    "https://github.com/owner/n%61me.git",
    "HTTPS://github.com/owner/name.git",
    "https://user@github.com/owner/name.git",
    "https://user:secret@github.com/owner/name.git",
    "https://user:sec@ret:x@github.com/owner/name.git",
    "https://github.com/owner/name.git?access_token=secret#secret",
    "  https://github.com/owner/name.git\n",
)


@pytest.mark.parametrize("url", SAME_REPOSITORY)
def test_every_form_of_a_remote_names_the_same_repository(url: str) -> None:
    assert repo_anchor_of_remote(url) == REPO


@dataclass(frozen=True, kw_only=True)
class Remote:
    url: str
    anchor: str | None


OTHER_REMOTES: Final = (
    Remote(url="https://gitlab.com/group/sub/deep/name.git", anchor="repo://gitlab.com/group/sub/deep/name"),
    Remote(url="git@gitlab.com:group/sub/name.git", anchor="repo://gitlab.com/group/sub/name"),
    Remote(url="git@host:Owner/Name.git", anchor="repo://host/Owner/Name"),
    Remote(url="gitolite:name.git", anchor="repo://gitolite/name"),
    Remote(url="host:~me/name.git", anchor="repo://host/~me/name"),
    Remote(url="ssh://[2001:DB8::1]:22/owner/name.git", anchor="repo://[2001:db8::1]/owner/name"),
    Remote(url="git@[::1]:owner/name.git", anchor="repo://[::1]/owner/name"),
    Remote(url="https://host/owner/my%20name.git", anchor="repo://host/owner/my name"),
    Remote(url="https://user\\@host/owner/name", anchor="repo://host/owner/name"),
    Remote(url="https://host/owner/name.git.git", anchor="repo://host/owner/name"),
    Remote(url="https://host/owner/name%20", anchor="repo://host/owner/name%20"),
    Remote(url="https://host/owner/100%25", anchor="repo://host/owner/100%25"),
    Remote(url="https://host/owner/naïve.git", anchor="repo://host/owner/naïve"),
    Remote(url="https://host/owner/a%0Ab", anchor="repo://host/owner/a%0Ab"),
    Remote(url="https://host/owner/\u202eeman", anchor="repo://host/owner/%E2%80%AEeman"),
    Remote(url="file:///srv/name.git", anchor=None),
    Remote(url="file://host/srv/name.git", anchor=None),
    Remote(url="/srv/name.git", anchor=None),
    Remote(url="../name.git", anchor=None),
    Remote(url="./a:b", anchor=None),
    Remote(url="name", anchor=None),
    Remote(url=r"C:\work\name", anchor=None),
    Remote(url="C:/work/name", anchor=None),
    Remote(url="", anchor=None),
    Remote(url="https://", anchor=None),
    Remote(url="https://github.com", anchor=None),
    Remote(url="https://github.com/", anchor=None),
    Remote(url="https://github.com/.git", anchor=None),
    Remote(url="https:///owner/name", anchor=None),
    Remote(url="https://host:port/owner/name", anchor=None),
    Remote(url="https://ho st/owner/name", anchor=None),
    Remote(url="https://host\\evil/owner/name", anchor=None),
    Remote(url="https://host/owner/../../name", anchor=None),
    Remote(url="https://host/owner/%2e%2e/name", anchor=None),
    Remote(url="ext::sh -c evil% host:owner/name", anchor=None),
    Remote(url="hg::https://host/owner/name", anchor=None),
    Remote(url="javascript://host/owner/name", anchor=None),
    Remote(url="--upload-pack=evil", anchor=None),
    Remote(url="https://host/owner/\ud800", anchor=None),
    Remote(url="https://host/" + "a" * REMOTE_URL_MAX, anchor=None),
)


@pytest.mark.parametrize("remote", OTHER_REMOTES, ids=lambda remote: ascii(remote.url[:40]))
def test_a_remote_names_its_repository_or_none(remote: Remote) -> None:
    assert repo_anchor_of_remote(remote.url) == remote.anchor


@pytest.mark.parametrize(
    "url",
    [
        "https://user:sec/ret@github.com/owner/name.git",
        "https://user:12/ret@github.com/owner/name.git",
        "https://user:sec?ret@github.com/owner/name.git",
        "https://user:sec#ret@github.com/owner/name.git",
        "https://sec/ret@github.com/owner/name.git",
        "user:sec-ret@github.com:owner/name.git",
        "https:user:secret@github.com/owner/name",
    ],
)
def test_a_password_that_spills_out_of_its_field_is_never_kept(url: str) -> None:
    assert repo_anchor_of_remote(url) is None


HOSTILE: Final = st.text(st.sampled_from("ab:/@[]?#%.~\\ \n0\u00e9\udc80\ud800"), max_size=24)


@given(HOSTILE, st.sampled_from(["", "https://", "ssh://", "git@", "host:", "https://h/"]))
def test_whatever_a_remote_says_its_anchor_is_storable_and_has_one_spelling(rest: str, start: str) -> None:
    anchor = repo_anchor_of_remote(start + rest)

    if anchor is not None:
        assert anchor.encode().decode() == anchor
        assert "\n" not in anchor
        assert "@" not in anchor
        assert parse_anchor(anchor) == anchor


@given(
    st.binary(max_size=20).filter(
        lambda raw: b"\0" not in raw and b"/" not in raw and raw not in {b"..", b"."}
    )
)
def test_a_path_of_any_bytes_becomes_a_storable_anchor_and_comes_back(raw: bytes) -> None:
    path = ("/p/x" + raw.decode("utf-8", "surrogateescape")).rstrip("/")

    anchor = worktree_anchor(path)

    assert json.loads(json.dumps(anchor).encode()) == anchor
    assert "\n" not in anchor
    assert path_of(anchor) == path
    assert parse_anchor(anchor) == anchor


def test_spaces_and_letters_of_any_script_stay_readable_and_percent_does_not_clash() -> None:
    assert worktree_anchor("/home/me/My Repo/日本/é") == "worktree:///home/me/My Repo/日本/é"
    assert worktree_anchor("/a/100%") == "worktree:///a/100%25"
    assert worktree_anchor("/a/%0A") != worktree_anchor("/a/\n")
    assert path_text("C:/me") == "C:/me"
    assert repo_anchor_of_dir("C:/me/.git") == "repo://C:/me/.git"


@pytest.mark.parametrize("anchor", [UNSCOPED, GLOBAL, REPO])
def test_an_anchor_that_is_no_path_has_no_path(anchor: Anchor) -> None:
    assert path_of(anchor) is None


def test_visible_anchors_come_nearest_first_and_once() -> None:
    assert PLACE.visible == (WORKTREE, REPO, UNSCOPED, GLOBAL)
    assert BARE.visible == (REPO, UNSCOPED, GLOBAL)
    assert NOWHERE.visible == (UNSCOPED, GLOBAL)


def test_observations_go_to_the_worktree_and_shared_things_to_the_repository() -> None:
    assert (PLACE.home, PLACE.shared) == (WORKTREE, REPO)
    assert (BARE.home, BARE.shared) == (REPO, REPO)
    assert (NOWHERE.home, NOWHERE.shared) == (UNSCOPED, UNSCOPED)


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("", PLACE.visible),
        ("  ", PLACE.visible),
        ("*", None),
        ("worktree", (WORKTREE,)),
        ("repo", (REPO,)),
        ("global", (GLOBAL,)),
        ("global://default", (GLOBAL,)),
        ("repo://unscoped", (UNSCOPED,)),
        (" repo://GitHub.com/owner/name.git/ ", (REPO,)),
        ("repo:///srv/x/.git", ("repo:///srv/x/.git",)),
        ("repo://C:/x/.git", ("repo://C:/x/.git",)),
        ("worktree:///home/me/My Repo/", ("worktree:///home/me/My Repo",)),
        ("worktree:///home/me/My%20Repo", ("worktree:///home/me/My Repo",)),
        ("worktree:///a/100%25", ("worktree:///a/100%25",)),
        ("worktree:///a/b/../c", ("worktree:///a/c",)),
    ],
)
def test_an_anchor_argument_is_a_word_or_a_whole_uri(text: str, anchors: tuple[Anchor, ...] | None) -> None:
    assert resolve_anchor_argument(text, PLACE) == anchors


@pytest.mark.parametrize(
    "text",
    [
        "everything",
        "Repo",
        "github.com/owner/name",
        "/home/me/name",
        "worktree://",
        "worktree://name",
        "repo://",
        "repo://unscoped/",
        "repo://host",
        "repo://user:secret@host/owner/name",
        "repo://host/../x",
        "global://other",
        "https://github.com/owner/name",
        "repo://host/\ud800",
        "worktree:///" + "a" * ANCHOR_MAX,
    ],
)
def test_any_other_anchor_argument_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        resolve_anchor_argument(text, PLACE)

    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_asking_for_the_worktree_where_there_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        resolve_anchor_argument("worktree", BARE)

    assert "cwd" in (caught.value.hint or "")
