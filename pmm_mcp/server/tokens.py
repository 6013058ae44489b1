"""Bearer tokens: who may come in over HTTP, and how far. Only their digests are kept, in a file."""

import asyncio
import hmac
import logging
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.domain.names import NAME_PATTERN

logger = logging.getLogger(__name__)

SCOPE_KEY: Final = "pmm_mcp.grant"
"""Where a request carries what its token allows."""

_SHAPE: Final = (
    'a JSON list of {"name": "…", "token_sha256": "…", "scopes": ["read", "write"]}, '
    'perhaps with "ledger"; token_sha256 is the SHA-256 of a token, in lower-case hex'
)

OPEN_PATHS: Final = frozenset(("/health",))
"""What is answered without a token."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows: always to read, perhaps to write, perhaps only one ledger."""

    name: str
    may_write: bool
    ledger: str = ""


class _Token(BaseModel):
    """A row of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    token_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    scopes: Annotated[frozenset[Literal["read", "write"]], Field(min_length=1)]
    ledger: str = ""

    def grant(self) -> Grant:
        return Grant(self.name, may_write="write" in self.scopes, ledger=self.ledger)


_FILE: Final = TypeAdapter(list[_Token])


class TokenFile:
    """The tokens of a file, read again whenever it changes; while it cannot be read, nobody is let in."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path
        self._stamp: tuple[int, ...] = ()
        self._tokens: tuple[_Token, ...] = ()

    def load(self) -> None:
        """Read the file.

        Raises:
            InvalidArgumentError: it is missing or malformed.

        """
        self._stamp, self._tokens = (), ()
        try:
            stamp = _stamp(self._path)
            tokens = tuple(_FILE.validate_json(self._path.read_bytes()))
        except OSError as error:
            raise InvalidArgumentError(
                f"the token file {self._path} cannot be read: {error.strerror}",
                hint=f"Make one: {_SHAPE}.",
            ) from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "file"
            raise InvalidArgumentError(
                f"the token file {self._path} is malformed: {where}: {first['msg']}",
                hint=f"It is {_SHAPE}.",
            ) from error
        self._stamp, self._tokens = stamp, tokens

    async def grant(self, token: str) -> Grant | None:
        """Return what a token allows, or None when it is not one of ours."""
        await asyncio.to_thread(self._refresh)
        if not token:
            return None
        presented = sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        # Every row is compared, in constant time: how long it takes tells nothing.
        matching = [row for row in self._tokens if hmac.compare_digest(row.token_sha256, presented)]
        return matching[0].grant() if matching else None

    def _refresh(self) -> None:
        try:
            if _stamp(self._path) != self._stamp:
                self.load()
        except OSError:
            self._stamp, self._tokens = (), ()
        except InvalidArgumentError as error:
            logger.error("nobody is let in: %s", error)


class TokenGate:
    """Lets only requests with a known token through, and tells the server what that token allows."""

    def __init__(self, app: ASGIApp, tokens: TokenFile) -> None:
        """Stand before an app."""
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 401."""
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            grant = await self._tokens.grant(_bearer(scope))
            if grant is None:
                await _refused(scope, receive, send)
                return
            scope[SCOPE_KEY] = grant
        await self._app(scope, receive, send)


def _bearer(scope: Scope) -> str:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _refused(scope: Scope, receive: Receive, send: Send) -> None:
    answer = {
        "code": "unauthorized",
        "message": "this server needs a bearer token it knows",
        "hint": "Send `Authorization: Bearer TOKEN`; whoever runs the server lists tokens in its token file.",
        "retryable": False,
    }
    response = JSONResponse(answer, status_code=401, headers={"WWW-Authenticate": 'Bearer realm="pmm-mcp"'})
    await response(scope, receive, send)


def _stamp(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
