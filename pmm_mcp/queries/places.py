"""Places that were seen, and what the owner confirmed about them."""

from dataclasses import dataclass

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.ports import Query, Row
from pmm_mcp.queries.rows import number, scalar


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a git directory, or a checkout, was seen to belong; `confirmed` by the owner or not."""

    repo: Anchor
    confirmed: bool


def is_known(*, repo: str, worktree: str | None) -> Query[int]:
    """Ask whether this checkout of this repository was seen before (1) or not (0)."""
    if worktree is None:
        return Query(
            "SELECT 1 FROM places WHERE repo = :repo AND worktree IS NULL LIMIT 1", {"repo": repo}, number
        )
    return Query(
        "SELECT 1 FROM places WHERE repo = :repo AND worktree = :worktree LIMIT 1",
        {"repo": repo, "worktree": worktree},
        number,
    )


def repository_of(worktree: Anchor) -> Query[Anchor | None]:
    """Ask to which repository a checkout was last seen to belong."""
    return Query(
        "SELECT repo FROM places WHERE worktree = :worktree ORDER BY seen DESC LIMIT 1",
        {"worktree": worktree},
        scalar,
    )


def history_of(common_dir: str) -> Query[tuple[Seen, ...]]:
    """Ask to which repositories a git directory was seen to belong, the latest first."""
    return Query(
        "SELECT repo, confirmed FROM places WHERE common_dir = :common_dir ORDER BY seen DESC",
        {"common_dir": common_dir},
        lambda rows: tuple(map(_seen, rows)),
    )


def _seen(row: Row) -> Seen:
    repo, confirmed = row
    return Seen(Anchor(repo), bool(confirmed))
