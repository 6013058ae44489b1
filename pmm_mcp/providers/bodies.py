"""Bodies of bounded size: a server that never stops sending must not fill the memory.

OpenAI's client speaks httpx2 and Ollama's httpx; the two agree in what is used here, so `http` is either.
"""

import json
import re
from typing import Any, Final
from urllib.parse import urlsplit

from pmm_mcp.providers.settings import ProviderSettings

BODY_BYTES_MAX: Final = 8 * 1024 * 1024
"""Enough for a reply of 1 MiB in the longest spelling JSON knows, six bytes for one."""
ERROR_BYTES_MAX: Final = 64 * 1024
CONNECT_LIMIT_S: Final = 5.0

_ERRORS_FROM: Final = 400
_CONTENT: Final = re.compile(rb'"content"\s*:\s*"((?:[^"\\]++|\\u[0-9A-Fa-f]{4}|\\[^u])*+)')
_LENGTHS: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class BodyTooLargeError(Exception):
    """A server sent more than anyone may; `head` is its beginning."""

    def __init__(self, head: bytes) -> None:
        """Keep what came so far."""
        super().__init__("the body is too large")
        self.head = head


class BoundedTransport:
    """A transport that reads every body itself, up to a limit, as it comes."""

    def __init__(self, http: Any, inner: Any) -> None:
        """Wrap the transport `inner` of the library `http`."""
        self._http = http
        self._inner = inner

    async def handle_async_request(self, request: Any) -> Any:
        """Return the response with its whole body, unpacked.

        Raises:
            BodyTooLargeError: it is no error message, and longer than any reply.

        """
        response = await self._inner.handle_async_request(request)
        try:
            body = await _read(response)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name not in _LENGTHS]
        return self._http.Response(
            response.status_code, headers=headers, content=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()

    async def __aenter__(self) -> "BoundedTransport":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._inner.__aexit__(*error)


def client_options(http: Any, url: str, settings: ProviderSettings) -> dict[str, Any]:
    """Return what the HTTP client for this server is built with."""
    inner = http.AsyncHTTPTransport(proxy=_proxy(url, settings))
    return {
        "transport": BoundedTransport(http, inner),
        "timeout": http.Timeout(settings.timeout_s, connect=min(CONNECT_LIMIT_S, settings.timeout_s)),
        "trust_env": False,
    }


def content_of(head: bytes) -> str:
    """Return the reply in the beginning of a body that never ended."""
    found = _CONTENT.search(head)
    if found is None:
        return ""
    try:
        return str(json.loads(f'"{found[1].decode("utf-8", "ignore")}"', strict=False))
    except ValueError:
        return ""


async def _read(response: Any) -> bytes:
    is_error = response.status_code >= _ERRORS_FROM
    limit = ERROR_BYTES_MAX if is_error else BODY_BYTES_MAX
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > limit:
            if is_error:
                return bytes(body[:limit])
            raise BodyTooLargeError(bytes(body[:limit]))
    return bytes(body)


def _proxy(url: str, settings: ProviderSettings) -> str | None:
    """Return the proxy the environment names for this server; one on this machine is reached directly."""
    parts = urlsplit(url)
    host, scheme = parts.hostname or "", parts.scheme
    if host in {"localhost", "::1", "0.0.0.0"} or host.startswith("127."):  # noqa: S104 - compared, not bound
        return None
    direct = [name.strip().lstrip(".") for name in settings.setting("no_proxy", "NO_PROXY").split(",")]
    if any(name and (name == "*" or f".{host}".endswith(f".{name}")) for name in direct):
        return None
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    return settings.setting(*names) or None
