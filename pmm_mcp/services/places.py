"""Noting which checkout belongs to which repository, at first sight."""

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import UNSCOPED
from pmm_mcp.domain.events.ledger import PlaceSeen
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import places


def note_place(tx: Transaction, call: Call) -> None:
    """Add `place_seen` to a write that comes from a place the ledger does not know yet."""
    place = call.place
    if not tx.appended or place.repo == UNSCOPED:
        return
    if tx.ask(places.is_known(repo=place.repo, worktree=place.worktree)):
        return
    tx.append(
        Draft(
            PlaceSeen(worktree=place.worktree, repo=place.repo),
            {"common_dir": Admitted(place.common_dir)},
            actor=Actor(kind="runtime", name="places", session=call.actor.session),
        )
    )
