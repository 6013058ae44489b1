"""Serving over HTTP: Streamable HTTP for today's clients, SSE for older ones."""

import asyncio
import ipaddress
import os
import re
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from pmm_mcp import __version__
from pmm_mcp.config import Settings
from pmm_mcp.domain.errors import InvalidArgumentError, PmmError
from pmm_mcp.server.app import Server, build_server
from pmm_mcp.server.bodies import MendedBodies
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.logs import log_to_file
from pmm_mcp.server.opening import opening
from pmm_mcp.server.tokens import TokenFile, TokenGate

CLOSE_S_MAX: Final = 3
"""How long requests may go on after the server was asked to end; then they are cancelled."""

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_PORT_MAX: Final = 65_535
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. A host in brackets is an IPv6 address."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `host:port`.

        Raises:
            InvalidArgumentError: it is something else.

        """
        host, _, port = text.strip().rpartition(":")
        if (
            not _HOST.fullmatch(host)
            or not port.isascii()
            or not port.isdecimal()
            or int(port[:6]) > _PORT_MAX
        ):
            raise InvalidArgumentError(
                f"{text[:80]!r} is no address to listen on", hint="Use host:port, such as 127.0.0.1:8848."
            )
        return cls(host, int(port))

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    def listen(self) -> socket.socket:
        """Return a socket that listens there.

        Raises:
            InvalidArgumentError: the address cannot be had.

        """
        family = socket.AF_INET6 if self.host.startswith("[") else socket.AF_INET
        # With the protocol named: asyncio switches Nagle's delay of 40 ms off only for sockets that say TCP.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if os.name == "posix":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((self.host.strip("[]"), self.port))
            listening.listen(128)
        except OSError as error:
            listening.close()
            raise InvalidArgumentError(
                f"cannot listen on {self.host}:{self.port}: {error.strerror or error}",
                hint="Choose another address.",
            ) from error
        return listening


def serve_http(
    settings: Settings, *, address: str, sse: bool, token_file: Path | None, allowed_hosts: Sequence[str]
) -> None:
    """Serve at `/mcp`, or with `sse` at `/sse` and `/messages/`, until a signal comes.

    Raises:
        InvalidArgumentError: the address is open to other machines and it is not said who may come in, or
            something that was given is malformed.

    """
    where = Address.parse(address)
    if not where.local and (token_file is None or not allowed_hosts):
        raise InvalidArgumentError(
            f"{where.host} can be reached from other machines",
            hint="Give --token-file and --allowed-host, or listen on 127.0.0.1.",
        )
    security = _security(allowed_hosts)
    tokens = None if token_file is None else TokenFile(token_file)
    if tokens is not None:
        tokens.load()
    roots, toolsets = _roots(settings), settings.chosen_toolsets()
    log_to_file(settings)
    desk = Desk(opening(settings, role="server over HTTP", roots=roots))
    server = build_server(desk, toolsets=toolsets, read_only=settings.read_only)
    _add_health(server, desk)
    app = _application(server, sse=sse, security=security, tokens=tokens)
    with where.listen() as listening:
        port = listening.getsockname()[1]
        sys.stderr.write(f"pmm-mcp: serving http://{where.host}:{port}/{'sse' if sse else 'mcp'}\n")
        sys.stderr.flush()
        asyncio.run(_serve(app, desk, listening))


async def _serve(app: ASGIApp, desk: Desk, listening: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=CLOSE_S_MAX,
    )
    async with desk:
        await _Uvicorn(config).serve(sockets=[listening])


class _Uvicorn(uvicorn.Server):
    """Ends on a signal, and does not raise it again afterwards: that was a clean end."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


def _application(
    server: Server, *, sse: bool, security: TransportSecuritySettings, tokens: TokenFile | None
) -> ASGIApp:
    app: ASGIApp = (
        server.sse_app(sse_path="/sse", message_path="/messages/", transport_security=security)
        if sse
        else server.streamable_http_app(
            streamable_http_path="/mcp", json_response=True, stateless_http=True, transport_security=security
        )
    )
    app = MendedBodies(app)
    return app if tokens is None else TokenGate(app, tokens)


async def health(desk: Desk) -> JSONResponse:
    """Say whether the ledger can be read; nothing about what it holds."""
    try:
        app = await desk.app()
        await app.ledger.state()
    except PmmError as error:
        return JSONResponse({"ok": False, "code": error.code, "version": __version__}, status_code=503)
    return JSONResponse({"ok": True, "version": __version__})


def _add_health(server: Server, desk: Desk) -> None:
    async def answer(_request: Request) -> Response:
        return await health(desk)

    server.custom_route("/health", methods=["GET"])(answer)


def _security(allowed_hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the names under which this server answers, against pages that rebind a name to it."""
    for host in allowed_hosts:
        if not _HOST.fullmatch(host):
            raise InvalidArgumentError(
                f"--allowed-host: {host[:80]!r} is no host",
                hint="Give a name alone, such as memory.example.org.",
            )
    hosts = [*_LOOPBACK, *allowed_hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for host in hosts for form in (host, f"{host}:*")],
        allowed_origins=[
            f"{scheme}://{form}"
            for host in hosts
            for form in (host, f"{host}:*")
            for scheme in ("http", "https")
        ],
    )


def _roots(settings: Settings) -> tuple[Path, ...]:
    """Return the directories below which a call's cwd counts; without any, calls are in no project."""
    roots = [Path(part.strip()) for part in settings.roots.split(os.pathsep) if part.strip()]
    for root in roots:
        if not root.is_absolute():
            raise InvalidArgumentError(
                f"PMM_MCP_ROOTS: {str(root)[:80]!r} is not an absolute path",
                hint=f"Give absolute paths, separated by {os.pathsep!r}.",
            )
    return tuple(roots)
