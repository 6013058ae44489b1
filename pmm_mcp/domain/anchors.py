"""Where something holds: in one checkout, one repository, everywhere, or nowhere in particular.

    worktree://<real path>            one checkout
    repo://<host>/<owner>/<name>      a repository, wherever it is cloned
    repo://<real path of the git dir> a repository that has no remote
    repo://unscoped                   what came without a place
    global://default                  everywhere

An anchor is an identity, so each place has one spelling. Spaces and letters of any script stay
readable; `%`, control characters, spaces at the end and bytes that are not UTF-8 are percent-encoded,
which makes an anchor safe to store, print and parse whatever a directory is called.
"""

import posixpath
import re
from dataclasses import dataclass
from typing import Final, NewType

from pmm_mcp.domain.errors import InvalidArgumentError

Anchor = NewType("Anchor", str)

UNSCOPED: Final = Anchor("repo://unscoped")
GLOBAL: Final = Anchor("global://default")

ANCHOR_MAX: Final = 16_384  # characters: the longest path, every byte of it percent-encoded
REMOTE_URL_MAX: Final = 2_048

_SPACE: Final = " \t\r\n"  # not what else Unicode calls space: a name may end in it
_WORKTREE: Final = "worktree://"
_REPO: Final = "repo://"
_HINT: Final = "Use worktree, repo, global, * (everything), or a whole URI as results show it."

# A fixed list: asking unicodedata would give one directory two anchors under two Pythons.
_UNSAFE: Final = re.compile("[%\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]| +\\Z")
# Half a surrogate pair: no text, and no undecodable byte of a path either.
_LONE: Final = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:/")
_HOST: Final = re.compile(r"\w[\w.-]*|\[[0-9a-f:.]+\]")

_NETWORK_SCHEMES: Final = frozenset({"ssh", "git", "http", "https", "ftp", "ftps", "git+ssh", "ssh+git"})
_URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_AUTHORITY: Final = re.compile(r"(?:.*@)?(?P<host>\[[^\]]*\]|[^:@\[\]]+)(?::\d*)?", re.DOTALL)
_SCP: Final = re.compile(r"(?:[^/:\[\]]*@)?(?P<host>\[[^\]/]+\]|[^/:@\[\]]+):(?P<path>(?!:|//).*)", re.DOTALL)
_DRIVE: Final = re.compile(r"[A-Za-z]:[/\\]")
_BRACKETED_PORT: Final = re.compile(r"\[([^:\]]+):\d*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a call comes from, and so what it sees and where it writes."""

    worktree: Anchor | None
    repo: Anchor
    common_dir: str = ""  # of git, spelled as in an anchor: safe to store
    head: str = ""  # commit id; empty before the first commit and outside git
    notice: str = ""  # what the caller should know about how the place was found

    @property
    def visible(self) -> tuple[Anchor, ...]:
        """Every anchor that holds here, nearest first."""
        nearest_first = (self.worktree, self.repo, UNSCOPED, GLOBAL)
        return tuple(dict.fromkeys(anchor for anchor in nearest_first if anchor))

    @property
    def home(self) -> Anchor:
        """Where runtime observations go."""
        return self.worktree or self.repo

    @property
    def shared(self) -> Anchor:
        """Where goes what every checkout of the repository should know."""
        return self.repo


def worktree_anchor(path: str) -> Anchor:
    """Return the anchor of the checkout at this real, absolute path (with forward slashes)."""
    return Anchor(_WORKTREE + path_text(posixpath.normpath(path)))


def repo_anchor_of_dir(path: str) -> Anchor:
    """Return the anchor of a repository without a remote, by the real path of its git dir."""
    return Anchor(_REPO + path_text(posixpath.normpath(path)))


def repo_anchor_of_remote(url: str) -> Anchor | None:
    """Return the anchor that every clone of this remote shares; None for a local or unclear one.

    Protocol, user, password, port and query are left out: they say how one person reaches the
    repository, not which one it is.
    """
    url = url.strip(_SPACE)
    if len(url) > REMOTE_URL_MAX or _LONE.search(url) or _DRIVE.match(url):
        return None
    if match := _URL.fullmatch(url):
        return _of_url(match)
    if match := _SCP.fullmatch(url):
        return _hosted(match["host"], match["path"])
    return None


def path_text(path: str) -> str:
    """Return a path as anchors spell it, safe to store and print whatever a directory is called."""
    return _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in _bytes(found[0])), path)


def path_of(anchor: Anchor) -> str | None:
    """Return the directory an anchor names, as the file system spells it; None if it names none."""
    rest = anchor.removeprefix(_WORKTREE).removeprefix(_REPO)
    return _unescape(rest) if _ABSOLUTE.match(rest) else None


def parse_anchor(text: str) -> Anchor:
    """Return the one spelling of an anchor written as a whole URI.

    Raises:
        InvalidArgumentError: it is not the URI of an anchor.

    """
    anchor = _read_uri(text.strip(_SPACE))
    if anchor is None:
        raise InvalidArgumentError("this is not an anchor", hint=_HINT)
    return anchor


def resolve_anchor_argument(text: str, place: Place) -> tuple[Anchor, ...] | None:
    """Return the anchors an `anchor` argument asks for, nearest first; None asks for everything.

    Raises:
        InvalidArgumentError: it is neither a known word nor the URI of an anchor.

    """
    match text.strip(_SPACE):
        case "":
            return place.visible
        case "*":
            return None
        case "repo":
            return (place.repo,)
        case "global":
            return (GLOBAL,)
        case "worktree" if place.worktree:
            return (place.worktree,)
        case "worktree":
            raise InvalidArgumentError(
                "there is no worktree here", hint="Pass cwd: a directory inside a git checkout."
            )
        case uri:
            return (parse_anchor(uri),)


def _read_uri(uri: str) -> Anchor | None:
    scheme, separator, rest = uri.partition("://")
    if len(uri) > ANCHOR_MAX or _LONE.search(uri):
        return None
    rest = _unescape(rest)
    match scheme + separator:
        case "worktree://" if _ABSOLUTE.match(rest):
            return worktree_anchor(rest)
        case "repo://" if _ABSOLUTE.match(rest):
            return repo_anchor_of_dir(rest)
        case "repo://" if rest != "unscoped":
            host, _, path = rest.partition("/")
            return _hosted(host, path)
        case _:
            return next((known for known in (UNSCOPED, GLOBAL) if uri == known), None)


def _of_url(url: re.Match[str]) -> Anchor | None:
    authority = _AUTHORITY.fullmatch(url["authority"])
    # A password with an unquoted / ? or # ends the authority early: what follows is still secret.
    spilled = "@" in url["path"] + url["rest"]
    if authority is None or spilled or url["scheme"].lower() not in _NETWORK_SCHEMES:
        return None
    return _hosted(authority["host"], _unescape(url["path"]))


def _hosted(host: str, path: str) -> Anchor | None:
    host = _BRACKETED_PORT.sub(r"\1", host).lower().rstrip(".")
    segments = [segment for segment in path.split("/") if segment not in {"", "."}]
    while segments and segments[-1].endswith(".git"):
        segments[-1:] = filter(None, [segments[-1].removesuffix(".git")])
    if not _HOST.fullmatch(host) or not segments or ".." in segments or "@" in path:
        return None
    return Anchor(f"{_REPO}{host}/{path_text('/'.join(segments))}")


def _unescape(text: str) -> str:
    raw = _ESCAPED.sub(lambda found: bytes.fromhex(found[1].decode()), _bytes(text))
    return raw.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
