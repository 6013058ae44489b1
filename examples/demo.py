"""A short life of one memory: `make demo`.

Spawns the server as a client would, over stdio, and tells what happens on the terminal. Without
settings it needs no model and no network; with PMM_MCP_MODEL and a key, or OLLAMA_HOST, the turn is
answered by the real model.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from rich.console import Console

PYTHON = sys.executable
REAL_LEDGER = Path(
    os.environ.get("PMM_MCP_SHARED", Path(__file__).resolve().parents[2] / "shared"),
    "data",
    "pmm-session-ledger.json",
)
HAS_REAL_LEDGER = REAL_LEDGER.exists()
RECORDS_EACH = 50

console = Console(highlight=False, width=110)


class Story:
    """Tells the steps and checks what each must show."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.numbers: list[tuple[str, str]] = []

    def chapter(self, title: str) -> None:
        console.print(f"\n[bold]{title}[/bold]")

    def tell(self, text: str) -> None:
        console.print(f"  {text}", markup=False, soft_wrap=True)

    def check(self, claim: str, *, holds: bool) -> None:
        console.print(f"  [green]✓[/green] {claim}" if holds else f"  [red]✗ {claim}[/red]")
        if not holds:
            self.failed.append(claim)


@asynccontextmanager
async def server(environment: dict[str, str], cwd: Path) -> AsyncGenerator[Client, None]:
    """Start a server process as an IDE does, and close it again."""
    parameters = StdioServerParameters(command=PYTHON, args=["-m", "pmm_mcp"], env=environment, cwd=cwd)
    async with Client(parameters, read_timeout_seconds=120) as client:
        yield client


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; an error ends the demo with what it says."""
    result = await client.call_tool(tool, arguments)
    answer: dict[str, Any] = result.structured_content or {}
    if result.is_error:
        raise SystemExit(f"{tool}: {json.dumps(answer, ensure_ascii=False)}")
    return answer


async def everything(client: Client, **search: Any) -> set[str]:
    """Page through all that a search finds."""
    found: set[str] = set()
    cursor = ""
    while True:
        page = await ask(client, "pmm_search", limit=50, cursor=cursor, **search)
        found |= {hit["id"] for hit in page["results"]}
        cursor = page.get("next_cursor", "")
        if not cursor:
            return found


async def main() -> int:
    story = Story()
    with tempfile.TemporaryDirectory(prefix="pmm-demo-") as folder:
        home = Path(folder)
        environment = os.environ | {
            "PMM_MCP_DB": str(home / "ledger.db"),
            "PMM_MCP_LOG_DIR": str(home / "logs"),
            "PMM_MCP_TOOLSETS": "all",
        }
        started = time.perf_counter()
        async with server(environment, home) as client:
            await wake_up(story, client, started)
            await remember(story, client)
            await one_turn(story, client)
            await own_turn(story, client)
            await bring_in(story, client, environment, home)
            await two_windows(story, client, environment, home)
        await restart(story, environment, home)
        story.numbers.append(("ledger on disk", f"{(home / 'ledger.db').stat().st_size / 1000:.0f} kB"))
    console.print()
    for name, figure in story.numbers:
        console.print(f"  {name:<28} {figure}")
    if story.failed:
        console.print(f"\n[red]✗ {len(story.failed)} of the checks failed[/red]")
        return 1
    console.print("\n[green]✓ everything holds[/green]")
    return 0


async def wake_up(story: Story, client: Client, started: float) -> None:
    story.chapter("An agent opens its window and wakes up")
    status = await ask(client, "pmm_status")
    story.numbers.append(("spawn to first answer", f"{time.perf_counter() - started:.2f} s"))
    story.tell(status["wake_up"])
    story.check(f"protocol {client.protocol_version}, version {status['version']}", holds=True)


async def remember(story: Story, client: Client) -> None:
    story.chapter("It records what it has seen, and finds it again")
    pieces = {
        "The nightly job gen-itgc fails with E1042 when the export has no header row.": "ci/nightly.log",
        'Decided: the parser says "missing header" instead of guessing, since a guess cost us March.': "",
        "parseHeader in src/export/reader.py is called twice; the second call sees an empty stream.": "",
    }
    for content, source in pieces.items():
        recorded = await ask(client, "pmm_record", content=content, source=source, importance=3)
        story.tell(f"{recorded['id']}  {content}")
    again = await ask(client, "pmm_record", content=next(iter(pieces)), source="ci/nightly.log", importance=3)
    story.check("the same evidence again is a duplicate, not a second fact", holds=again["duplicate"])
    for query in ("gen-itgc", 'why "missing header" — and don\'t guess', "header reader"):
        found = (await ask(client, "pmm_search", query=query))["results"]
        story.tell(f"search {query!r}: {', '.join(hit['id'] for hit in found)}")
        story.check("found", holds=bool(found))


async def one_turn(story: Story, client: Client) -> None:
    story.chapter("The user speaks with the mind")
    began = time.perf_counter()
    turn = await ask(client, "pmm_turn", prompt="Why does gen-itgc fail?")
    story.numbers.append(("one turn, model included", f"{1000 * (time.perf_counter() - began):.0f} ms"))
    story.tell(f"{turn.get('model')}: {turn['assistant'] or turn['generation_status']}")
    story.check("the turn is complete", holds=turn["generation_status"] == "complete")
    story.check("its context cited the evidence", holds=bool(turn["context"]["items"]))


async def own_turn(story: Story, client: Client) -> None:
    story.chapter("The agent is the model: it begins a turn, thinks, and finishes it")
    begun = await ask(client, "pmm_turn_begin", prompt="Then fix gen-itgc, please.")
    cited = (await ask(client, "pmm_search", query="gen-itgc header", kinds=["evidence"]))["results"][0]["id"]
    reply = "\n".join(
        (
            "I will make the parser say what is missing.",
            "COMMIT: make parseHeader fail loudly",
            f'CLAIM:fact={{"subject":"gen-itgc","value":"needs a header row","evidence":["{cited}"]}}',
            "CLAIM:fact=this is no JSON",
        )
    )
    finished = await ask(client, "pmm_turn_finish", turn=begun["turn"], reply=reply, model="demo")
    opened = finished["opened"]
    story.tell(f"opened {opened[0]['id']}: {opened[0]['text']}" if opened else "nothing opened")
    story.check(
        "one commitment opened, one claim accepted", holds=len(opened) == len(finished["claims"]) == 1
    )
    failures = finished["validation_failures"]
    story.check(
        "the malformed claim is one failure and drops nothing else",
        holds=[failure["reason"] for failure in failures] == ["INVALID_CLAIM_JSON"],
    )
    begun = await ask(client, "pmm_turn_begin", prompt="Done?")
    story.check("the next turn is shown the failed line", holds="INVALID_CLAIM_JSON" in begun["context"])
    reply = f"It does.\nCLOSE: {opened[0]['id']} = parseHeader raises MissingHeader"
    closed = (await ask(client, "pmm_turn_finish", turn=begun["turn"], reply=reply))["closed"]
    story.check(
        "the commitment is closed, with its outcome", holds=len(closed) == 1 and "outcome" in closed[0]
    )


async def bring_in(story: Story, client: Client, environment: dict[str, str], home: Path) -> None:
    story.chapter("A mind that lived elsewhere moves in")
    if not HAS_REAL_LEDGER:
        story.tell("(skipped: no PMM ledger at hand; set PMM_MCP_SHARED)")
        return
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        PYTHON, "-m", "pmm_mcp", "--json", "import", "pmm", str(REAL_LEDGER),
        env=environment, cwd=home, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    spent = time.perf_counter() - began
    story.check("verified by its own formula and imported", holds=process.returncode == 0)
    if process.returncode != 0:
        return
    report = json.loads(output)
    story.tell(f"{report['total']} events, {report['mapped']} of them ours now, forks at {report['forks']}")
    story.numbers.append(("import of a real ledger", f"{report['total']} events in {spent:.2f} s"))
    turn = await ask(client, "pmm_turn", prompt="Who is Scott, the creator of the Persistent Mind Model?")
    story.check("the next turn cites what moved in", holds=bool(turn["context"]["items"]))


async def two_windows(story: Story, client: Client, environment: dict[str, str], home: Path) -> None:
    story.chapter("A second window opens, and both write at once")

    async def write(window: Client, name: str) -> float:
        slowest = 0.0
        for n in range(RECORDS_EACH):
            began = time.perf_counter()
            await ask(window, "pmm_record", content=f"{name} saw thing {n}", labels=[name])
            slowest = max(slowest, time.perf_counter() - began)
        return slowest

    async with server(environment, home) as second:
        began = time.perf_counter()
        slowest = max(await asyncio.gather(write(client, "left"), write(second, "right")))
        spent = time.perf_counter() - began
        for name in ("left", "right"):
            found = await everything(second, query="saw thing", label=name)
            story.check(f"all {RECORDS_EACH} of {name} are there", holds=len(found) == RECORDS_EACH)
    story.numbers.append(("two windows", f"{2 * RECORDS_EACH / spent:.0f} writes/s, slowest {slowest:.3f} s"))


async def restart(story: Story, environment: dict[str, str], home: Path) -> None:
    story.chapter("The windows close, a new one opens: is it all there, and is it true?")
    async with server(environment, home) as client:
        found = (await ask(client, "pmm_search", query="gen-itgc"))["results"]
        story.check("the evidence survived", holds=bool(found))
        began = time.perf_counter()
        verified = await ask(client, "pmm_ledger_verify", projections=True)
        spent = time.perf_counter() - began
    story.check(
        f"{verified['checked']} events: every hash, link, text and read table verified", holds=verified["ok"]
    )
    story.numbers.append(("verified, read models replayed", f"{verified['checked']} events in {spent:.2f} s"))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
