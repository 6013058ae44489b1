"""Places that were seen."""

from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.ports import Query
from pmm_mcp.queries.rows import number, scalar


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
