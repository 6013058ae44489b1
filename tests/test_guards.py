"""The guards of `conftest.py` do guard."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockingError

import pmm_mcp

PACKAGE = Path(pmm_mcp.__file__).parent


async def test_a_package_function_that_sleeps_on_the_loop_fails() -> None:
    names: dict[str, Any] = {}
    source = "import time\ndef nap(): time.sleep(0)"
    exec(compile(source, str(PACKAGE / "imagined.py"), "exec"), names)

    with pytest.raises(BlockingError, match=r"time\.sleep"):
        names["nap"]()

    await asyncio.to_thread(names["nap"])


async def test_another_machine_is_out_of_reach(no_network: list[str]) -> None:
    with pytest.raises(RuntimeError, match=r"192\.0\.2\.1"):
        await asyncio.open_connection("192.0.2.1", 80)
    with pytest.raises(RuntimeError, match=r"example\.org"):
        await asyncio.open_connection("example.org", 80)

    assert no_network == ["192.0.2.1", "example.org"]
    no_network.clear()


async def test_loopback_is_within_reach() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"here\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port, family=socket.AF_INET)
        assert await reader.readline() == b"here\n"
        writer.close()
        await writer.wait_closed()
