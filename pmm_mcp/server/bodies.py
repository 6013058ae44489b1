"""Bodies of requests, mended before the SDK reads them: it refuses one with half a surrogate pair."""

from typing import Final

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pmm_mcp.server.surrogates import cleaned_json

BODY_BYTES_MAX: Final = 4 * 1024 * 1024


class MendedBodies:
    """Hands on every body whole, without lone surrogates; refuses one that is over 4 MiB."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an app."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 413."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = await _whole(scope, receive)
        if body is None:
            await _too_large(scope, receive, send)
            return
        first: Message | None = {"type": "http.request", "body": _mended(body), "more_body": False}

        async def again() -> Message:
            nonlocal first
            message, first = first, None
            return await receive() if message is None else message

        await self._app(scope, again, send)


async def _whole(scope: Scope, receive: Receive) -> bytes | None:
    """Read the body; None when it is longer than allowed, which may show before it is read."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:16]) > BODY_BYTES_MAX:
            return None
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            return None
        more = message.get("more_body", False)
    return bytes(body)


def _mended(body: bytes) -> bytes:
    r"""Return a body of the same length; `\ud` is ASCII, so bytes can be read as characters and back."""
    if b"\\ud" not in body and b"\\uD" not in body:
        return body
    return cleaned_json(body.decode("latin-1")).encode("latin-1")


async def _too_large(scope: Scope, receive: Receive, send: Send) -> None:
    answer = {
        "code": "too_large",
        "message": f"the request is over {BODY_BYTES_MAX} bytes",
        "hint": "Split it into several calls.",
        "retryable": False,
    }
    await JSONResponse(answer, status_code=413, headers={"Connection": "close"})(scope, receive, send)
