"""Write docs/events.md and docs/tools.md anew from the code: `make docs`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pmm_mcp.domain.event_names import PMM_NAMES
from pmm_mcp.domain.events import EVENT_TYPES, adoption, cards, knowledge, ledger, memory, mind, review, turn
from pmm_mcp.domain.policy import WRITERS
from pmm_mcp.server.reference import listed_tools

HERE = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py; change the code and run `make docs`. -->"
FAMILIES = {
    "ledger": get_args(ledger.LedgerEvent),
    "turn": get_args(turn.TurnEvent),
    "mind": get_args(mind.MindEvent),
    "memory": get_args(memory.MemoryEvent),
    "knowledge": get_args(knowledge.KnowledgeEvent),
    "cards": get_args(cards.CardEvent),
    "review": get_args(review.ReviewEvent),
    "adoption": get_args(adoption.AdoptionEvent),
}
INHERITED = {"kind", "v", "changed"}


def main() -> None:
    for name, page in pages().items():
        (HERE / name).write_text(page, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return both pages, by file name."""
    return {"events.md": "\n".join(events()) + "\n", "tools.md": "\n".join(tools()) + "\n"}


def events() -> Iterator[str]:
    yield from (
        NOTE,
        "",
        "# Events",
        "",
        "Every kind of event the ledger may hold. Beside its own fields each record has `seq`, `ts`,",
        "`kind`, `actor`, `anchor`, `fence`, `prev_hash` and, where they apply, `conversation`, `turn` and",
        "`request_id`. Texts are kept beside the record, which holds their salted digests; `changed` lists",
        "what normalising and masking did to them. Filters also take the names that PMM gives to kinds.",
    )
    theirs: dict[str, list[str]] = {}
    for name, kind in PMM_NAMES.items():
        theirs.setdefault(kind, []).append(f"`{name}`")
    for family, types in FAMILIES.items():
        yield from ("", f"## {family.capitalize()}", "")
        yield "| kind | what happened | fields | texts | may be written by | PMM's name |"
        yield "|---|---|---|---|---|---|"
        for event in types:
            kind = event.model_fields["kind"].default
            fields = [f"`{field}`" for field in event.model_fields if field not in INHERITED]
            cells = (
                f"`{kind}`",
                (event.__doc__ or "").split("\n\n")[0].replace("\n", " ").strip(),
                ", ".join(fields),
                ", ".join(f"`{text}`" for text in event.texts),
                ", ".join(sorted(WRITERS[kind])),
                ", ".join(theirs.get(kind, [])),
            )
            yield "| " + " | ".join(cells) + " |"
    yield ""
    yield f"{len(EVENT_TYPES)} kinds."


def tools() -> Iterator[str]:
    yield from (NOTE, "", "# Tools")
    toolset = ""
    for family, tool in listed_tools():
        if family != toolset:
            toolset = family
            yield from ("", f"## {family}")
        yield from ("", f"### {tool.name}", "", tool.description or "", "")
        effects = tool.annotations
        yield "Reads only." if effects is not None and effects.read_only_hint else "Writes."
        properties: dict[str, Any] = tool.parameters["properties"]
        if properties:
            yield from ("", "| argument | type | default | meaning |", "|---|---|---|---|")
        required = tool.parameters.get("required", [])
        for name, schema in properties.items():
            kind = schema.get("type", "any")
            default = "required" if name in required else f"`{json.dumps(schema.get('default'))}`"
            yield f"| `{name}` | {kind} | {default} | {schema.get('description', '')} |"


if __name__ == "__main__":
    main()
