"""Places: which checkout belongs to which repository, and what became of that."""

from dataclasses import dataclass

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import UNSCOPED, Anchor, Place
from pmm_mcp.domain.errors import MoveNotAllowedError
from pmm_mcp.domain.events.ledger import PlaceConfirmed, PlaceSeen
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.ports import Ledger, Plan, Transaction
from pmm_mcp.queries import events, places
from pmm_mcp.queries.plans import carry_out
from pmm_mcp.services.results import Result


class PlaceResult(Result):
    """Where a call comes from, and what it sees, nearest first; `was` is the repository before a change."""

    worktree: str | None = None
    repo: str
    git_dir: str | None = None
    commit: str | None = None
    visible: list[str]
    was: str | None = None


@dataclass(frozen=True, slots=True)
class PlaceService:
    """Shows places, and lets their owner confirm a change."""

    ledger: Ledger

    async def show(self, *, call: Call) -> PlaceResult:
        """Return the place of a call, and what is unusual about it."""
        async with self.ledger.reader.view() as view:
            was = await view.carry_out(changed_from(call.place))
            head = await view.ask(events.head())
        return _result(call.place, was, head=head)

    async def confirm(self, *, call: Call) -> PlaceResult:
        """Accept that this checkout belongs to another repository than before.

        Raises:
            MoveNotAllowedError: nothing has changed.

        """

        def work(tx: Transaction) -> PlaceResult:
            place = call.place
            was = carry_out(tx, changed_from(place))
            if was is None:
                raise MoveNotAllowedError(
                    "nothing has changed here", hint="`pmm-mcp place show` says where this is."
                )
            texts = {"common_dir": Admitted(place.common_dir)}
            tx.append(Draft(PlaceConfirmed(worktree=place.worktree, repo=place.repo), texts))
            return _result(place, None, head=tx.next_seq - 1).model_copy(update={"was": was})

        return await self.ledger.write(work, call=call)


def changed_from(place: Place) -> Plan[Anchor | None]:
    """Find the repository this checkout belonged to before its remote changed, until that is confirmed."""
    if place.repo == UNSCOPED or not place.common_dir:
        return None
    was: Anchor | None = yield places.repository_of_git_dir(place.common_dir)
    if was in (None, place.repo) and place.worktree is not None:
        was = yield places.repository_before(place.worktree, common_dir=place.common_dir)
    return None if was == place.repo else was


def notice_of(was: Anchor | None) -> str:
    """Say what follows from a change."""
    if was is None:
        return ""
    return (
        f"this checkout belonged to {was} before its remote changed, or its directory: what is kept there "
        "does not show here any more; `pmm-mcp place confirm` accepts that"
    )


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


def _result(place: Place, was: Anchor | None, *, head: int) -> PlaceResult:
    notices = [place.notice, notice_of(was)]
    return PlaceResult(
        worktree=place.worktree,
        repo=place.repo,
        git_dir=place.common_dir or None,
        commit=place.head or None,
        visible=list(place.visible),
        was=was,
        notice="; ".join(filter(None, notices)) or None,
        head=head,
    )
