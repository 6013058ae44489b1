"""Rendering a pack as Markdown. All stored text is quoted; only ids, dates and counts of ours are not."""

from collections.abc import Iterator

from pmm_mcp.context.guidance_render import render_guidance
from pmm_mcp.context.pack import Pack, document_id
from pmm_mcp.context.quoting import quoted
from pmm_mcp.domain.ids import public_id

_MESSAGE_CHARS = 1_500
_COMMITMENT_CHARS = 300
_LINE_CHARS = 300


def render(pack: Pack) -> str:
    """Return the sections that have content, each under one heading of ours."""
    sections = (
        _section("Guidance", _guidance(pack)),
        _section("Open commitments", _commitments(pack)),
        _section("State", iter([f"The ledger holds events 1..{pack.head}."]) if pack.head else iter(())),
        _section("Recent conversation", _pairs(pack)),
        _section("Evidence (oldest first)", _found(pack)),
        _section("Lines of your last reply that had no effect", _failures(pack)),
    )
    return "\n\n".join(section for section in sections if section)


def _section(title: str, blocks: Iterator[str]) -> str:
    body = "\n\n".join(blocks)
    return f"## {title}\n\n{body}" if body else ""


def _guidance(pack: Pack) -> Iterator[str]:
    if pack.guidance.advice:
        yield render_guidance(pack.guidance, heading="###")


def _commitments(pack: Pack) -> Iterator[str]:
    for commitment in pack.commitments:
        if commitment.text is not None:
            head = f"{public_id('co', commitment.commitment)} (short id {commitment.cid})"
            yield f"{head}\n{quoted(commitment.text, chars_max=_COMMITMENT_CHARS)}"


def _pairs(pack: Pack) -> Iterator[str]:
    for pair in pack.pairs:
        for who, seq, text in (("user", pair.turn, pair.prompt), ("assistant", pair.terminal, pair.reply)):
            if text is not None:
                yield f"{public_id('msg', seq)}, {who}\n{quoted(text, chars_max=_MESSAGE_CHARS)}"


def _found(pack: Pack) -> Iterator[str]:
    for hit in sorted(pack.found, key=lambda hit: hit.doc):
        speaker = f", {hit.speaker}" if hit.speaker else ""
        head = f"{document_id(hit.kind, hit.doc)}, {hit.kind}{speaker}, {hit.ts[:10]}"
        source = f"\n{quoted(f'source: {hit.source}', chars_max=_LINE_CHARS)}" if hit.source else ""
        yield f"{head}{source}\n{quoted(hit.passage)}"


def _failures(pack: Pack) -> Iterator[str]:
    for failure in pack.failures:
        yield f"{failure.reason}\n{quoted(failure.line, chars_max=_LINE_CHARS)}"
