"""What the gate looks at: an item that is to become active, and every piece of its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pmm_mcp.domain.events.memory import Origin, Provenance
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.tiers import Role, Status, Tier


@dataclass(frozen=True, slots=True)
class Requirements:
    """How many pieces a tier asks for, by role, and whether a reviewer must have signed."""

    supporting: int
    verification: int
    teaching: int
    review: bool

    def at_least(self, other: "Requirements") -> "Requirements":
        """Return what satisfies both: a policy can only make the floor stricter."""
        return Requirements(
            max(self.supporting, other.supporting),
            max(self.verification, other.verification),
            max(self.teaching, other.teaching),
            self.review or other.review,
        )


FLOOR: Final[Mapping[Tier, Requirements]] = {
    Tier.DAO_TIAN: Requirements(supporting=3, verification=2, teaching=1, review=True),
    Tier.DAO_REN: Requirements(supporting=2, verification=1, teaching=0, review=False),
    Tier.SHU: Requirements(supporting=1, verification=1, teaching=0, review=False),
    Tier.QI: Requirements(supporting=1, verification=1, teaching=0, review=False),
}

_MESSAGE_COUNTS: Final = frozenset({Tier.SHU, Tier.QI})
"""Where what a user said is a source of its own: an agent can put words into a user's mouth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of evidence in one role. `source` is None where it was not resolved."""

    seq: int
    role: Role
    session: str
    origin: Origin = Origin.CITED
    provenance: Provenance = Provenance.RUNTIME
    source: str | None = None
    blob: str | None = None
    anchor: str = ""
    commit: str = ""
    answers: int | None = None
    said: int = 0
    """Of a user's message, the event that said it: cited later, it is as old as it was."""
    said_in: str = ""
    """The session in which it was said."""
    is_evaluation: bool = False
    """Whether a model judged, and no source was looked at."""
    is_withdrawn: bool = False
    is_redacted: bool = False

    @property
    def id(self) -> str:
        """What a caller calls it."""
        return public_id("ev", self.seq)

    @property
    def since(self) -> int:
        """The event from which on this could be known."""
        return min(self.seq, self.said or self.seq)

    @property
    def sessions(self) -> frozenset[str]:
        """Where it was recorded, and where it was said."""
        return frozenset({self.session, self.said_in or self.session})

    @property
    def is_secondhand(self) -> bool:
        """Whether it came from research or an import, which never carry a gate alone."""
        is_theirs = self.provenance in {Provenance.RESEARCH, Provenance.IMPORT}
        return is_theirs or self.is_evaluation or self.origin is Origin.IMPORT


@dataclass(frozen=True, kw_only=True)
class Case:
    """An item that is to become active, with all its evidence. `born` is the seq that created it."""

    tier: Tier
    status: Status
    born: int
    session: str
    pieces: Sequence[Piece]
    requirements: Requirements
    worktree: str = ""
    commit: str = ""
    demoted_at: int = 0
    answered: frozenset[int] = frozenset()
    """Counterexamples that a reviewer, or an earlier promotion, has answered."""
    is_reviewed: bool = False
    """Whether an unused signature approves exactly this."""
    superseded_by: int = 0
    """An active item that was raised from this one."""
    said_by: str = ""
    """The id of another active item that says the same here."""

    @cached_property
    def roles(self) -> Mapping[int, frozenset[Role]]:
        """In which roles each piece is cited."""
        roles: dict[int, frozenset[Role]] = {}
        for piece in self.pieces:
            roles[piece.seq] = roles.get(piece.seq, frozenset()) | {piece.role}
        return roles

    def is_resolved(self, piece: Piece) -> bool:
        """Say whether the source of a piece is one of its own, for this tier."""
        match piece.origin:
            case Origin.FILE | Origin.SIGNED:
                return piece.source is not None
            case Origin.MESSAGE:
                return piece.source is not None and self.tier in _MESSAGE_COUNTS
            case _:
                return False

    def is_from_elsewhen(self, piece: Piece) -> bool:
        """Say whether a piece was recorded in another session, or after another commit of the checkout."""
        after_a_commit = (
            bool(piece.commit and self.commit and self.worktree)
            and piece.commit != self.commit
            and piece.anchor == self.worktree
        )
        is_from_before = bool(piece.said_in) and piece.said_in == self.session
        return self.session not in piece.sessions or (after_a_commit and not is_from_before)
