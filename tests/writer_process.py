"""A process of its own that writes to a ledger, and says on its output what happened; run by tests.

    python -m tests.writer_process PATH MODE [COUNT] [TTL_S]

It prints a line for every acknowledged write: `ack SEQ MILLISECONDS`; for a failed one: `error CODE`.
"""

import asyncio
import sys
import time
from pathlib import Path

from pmm_mcp.domain.errors import PmmError
from pmm_mcp.domain.records import Actor, Call
from pmm_mcp.ledger.sqlite.ledger import SqliteLedger, open_ledger
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from pmm_mcp.ports import Transaction
from pmm_mcp.system import SystemClock, SystemIds
from tests.ledgers import note

CALL = Call(actor=Actor(kind="agent", name="process", session="one"))


def say(*words: object) -> None:
    print(*words, flush=True)


async def told() -> str:
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


async def write_one(ledger: SqliteLedger, text: str) -> None:
    began = time.monotonic()
    try:
        seq = await ledger.write(note(text), call=CALL)
    except PmmError as error:
        say("error", error.code)
    else:
        say("ack", seq, round((time.monotonic() - began) * 1000))


async def keep(ledger: SqliteLedger) -> None:
    """Keep the lease, and write whenever told to."""
    async with ledger.keep_lease():
        say("ready")
        while text := await told():
            await write_one(ledger, text)


async def stay_inside(ledger: SqliteLedger) -> None:
    """Stay in the middle of a write until told to go on."""

    def work(tx: Transaction) -> int:
        seq = note("inside")(tx)
        say("ready")
        sys.stdin.readline()
        return seq

    say("ack", await ledger.write(work, call=CALL), 0)


async def main(path: str, mode: str, count: str = "1", ttl_s: str = "30") -> None:
    settings = WriterSettings(lease_ttl_s=float(ttl_s))
    async with open_ledger(
        Path(path), clock=SystemClock(), ids=SystemIds(), role=mode, settings=settings
    ) as ledger:
        match mode:
            case "keep":
                await keep(ledger)
            case "inside":
                await stay_inside(ledger)
            case "burst":
                say("ready")
                await asyncio.gather(*(write_one(ledger, f"{n}") for n in range(int(count))))
            case _:
                say("ready")
                for n in range(int(count)):
                    await write_one(ledger, f"{n}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
