"""Places that were seen, and what the owner confirmed about them."""

from typing import Final

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.ports import Query
from pmm_mcp.queries.rows import number, scalar

_OWNER_KNOWS: Final = "ORDER BY confirmed DESC, CASE WHEN confirmed = 1 THEN -seen ELSE seen END LIMIT 1"
"""What was confirmed last; without it, what was seen first."""


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


def repository_of_git_dir(common_dir: str) -> Query[Anchor | None]:
    """Ask to which repository a git directory belongs as far as its owner knows."""
    return Query(
        f"SELECT repo FROM places WHERE common_dir = :common_dir {_OWNER_KNOWS}",
        {"common_dir": common_dir},
        scalar,
    )


def repository_before(worktree: Anchor, *, common_dir: str) -> Query[Anchor | None]:
    """Ask to which repository a checkout belongs as its owner knows, if not by this git directory."""
    return Query(
        f"""
        SELECT repo FROM (SELECT repo, common_dir FROM places WHERE worktree = :worktree {_OWNER_KNOWS})
        WHERE common_dir IS NOT :common_dir
        """,
        {"worktree": worktree, "common_dir": common_dir},
        scalar,
    )
