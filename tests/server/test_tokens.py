"""The token file, and the gate it guards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.server.tokens import SCOPE_KEY, TokenFile, TokenGate
from tests.server.site import bearer, write_tokens

WRITER = {"scopes": ["read", "write"]}


async def who(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the name of the token a request was let in with."""
    grant = Request(scope).scope.get(SCOPE_KEY)
    await PlainTextResponse("nobody" if grant is None else grant.name)(scope, receive, send)


def gate(tokens: Path) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(TokenGate(who, TokenFile(tokens)))
    return httpx2.AsyncClient(transport=transport, base_url="http://gate")


async def asked(client: httpx2.AsyncClient, token: str, path: str = "/mcp") -> str:
    answer = await client.get(path, headers=bearer(token))
    return answer.text if answer.status_code == 200 else str(answer.status_code)


async def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    write_tokens(tokens, {"old": WRITER})
    async with gate(tokens) as client:
        assert (await asked(client, "old"), await asked(client, "new")) == ("old", "401")

        write_tokens(tokens, {"new": WRITER})
        assert (await asked(client, "old"), await asked(client, "new")) == ("401", "new")


@pytest.mark.parametrize("broken", ["[", "{}", None], ids=["cut", "no_list", "gone"])
async def test_while_the_file_cannot_be_read_nobody_is_let_in(tmp_path: Path, broken: str | None) -> None:
    tokens = tmp_path / "tokens.json"
    write_tokens(tokens, {"mine": WRITER})
    async with gate(tokens) as client:
        assert await asked(client, "mine") == "mine"
        tokens.unlink() if broken is None else tokens.write_text(broken)
        assert await asked(client, "mine") == "401"
        write_tokens(tokens, {"mine": WRITER})
        assert await asked(client, "mine") == "mine"


async def test_health_alone_is_open(tmp_path: Path) -> None:
    write_tokens(tmp_path / "tokens.json", {"mine": WRITER})
    async with gate(tmp_path / "tokens.json") as client:
        assert await asked(client, "", "/health") == "nobody"
        assert await asked(client, "", "/mcp") == "401"
        assert await asked(client, "", "/health/../mcp") == "401"


@pytest.mark.parametrize(
    "row",
    [
        {"scopes": []},
        {"scopes": ["admin"]},
        {"scopes": "read"},
        {"scopes": ["read"], "token_sha256": "ABC"},
        {"scopes": ["read"], "name": "two\nlines"},
        {"scopes": ["read"], "secret": "x"},
        {},
    ],
    ids=str,
)
def test_a_row_that_is_not_understood_is_refused(tmp_path: Path, row: Mapping[str, Any]) -> None:
    write_tokens(tmp_path / "tokens.json", {"mine": row})

    with pytest.raises(InvalidArgumentError, match="malformed"):
        TokenFile(tmp_path / "tokens.json").load()


def test_a_missing_file_is_described(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot be read") as caught:
        TokenFile(tmp_path / "tokens.json").load()

    assert '"token_sha256"' in str(caught.value.hint)
