"""A server whose pmm_status does everything that could spoil the wire."""

import asyncio
import os
import subprocess
import sys
from typing import Any

from pmm_mcp.server.stdio import serve_stdio
from pmm_mcp.services.status import StatusResult, StatusService

quiet = StatusService.status


async def noisy(self: StatusService, **given: Any) -> StatusResult:
    result = await quiet(self, **given)
    return result.model_copy(update={"notice": await asyncio.to_thread(make_noise)})


def make_noise() -> str:
    print("noise: printed", flush=True)
    os.write(1, b"noise: written\n")
    child = subprocess.run(
        ["sh", "-c", "echo noise: of a child; wc -c >&2"], check=True, stderr=subprocess.PIPE
    )
    return f"stdin said {sys.stdin.read()!r}, the child's {child.stderr.decode().strip()} bytes"


StatusService.status = noisy  # type: ignore[method-assign]

if __name__ == "__main__":
    serve_stdio()
