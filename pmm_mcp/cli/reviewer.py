"""Reviewers: whose keys prove a person, and how much stricter than the floor they want the gates."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from pmm_mcp.bootstrap import App
from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.passphrase import ask_passphrase, new_passphrase
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.domain.case import Requirements
from pmm_mcp.domain.errors import InvalidArgumentError, ReviewRefusedError
from pmm_mcp.domain.tiers import parse_tier
from pmm_mcp.keys import KeyRing, Sign
from pmm_mcp.services.reviewers import ReviewerShown, ReviewersResult, SignedResult

KeyName = Annotated[str, typer.Option("--key", help="The key to sign with; yours, when you have one.")]


async def add_reviewer(
    visit: Visit,
    *,
    name: Annotated[str, typer.Argument(help="Whose key it will be.")],
    key: KeyName = "",
) -> Answer:
    """Make a key that proves a person, and register it; a later one is signed by an earlier reviewer."""
    ring = KeyRing(visit.settings.keys_dir)
    async with visit.app() as app:
        known = (await app.reviewers.reviewers()).reviewers
        signer: Sign | None = None
        by = ""
        if known:
            by, signer = await unlocked(app, ring, key)
        passphrase = new_passphrase()
        made = ring.create(passphrase)
        try:
            result = await app.reviewers.register(
                name,
                key=made.key,
                public_key=made.public_key,
                by=by or made.key,
                sign=signer or ring.unlock(made.key, passphrase),
                call=await visit.call(app),
            )
        except (InvalidArgumentError, ReviewRefusedError):
            # Only where it surely is not registered: a key that is and was thrown away signs nobody in.
            ring.discard(made.key)
            raise
    young = "; it approves nothing for a day" if by else ""
    return Answer(result.model_copy(update={"key": made.key}), [line((made.key, "bold"), f"  {name}{young}")])


async def list_(visit: Visit) -> Answer:
    """List every key this ledger ever knew."""
    async with visit.app() as app:
        result = await app.reviewers.reviewers()
    return Answer(result, _listed(result))


async def revoke(
    visit: Visit,
    *,
    revoked: Annotated[str, typer.Argument(metavar="KEY", help="The key to revoke.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    key: KeyName = "",
) -> Answer:
    """Revoke a key: from now on it proves nothing."""
    async with visit.app() as app:
        by, sign = await unlocked(app, KeyRing(visit.settings.keys_dir), key)
        result = await app.reviewers.revoke(
            revoked, reason=reason, by=by, sign=sign, call=await visit.call(app)
        )
    return Answer(result, _signed(result, f"{revoked} is revoked"))


async def policy(
    visit: Visit,
    *,
    tier: Annotated[str, typer.Option(help="dao_tian, dao_ren, shu, qi.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    supporting: Annotated[int, typer.Option(min=0, max=100, help="Pieces that support.")],
    verification: Annotated[int, typer.Option(min=0, max=100, help="Pieces that verify.")],
    teaching: Annotated[int, typer.Option(min=0, max=100, help="Signed teachings.")] = 0,
    signature: Annotated[bool, typer.Option("--signature", help="Ask for a person's signature too.")] = False,
    key: KeyName = "",
) -> Answer:
    """Make the gate of a tier stricter; it never becomes looser again."""
    needs = Requirements(supporting, verification, teaching, signature)
    async with visit.app() as app:
        by, sign = await unlocked(app, KeyRing(visit.settings.keys_dir), key)
        result = await app.reviewers.tighten(
            parse_tier(tier), needs, reason=reason, key=by, sign=sign, call=await visit.call(app)
        )
    return Answer(result, _signed(result, f"the gate of {tier} is stricter now"))


async def unlocked(app: App, ring: KeyRing, key: str) -> tuple[str, Sign]:
    """Return a reviewer's key on this machine, and what signs with it, once its passphrase was typed.

    Raises:
        ReviewRefusedError: there is no such key, no terminal, or this is not its passphrase.

    """
    signer = await signer_here(app, ring, key)
    passphrase = ask_passphrase(f"Passphrase of {signer.name} ({signer.key}): ")
    return signer.key, ring.unlock(signer.key, passphrase)


async def signer_here(app: App, ring: KeyRing, key: str) -> ReviewerShown:
    """Return the reviewer whose key signs: the one that is named, or the only one of this machine.

    Raises:
        ReviewRefusedError: there is no reviewer, none of this machine, or several and none was named.

    """
    known = (await app.reviewers.reviewers()).reviewers
    if not known:
        raise ReviewRefusedError(
            "this ledger knows no reviewer", hint="Make yourself one: `pmm-mcp reviewer add NAME`."
        )
    here = [one for one in known if not one.revoked and ring.holds(one.key)]
    named = [one for one in here if key in ("", one.key, one.name)]
    if len(named) != 1:
        keys = ", ".join(f"{one.key} ({one.name})" for one in here) or "none"
        raise ReviewRefusedError(
            "it is not clear whose key to sign with", hint=f"Say --key; on this machine: {keys}."
        )
    return named[0]


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    group = typer.Typer(help="Keys that prove a person.", no_args_is_help=True)
    add(group, add_reviewer, "add")
    add(group, list_, "list", reads=True)
    add(group, revoke, reads=True)
    add(group, policy, reads=True)
    program.add_typer(group, name="reviewer")


def _listed(result: ReviewersResult) -> Iterator[Text]:
    for one in result.reviewers:
        state = "revoked" if one.revoked else "approves nothing yet" if one.young else "approves"
        yield line(
            (one.key, "bold"),
            f"  {one.name}, {state}",
            (f"  event {one.seq}, {one.age_days} days old, signed by {one.signed_by}", "dim"),
        )
    if not result.reviewers:
        yield line("no reviewer yet: `pmm-mcp reviewer add NAME`")


def _signed(result: SignedResult, what: str) -> Iterator[Text]:
    yield line((result.id, "bold"), f"  {what}", (f"  signed by {result.key}", "dim"))
