"""Governed knowledge as a decision sees it: an item where it stands, and what a statement may be."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pmm_mcp.domain.anchors import GLOBAL, UNSCOPED, Anchor
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.events.memory import Domain
from pmm_mcp.domain.ids import public_id
from pmm_mcp.domain.invisible import UNSEEN
from pmm_mcp.domain.tiers import ACTIVE, Status, Tier

STATEMENT_CHARS_MAX: Final = 280
REFS_MAX: Final = 100

Form = Literal["kn", "card"]
"""Knowledge, or a card: the same rules, told apart by the prefix of its id."""

_QUOTES: Final = "\\s\"'`´‘’‚‛“”„‟‹›«»「」『』()\\[\\]{}*_"
_AROUND: Final = re.compile(rf"\A[{_QUOTES}]+|[{_QUOTES}.,;:!?…。、！？]+\Z")
"""Marks that make no other sentence; `C++`, `.env` and `-v` stay what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A piece of knowledge as it stands. `since` is the event that put it there; a removed text is None."""

    item: int
    statement: str | None
    tier: Tier
    status: Status
    domain: Domain
    field: str
    anchor: Anchor
    since: int
    form: Form = "kn"
    made_from: int = 0
    """The knowledge whose belief a card carries; both move together."""
    origin: int = 0
    """The item it was raised from."""
    session: str = ""
    worktree: str = ""
    commit: str = ""
    is_signed: bool = False
    """Whether a reviewer's signature made it active, or wider."""
    for_review: bool = False

    @property
    def id(self) -> str:
        """What a caller calls it."""
        return public_id(self.form, self.item)

    @property
    def is_active(self) -> bool:
        """Whether it is believed."""
        return self.status in ACTIVE


def one_statement(text: str) -> str:
    """Return a statement on one line.

    Raises:
        InvalidArgumentError: it is empty, or too long to wake up with.

    """
    statement = " ".join(text.split())
    if not statement:
        raise InvalidArgumentError("statement is empty", hint="Say in one sentence what is believed.")
    if len(statement) > STATEMENT_CHARS_MAX:
        raise InvalidArgumentError(
            f"statement has {len(statement)} characters, the limit is {STATEMENT_CHARS_MAX}",
            hint="Keep one sentence here; reasons and boundaries belong into content.",
        )
    return statement


def statement_key(statement: str) -> str:
    """Return what statements that say the same have in common, whatever their form, case and end marks.

    Written as NFKC of the case-folded text (Unicode Standard Annex 15, and section 3.13 for folding), without
    what cannot be seen: taken out first, for it keeps letters and their accents apart.
    """
    seen = UNSEEN.sub("", " ".join(statement.split()))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    # Composing can bring out a filler again. A statement of marks alone is its marks.
    words = " ".join(UNSEEN.sub("", folded).split())
    return _AROUND.sub("", words) or words


def widest(anchors: Sequence[Anchor], *, here: Sequence[Anchor]) -> Anchor:
    """Return where a statement holds that rests on evidence of these places: the widest, up to a repository.

    Among several as wide, the one nearest to `here`, else the first by name.
    """
    repos = {anchor for anchor in anchors if anchor.startswith("repo://") and anchor != UNSCOPED}
    checkouts = {anchor for anchor in anchors if anchor.startswith("worktree://")}
    candidates = repos or checkouts or {UNSCOPED}
    return next((anchor for anchor in here if anchor in candidates), None) or min(candidates)


def wider(anchor: Anchor, to: str, *, repo: Anchor) -> Anchor | None:
    """Return the anchor one step out that is called so; None when that is no single step outwards."""
    match to:
        case "repo" if anchor.startswith("worktree://") and repo != UNSCOPED:
            return repo
        case "global" if anchor.startswith("repo://"):
            return GLOBAL
        case _:
            return None
