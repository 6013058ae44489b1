"""Serving: over stdio, or where --http or --sse say."""

from pathlib import Path
from typing import Annotated

import typer

from pmm_mcp.cli.commands import Visit, add, settings_at
from pmm_mcp.domain.errors import InvalidArgumentError


def serve(
    visit: Visit,
    *,
    http: Annotated[str, typer.Option(metavar="HOST:PORT", help="Serve Streamable HTTP there.")] = "",
    sse: Annotated[str, typer.Option(metavar="HOST:PORT", help="Serve SSE there, for older clients.")] = "",
    token_file: Annotated[
        Path | None, typer.Option(help="Who may call: names, token digests, scopes.")
    ] = None,
    allowed_host: Annotated[
        list[str], typer.Option(metavar="HOST", help="A name it may be called by; repeatable.")
    ] = [],  # noqa: B006 - never changed
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer only tools that read.")] = False,
    toolsets: Annotated[str, typer.Option(help="Toolsets to offer, separated by commas.")] = "",
) -> None:
    """Serve the memory to an agent: over stdio, unless an address is given."""
    if http and sse:
        raise InvalidArgumentError("--http and --sse at once", hint="Start one server for each.")
    if not (http or sse) and (token_file or allowed_host):
        raise InvalidArgumentError(
            "--token-file and --allowed-host are for a server with an address", hint="Add --http HOST:PORT."
        )
    settings = settings_at(visit.db, read_only=read_only or None, toolsets=toolsets or None)
    settings.chosen_toolsets()
    visit.serve(settings, http=http, sse=sse, token_file=token_file, allowed_hosts=allowed_host)


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, serve)
