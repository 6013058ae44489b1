"""One call: who makes it, from where, and what it may use."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context

from pmm_mcp.domain.errors import LedgerUnavailableError, ReadOnlyError
from pmm_mcp.server.asking import Ask, asker_of
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.tokens import SCOPE_KEY, Grant

if TYPE_CHECKING:
    from pmm_mcp.bootstrap import App
    from pmm_mcp.domain.records import Call


@dataclass(frozen=True, slots=True)
class Visit:
    """Who calls, and the desk that serves it. The first argument of every tool.

    `grant` is what the caller's token allows; there is none over stdio, and over HTTP without tokens.
    """

    desk: Desk
    client: str = ""
    grant: Grant | None = None
    ask: Ask | None = None
    """Asks whoever sits at the client, where it can; the answer is a label and proves nobody."""

    async def admit(self, *, writes: bool) -> None:
        """Check that the caller's token allows this.

        Raises:
            ReadOnlyError: it would write, and the token may only read.
            LedgerUnavailableError: the token is for another ledger.

        """
        if self.grant is None:
            return
        if writes and not self.grant.may_write:
            raise ReadOnlyError(
                f"the token {self.grant.name!r} may only read",
                hint="This takes a token with the scope write.",
            )
        if self.grant.ledger:
            app = await self.desk.app()
            if (await app.ledger.state()).ledger_id != self.grant.ledger:
                raise LedgerUnavailableError(
                    f"the token {self.grant.name!r} is for another ledger",
                    hint="Use a token made for the ledger of this server.",
                )

    async def app(self) -> "App":
        """Return the app.

        Raises:
            PmmError: it cannot be opened now.

        """
        return await self.desk.app()

    async def call(self, *, cwd: str = "", conversation: str = "", request_id: str = "") -> "Call":
        """Return who calls from where, as the ledger records it.

        Raises:
            InvalidArgumentError: an argument is malformed.

        """
        from pmm_mcp.domain.names import as_name, name
        from pmm_mcp.domain.records import Actor, Call

        app = await self.desk.app()
        day = datetime.fromtimestamp(app.clock.now_us() / 1_000_000, UTC)
        grant = "" if self.grant is None else self.grant.name
        return Call(
            actor=Actor(
                kind="agent",
                name=as_name(self.client, otherwise=grant or "client"),
                session=f"{grant or app.session}-{day:%Y%m%d}",
            ),
            place=await app.places.find(cwd.strip() or None),
            conversation=name(conversation, argument="conversation"),
            request_id=name(request_id, argument="request_id"),
        )


def visit_of(desk: Desk, ctx: Context[Any, Any]) -> Visit:
    """Return who is calling, by the client's own word for itself and by its token."""
    params = ctx.session.client_params
    return Visit(
        desk,
        client=params.client_info.name if params is not None else "",
        grant=_grant_of(ctx),
        ask=asker_of(ctx),
    )


def _grant_of(ctx: Context[Any, Any]) -> Grant | None:
    """Return what the token of the HTTP request that carried this call allows."""
    scope = getattr(ctx.request_context.request, "scope", None)
    grant = scope.get(SCOPE_KEY) if isinstance(scope, dict) else None
    return grant if isinstance(grant, Grant) else None
