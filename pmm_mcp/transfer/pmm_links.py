"""Which earlier row each row of a PMM ledger belongs to: a pure fold over its rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from pmm_mcp.transfer.pmm_json import members, string, whole
from pmm_mcp.transfer.pmm_source import SourceRow


def link(rows: Sequence[SourceRow]) -> Mapping[int, int]:
    """Return, by id, the id of the row that a row is about.

    A terminal names its prompt, a close its opening, a binding what it binds; an opening of what is
    open already names the first one. A row whose partner is missing is absent.
    """
    fold = _Fold()
    for row in rows:
        partner = fold.partner(row)
        if partner is not None and 0 < partner < row.id:
            fold.links[row.id] = partner
    return fold.links


class _Fold:
    """What is known after some rows: prompts without an end, and commitments."""

    def __init__(self) -> None:
        self.links: dict[int, int] = {}
        self._prompts: set[int] = set()
        self._waiting: dict[int, None] = {}
        self._open: dict[str, int] = {}
        self._opened: dict[str, int] = {}
        self._cids: dict[int, str] = {}

    def partner(self, row: SourceRow) -> int | None:
        """Take the next row, and return what it is about."""
        match row.kind:
            case "user_message":
                self._prompts.add(row.id)
                self._waiting[row.id] = None
                return None
            case "assistant_message" | "generation_failure":
                return self._end(row.meta)
            case "commitment_open":
                return self._opening(row)
            case "commitment_close":
                return self._close(row.meta)
            case "concept_bind_event" | "concept_bind_async":
                return whole(members(row.content).get("event_id"))
            case "concept_bind_thread":
                return self._opened.get(string(members(row.content).get("cid")))
            case _:
                return None

    def _end(self, meta: Mapping[str, Any]) -> int | None:
        """Find the prompt that a terminal ends: the one it names, else the last that waits for an end."""
        prompt = whole(meta.get("about_event"))
        if prompt not in self._prompts:
            prompt = next(reversed(self._waiting), None)
        if prompt is not None:
            self._waiting.pop(prompt, None)
        return prompt

    def _opening(self, row: SourceRow) -> int | None:
        """Open a commitment, or find that it is open already."""
        cid = string(row.meta.get("cid")) or row.content
        if cid in self._open:
            return self._open[cid]
        self._open[cid] = self._opened[cid] = row.id
        self._cids[row.id] = cid
        return None

    def _close(self, meta: Mapping[str, Any]) -> int | None:
        """Find the opening that a close ends: the one it names, else the open one of its id."""
        cid = string(meta.get("cid"))
        named = whole(meta.get("open_event_id"))
        if named is not None:
            opening = self.links.get(named, named)
            cid = self._cids.get(opening, "")
            if self._open.get(cid) != opening:
                return None
        return self._open.pop(cid, None)
