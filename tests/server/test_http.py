"""The server over HTTP: both eras, both transports, who may come in, and what it makes of a body."""

import asyncio
import json
import socket
import sqlite3
import subprocess
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pmm_mcp.config import load_settings
from pmm_mcp.domain.errors import InvalidArgumentError
from pmm_mcp.server.desk import Desk
from pmm_mcp.server.http import Address, health, serve_http
from tests.server.rooms import MODES, ask, opened, refused, settings_at
from tests.server.site import Site, write_tokens

WRITER = {"scopes": ["read", "write"]}
READER = {"scopes": ["read"]}
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pmm_status","arguments":{}}}'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def tokens(home: Path) -> Path:
    path = home / "tokens.json"
    write_tokens(path, {"writer": WRITER, "reader": READER, "stranger": {**READER, "ledger": "another"}})
    return path


@pytest.fixture(scope="module")
def project(home: Path) -> Path:
    path = home / "projects" / "one"
    path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def site(home: Path, tokens: Path, project: Path) -> Generator[Site]:
    site = Site(home, tokens=tokens, roots=project.parent)
    try:
        yield site
        assert site.stop() == 0
    finally:
        site.discard()


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_works_over_streamable_http(site: Site, mode: str) -> None:
    async with site.client(mode, "writer") as client:
        recorded = await ask(client, "pmm_record", content=f"Said over HTTP, {mode}.")
        item = (await ask(client, "pmm_get", id=recorded["id"]))["item"]
        found = await ask(client, "pmm_search", query=f"HTTP {mode}")
        turn = await ask(client, "pmm_turn", prompt="what was said over HTTP?")
        (content,) = (await client.read_resource("pmm://wake-up")).contents

    assert item["actor"]["session"].startswith("writer-")
    assert recorded["id"] in {one["id"] for one in found["results"]}
    assert turn["generation_status"] == "complete"
    assert "ledger holds events" in getattr(content, "text", "")


async def test_clients_of_both_eras_work_over_sse(tmp_path: Path) -> None:
    old, new = MODES
    site = await asyncio.to_thread(Site, tmp_path, kind="sse")
    try:
        async with site.client(old) as one, site.client(new) as other:
            recorded = await ask(one, "pmm_record", content="Said over SSE.")
            found = await ask(other, "pmm_search", query="SSE")
        async with site.client(old) as later:
            assert (await ask(later, "pmm_status"))["head"] == found["head"]
        assert [one_found["id"] for one_found in found["results"]] == [recorded["id"]]
        assert site.stop() == 0
    finally:
        site.discard()


async def test_a_token_that_may_only_read_reads_and_no_more(site: Site) -> None:
    async with site.client("legacy", "reader") as client:
        status = await ask(client, "pmm_status")
        refusals = [
            await refused(client, "pmm_record", content="no"),
            await refused(client, "pmm_turn", prompt="no"),
            await refused(client, "pmm_turn_begin", prompt="no"),
        ]
        after = await ask(client, "pmm_status")

    assert {refusal["code"] for refusal in refusals} == {"read_only"}
    assert status["head"] == after["head"]


async def test_a_token_for_another_ledger_gets_nothing_of_this_one(site: Site) -> None:
    async with site.client("2026-07-28", "stranger") as client:
        refusal = await refused(client, "pmm_search", query="said")
        with pytest.raises(Exception, match="another ledger"):
            await client.read_resource("pmm://wake-up")

    assert refusal["code"] == "ledger_unavailable"


@pytest.mark.parametrize("header", ["", "Bearer nobody", "Basic writer", "Bearer", "writer", "Bearer é"])
def test_without_a_known_token_nobody_comes_in(site: Site, header: str) -> None:
    headers = [(b"Content-Type", b"application/json"), (b"Authorization", header.encode("latin-1"))]
    answer = httpx2.post(site.url, content=CALL, headers=headers if header else headers[:1])

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="pmm-mcp"'
    assert answer.json()["code"] == "unauthorized"


def test_health_needs_no_token_and_says_nothing_about_the_ledger(site: Site) -> None:
    answer = httpx2.get(f"{site.base}/health")

    assert answer.status_code == 200
    assert set(answer.json()) == {"ok", "version"}


async def test_health_says_when_the_ledger_cannot_be_read(tmp_path: Path) -> None:
    settings = await settings_at(tmp_path, db=tmp_path)
    async with Desk(lambda: opened(settings)) as desk:
        answer = await health(desk)

    assert answer.status_code == 503
    assert json.loads(bytes(answer.body))["code"] == "ledger_unavailable"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "memory.test"}, 200),
        ({"Host": "memory.test:443", "Origin": "https://memory.test"}, 200),
        ({"Host": "evil.test"}, 421),
        ({"Host": "127.0.0.1.evil.test:80"}, 421),
        ({"Origin": "https://evil.test"}, 403),
        ({"Content_Type": "text/plain"}, 400),
    ],
)
def test_a_page_that_rebinds_a_name_is_turned_away(site: Site, headers: dict[str, str], status: int) -> None:
    assert site.post(CALL, token="writer", **headers).status_code == status


