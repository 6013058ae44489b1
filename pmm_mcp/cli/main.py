"""The commands together, and the one place where errors become exit codes."""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.main import get_command

from pmm_mcp import __version__
from pmm_mcp.cli import (
    adoption,
    card,
    commands,
    context,
    embed,
    exporting,
    fact,
    importing,
    install,
    knowledge,
    ledger,
    memory,
    place,
    research,
    retrieval,
    review,
    reviewer,
    serve,
    settings,
    turn,
    withdraw,
)
from pmm_mcp.cli.commands import Options, Serve
from pmm_mcp.cli.terminal import Terminal, ready_streams
from pmm_mcp.domain.errors import (
    InvalidInputError,
    LedgerBusyError,
    LedgerUnavailableError,
    ModelUnavailableError,
    PmmError,
    ReadOnlyError,
    RequestIdConflictError,
)

INTERRUPTED: Final = 130
_GROUPS: Final = (
    serve,
    ledger,
    memory,
    context,
    embed,
    withdraw,
    knowledge,
    card,
    review,
    reviewer,
    adoption,
    research,
    retrieval,
    fact,
    place,
    turn,
    importing,
    exporting,
    settings,
    install,
)


def run(arguments: Sequence[str], *, serve: Serve) -> NoReturn:
    """Run a command and exit."""
    sys.exit(main(arguments, serve=serve))


def main(arguments: Sequence[str], *, serve: Serve) -> int:
    """Run a command; return 0 fine, 1 a check failed, 2 wrong usage, 3 the ledger is unavailable."""
    ready_streams()
    terminal = Terminal(json="--json" in arguments)
    try:
        code = _program()(list(arguments), prog_name="pmm-mcp", standalone_mode=False, obj=Options(serve))
    except PmmError as error:
        terminal.fail(code=error.code, message=str(error), hint=error.hint or "")
        return _exit_code(error)
    except typer.TyperException as error:
        terminal.fail(code="usage", message=error.format_message(), hint=_usage(error))
        return 2
    except typer.Abort:
        return INTERRUPTED
    except OSError as error:  # A full disk behind stdout, a file that cannot be read.
        terminal.fail(code="io_error", message=str(error), hint="Nothing was changed in the ledger by this.")
        return 1
    return code if isinstance(code, int) else 0


@cache
def _program() -> Callable[..., Any]:
    program = typer.Typer(
        help="A governed, hash-chained memory for coding agents. Without a command it serves over stdio.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    program.callback()(_for_every_command)
    for group in _GROUPS:
        group.add_to(program)
    return get_command(program)


def _for_every_command(
    context: typer.Context,
    *,
    db: commands.Db = "",
    cwd: commands.Cwd = "",
    as_json: commands.AsJson = False,
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    context.obj = Options(context.obj.serve, db=db, cwd=cwd, as_json=as_json)
    if version:
        sys.stdout.write(f"pmm-mcp {__version__}\n")
        raise typer.Exit


def _exit_code(error: PmmError) -> int:
    match error:
        case LedgerUnavailableError() | LedgerBusyError() | ReadOnlyError():
            return 3
        case InvalidInputError() | RequestIdConflictError() | ModelUnavailableError():
            return 2
        case _:
            return 1


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    return f"`{context.command_path if context else 'pmm-mcp'} --help` lists what there is."
