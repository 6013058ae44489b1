"""What a command is: a plain function of a visit and its options; binding adds what every command has."""

import asyncio
import inspect
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import typer

from pmm_mcp.bootstrap import App, open_app
from pmm_mcp.cli.terminal import Answer, Terminal, silence_stdout
from pmm_mcp.config import Settings, load_settings
from pmm_mcp.domain.errors import LedgerUnavailableError
from pmm_mcp.domain.names import name
from pmm_mcp.domain.records import Actor, Call

ROLE: Final = "command line"

Command = Callable[..., Answer | Awaitable[Answer | None] | None]

AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON document and nothing else.")]
Db = Annotated[str, typer.Option("--db", metavar="PATH", help="The ledger's file, an absolute path.")]
Cwd = Annotated[str, typer.Option("--cwd", metavar="DIR", help="The directory whose memory this is about.")]


class Serve(Protocol):
    """Starts a server; handed in by the program's entry, since the command line knows no server."""

    def __call__(
        self,
        settings: Settings,
        *,
        http: str,
        sse: str,
        token_file: Path | None,
        allowed_hosts: Sequence[str],
    ) -> None:
        """Serve until told to stop."""


@dataclass(frozen=True, slots=True)
class Options:
    """What can be said once, before the command, for all of them."""

    serve: Serve
    db: str = ""
    cwd: str = ""
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One command: what it may use, and where it writes. The first argument of every command.

    `db` and `cwd` are what was said on the command line; `cwd` is absolute, and empty when nothing was.
    """

    terminal: Terminal
    serve: Serve
    settings: Settings
    db: str = ""
    cwd: str = ""

    def expect_ledger(self) -> None:
        """Let nobody verify, or read, a ledger that comes into being by a slip of the pen.

        Raises:
            LedgerUnavailableError: there is none yet.

        """
        path = self.settings.db
        if path.is_absolute() and not path.exists():
            raise LedgerUnavailableError(
                f"there is no ledger at {path}",
                hint="`pmm-mcp init` creates it; --db or PMM_MCP_DB name another.",
            )

    @asynccontextmanager
    async def app(self, settings: Settings | None = None) -> AsyncGenerator[App, None]:
        """Open the app for the block."""
        async with open_app(settings or self.settings, role=ROLE) as app:
            yield app

    async def call(self, app: App, *, conversation: str = "", request_id: str = "") -> Call:
        """Return who calls from where, as the ledger records it.

        Raises:
            InvalidArgumentError: an argument is malformed.

        """
        return Call(
            actor=Actor(kind="human", name="cli", session=f"cli-{app.session}"),
            place=await app.places.find(self.cwd or None),
            conversation=name(conversation, argument="conversation"),
            request_id=name(request_id, argument="request_id"),
        )


def add(group: typer.Typer, function: Command, name: str = "", *, reads: bool = False) -> None:
    """Offer a function as a command; with `reads` it never creates a ledger."""
    group.command(name or function.__name__, help=inspect.getdoc(function))(_bind(function, reads=reads))


def _bind(function: Command, *, reads: bool) -> Callable[..., int]:
    """Fill in the visit; what remains, and what every command has, is the signature typer sees."""

    def command(context: typer.Context, *, as_json: bool, db: str, cwd: str, **arguments: Any) -> int:
        said: Options = context.find_root().obj
        db, cwd = db or said.db, cwd or said.cwd
        visit = Visit(
            terminal=Terminal(json=as_json or said.as_json),
            serve=said.serve,
            settings=settings_at(db),
            db=db,
            cwd=os.path.abspath(cwd) if cwd else "",
        )
        try:
            if reads:
                visit.expect_ledger()
            answer = function(visit, **arguments)
            if inspect.iscoroutine(answer):
                answer = asyncio.run(answer)
            return visit.terminal.show(answer) if isinstance(answer, Answer) else 0
        except BrokenPipeError:  # `| head` has seen enough, which is no failure.
            silence_stdout()
            return 0

    own = inspect.signature(function, eval_str=True).parameters.values()
    parameters = [*_SHARED[:1], *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *_SHARED[1:]]
    parameters = [parameter for parameter in parameters if parameter.annotation is not Visit]
    command.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def settings_at(db: str, **given: Any) -> Settings:
    """Return the settings, with the ledger and whatever else was given on the command line.

    Raises:
        InvalidArgumentError: a value is not allowed.

    """
    return load_settings(db=Path(db) if db else None, **given)


def _shared(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


_SHARED: Final = (
    _shared("context", typer.Context),
    _shared("as_json", AsJson, default=False),
    _shared("db", Db, default=""),
    _shared("cwd", Cwd, default=""),
)