def test_pain_10_half_a_surrogate_pair_in_a_body_is_recorded_as_a_replacement(site: Site) -> None:
    recorded = site.call_raw(
        "pmm_record", r'{"content":"half \ud800 of one, all of \ud83c\udf78, é"}', token="writer"
    )
    item = site.call_raw("pmm_get", json.dumps({"id": recorded["id"]}), token="writer")["item"]
    refusal = site.call_raw("pmm_search", r'{"query":"x","\udc00key":1}', token="writer")

    assert item["texts"]["content"] == "half \ufffd of one, all of 🍸, é"
    assert "\ufffdkey" in refusal["message"]


def test_pain_12_a_nul_in_a_body_is_taken_out(site: Site) -> None:
    recorded = site.call_raw("pmm_record", r'{"content":"over\u0000 HTTP"}', token="writer")
    item = site.call_raw("pmm_get", json.dumps({"id": recorded["id"]}), token="writer")["item"]

    assert item["texts"]["content"] == "over HTTP"


def test_a_body_over_four_mebibytes_is_refused_whether_or_not_it_says_so(site: Site) -> None:
    large = b"[" + b" " * (4 * 1024 * 1024) + b"]"

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(large), 65_536):
            yield large[start : start + 65_536]

    assert site.post(large, token="writer").status_code == 413
    assert site.post(pieces(), token="writer").status_code == 413
    assert site.post(CALL, token="writer").status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"\\ud800"', b"\xff\\ud800", b"[" * 100_000])
def test_a_body_that_is_no_request_is_answered(site: Site, body: bytes) -> None:
    assert 400 <= site.post(body, token="writer").status_code < 500


def test_a_call_is_in_a_project_only_below_a_root(site: Site, project: Path, tmp_path: Path) -> None:
    inside = site.call_raw("pmm_status", json.dumps({"cwd": str(project)}), token="writer")
    outside = site.call_raw("pmm_status", json.dumps({"cwd": str(tmp_path)}), token="writer")
    nowhere = site.call_raw("pmm_status", "{}", token="writer")

    assert inside["place"]["worktree"] == f"worktree://{project}"
    assert outside["place"] == nowhere["place"] == {"repo": "repo://unscoped"}
    assert "not below a directory this server may look into" in outside["notice"]


def test_sigterm_closes_the_turn_that_is_running(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "late", "delay_s": 60}]))
    site = Site(tmp_path, model=f"scripted:{script}", turn_patience_s=0.2)
    try:
        running = site.call_raw("pmm_turn", '{"prompt":"think long"}')
        code = site.stop()
    finally:
        site.discard()

    assert running["generation_status"] == "running"
    assert code == 0
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as db:
        assert db.execute("SELECT status FROM turns").fetchall() == [("interrupted",)]


@pytest.mark.parametrize(
    "given",
    [
        {"address": "0.0.0.0:0"},
        {"address": "0.0.0.0:0", "allowed_hosts": ["memory.test"]},
        {"address": "[::]:0", "token_file": "tokens.json"},
        {"address": "192.0.2.1:80"},
        {"address": "memory.test:80"},
        {"address": "8848"},
        {"address": ":8848"},
        {"address": "127.0.0.1:"},
        {"address": "127.0.0.1:99999"},
        {"address": "http://127.0.0.1:80"},
        {"address": "127.0.0.1:0", "allowed_hosts": ["https://memory.test/"]},
        {"address": "127.0.0.1:0", "token_file": "missing.json"},
        {"address": "127.0.0.1:0", "token_file": "malformed.json"},
    ],
    ids=str,
)
def test_it_does_not_start_where_anyone_could_come_in(tmp_path: Path, given: dict[str, Any]) -> None:
    write_tokens(tmp_path / "tokens.json", {"writer": WRITER})
    (tmp_path / "malformed.json").write_text(
        '[{"name": "x", "token_sha256": "not a digest", "scopes": ["read"]}]'
    )
    token_file = tmp_path / given["token_file"] if "token_file" in given else None
    settings = load_settings(db=tmp_path / "l.db", log_dir=tmp_path)

    with pytest.raises(InvalidArgumentError) as caught:
        serve_http(
            settings,
            address=given["address"],
            sse=False,
            token_file=token_file,
            allowed_hosts=given.get("allowed_hosts", ()),
        )

    assert caught.value.hint
    assert not (tmp_path / "l.db").exists()


def test_an_address_that_is_taken_is_refused() -> None:
    with Address.parse("127.0.0.1:0").listen() as listening:
        taken = Address("127.0.0.1", listening.getsockname()[1])
        with pytest.raises(InvalidArgumentError, match="cannot listen"):
            taken.listen()


def test_the_socket_says_tcp_so_that_asyncio_turns_nagle_off() -> None:
    with Address.parse("127.0.0.1:0").listen() as listening:
        assert listening.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("text", "local"),
    [("127.0.0.1:1", True), ("[::1]:1", True), ("localhost:1", True), ("10.0.0.1:1", False)],
)
def test_what_is_loopback(text: str, local: bool) -> None:
    assert Address.parse(text).local is local
