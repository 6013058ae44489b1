"""A person's part: what waits, everything about it, and the signature."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.passphrase import ask_line, tell
from pmm_mcp.cli.reviewer import KeyName, signer_here, unlocked
from pmm_mcp.cli.terminal import Answer, line, quoted
from pmm_mcp.domain.errors import ReviewRefusedError
from pmm_mcp.domain.events.review import Decision
from pmm_mcp.keys import KeyRing
from pmm_mcp.services.reviewing import CaseResult, DecisionResult, WaitingResult

ItemId = Annotated[str, typer.Argument(metavar="ID", help="kn:N or card:N.")]
MoveName = Annotated[
    str, typer.Option("--move", help="promote, retire, restore, publish or uphold, when several wait.")
]
Note = Annotated[str, typer.Option(help="Why, for the record.")]


async def list_(visit: Visit) -> Answer:
    """List what waits for a person."""
    async with visit.app() as app:
        result = await app.reviewing.waiting()
    return Answer(result, _waiting(result))


async def show(visit: Visit, *, item_id: ItemId, move: MoveName = "") -> Answer:
    """Show a proposal whole: the statement, every piece of evidence, counterexamples first."""
    async with visit.app() as app:
        case = await app.reviewing.show(item_id, move=move)
    lines = list(_case(case))
    if visit.terminal.out.is_terminal and not visit.terminal.json:
        with visit.terminal.out.pager():
            for text in lines:
                visit.terminal.out.print(text, soft_wrap=True)
        return Answer(case, [])
    return Answer(case, lines)


async def approve(
    visit: Visit, *, item_id: ItemId, note: Note = "", move: MoveName = "", key: KeyName = ""
) -> Answer:
    """Sign that a person approves exactly this, with exactly this evidence."""
    return await _decide(visit, item_id, decision="approve", note=note, move=move, key=key)


async def reject(
    visit: Visit, *, item_id: ItemId, note: Note = "", move: MoveName = "", key: KeyName = ""
) -> Answer:
    """Sign that a person does not approve this."""
    return await _decide(visit, item_id, decision="reject", note=note, move=move, key=key)


async def teach(
    visit: Visit,
    *,
    content: Annotated[str, typer.Argument(help="What you know, and how you know it.")],
    field: Annotated[str, typer.Option(help="Subject area.")] = "general",
    source: Annotated[str, typer.Option(help="Where it comes from, if not from you.")] = "",
    key: KeyName = "",
) -> Answer:
    """Record what a person teaches, signed: evidence that counts as teaching."""
    async with visit.app() as app:
        by, sign = await unlocked(app, KeyRing(visit.settings.keys_dir), key)
        result = await app.reviewers.teach(
            content, field=field, source=source, key=by, sign=sign, call=await visit.call(app)
        )
    return Answer(result, [line((result.id, "bold"), f"  taught and signed with {result.key}")])


async def _decide(
    visit: Visit, item_id: str, *, decision: Decision, note: str, move: str, key: str
) -> Answer:
    ring = KeyRing(visit.settings.keys_dir)
    async with visit.app() as app:
        case = await app.reviewing.show(item_id, move=move)
        signer = await signer_here(app, ring, key)
        # On the terminal itself: whoever signs sees it, wherever the output of the command goes.
        tell(text.plain for text in _case(case))
        typed = ask_line(f"Type {case.id} to {decision} that it is {_outcome(case)}: ")
        if typed != case.id:
            raise ReviewRefusedError("that is not its id", hint="Nothing was signed.")
        by, sign = await unlocked(app, ring, signer.key)
        result = await app.reviewing.decide(
            case, decision=decision, note=note, key=by, sign=sign, call=await visit.call(app)
        )
    return Answer(result, _decided(result))


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="What waits for a person, and the person's signature.", no_args_is_help=True)
    add(group, list_, "list", reads=True)
    add(group, show, reads=True)
    add(group, approve, reads=True)
    add(group, reject, reads=True)
    program.add_typer(group, name="review")
    add(program, teach)


def _outcome(case: CaseResult) -> str:
    return f"published to {case.to}" if case.move == "publish" else f"{case.to} ({case.move})"


def _waiting(result: WaitingResult) -> Iterator[Text]:
    for one in result.waiting:
        yield line(
            (one.id, "bold"), f"  {one.move} → {one.to}, {one.tier} ({one.gloss})", (f"  {one.why}", "dim")
        )
        for text in quoted(one.statement or "(removed)"):
            yield line(text)
    if not result.waiting:
        yield line("nothing waits for a person")


def _case(case: CaseResult) -> Iterator[Text]:
    yield line((case.id, "bold"), f"  {case.tier} ({case.gloss}), {case.status} → {_outcome(case)}")
    facts = {"anchor": case.anchor, "domain": case.domain, "field": case.field, "why": case.why}
    for name, value in facts.items():
        yield line((f"{name:>12}  ", "dim"), value)
    texts = {
        "statement": case.statement,
        "content": case.content,
        "scope": case.scope_constraints,
        "reason": case.reason,
    }
    for name, text in texts.items():
        if text is not None:
            yield line((name, "dim"))
            yield from map(line, quoted(text))
    for name, hints in case.hints.items():
        yield line((f"{name}: ", "dim"), ", ".join(hints))
    for one in case.evidence:
        marks = (("answered", one.answered), ("withdrawn", one.withdrawn), ("unresolved", not one.resolved))
        flags = ", ".join(word for word, is_so in marks if is_so)
        style = "bold red" if one.role == "counterexample" else "bold"
        facts_of = [one.provenance, one.recorded_at[:19], f"session {one.session}", *filter(None, [flags])]
        yield line((f"{one.role} {one.id}", style), f"  {', '.join(facts_of)}")
        if one.source:
            yield from map(line, quoted(f"source: {one.source}"))
        yield from map(line, quoted(one.content or "(removed)"))
    for change in case.history:
        yield line((f"{change.ts[:19]}  {change.kind} by {change.actor}", "dim"))
        if change.summary:
            yield from map(line, quoted(change.summary))
    for reason in case.gate:
        yield line(("the gate says no: ", "yellow"), reason)
    yield line(("what is signed: ", "dim"), case.digest)


def _decided(result: DecisionResult) -> Iterator[Text]:
    yield line((result.id, "bold"), f"  {result.decision}: {result.item} {result.move} → {result.to}")
    if result.decision == "approve" and result.move != "uphold":
        yield line("now the same call that was refused succeeds, once")
