"""Properties of any history: rebuilt equals live, everything verifies, every record is canonical."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.canonical import canonical
from pmm_mcp.domain.chain import GENESIS, text_digest
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.events.mind import ClaimAccepted, CommitmentClosed, CommitmentOpened, Reflection
from pmm_mcp.domain.events.turn import AssistantMessage, GenerationFailure, UserMessage
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.domain.mapping import decode, encode
from pmm_mcp.domain.normalise import normalise
from pmm_mcp.domain.records import Actor, Draft
from pmm_mcp.ledger.sqlite.ledger import SqliteLedger, open_ledger
from pmm_mcp.ports import Transaction
from pmm_mcp.queries import events
from tests.clocks import ManualClock, SeededIds
from tests.ledgers import AGENT, HUMAN, history, outcomes, redact

EXAMPLES = getattr(settings.default, "max_examples", 50)
RUNTIME = Actor(kind="runtime", name="ledger", session="one")

texts = st.text(max_size=60).map(lambda text: normalise(text).value)
keys = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
leaves = st.integers(-SEQ_MAX, SEQ_MAX) | st.booleans() | texts
bodies = st.dictionaries(
    keys,
    st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)
    ),
    max_size=6,
)


@given(bodies)
def test_our_encoder_writes_canonical_json(body: dict[str, Any]) -> None:
    assert canonical(body) == rfc8785.dumps(body)


@given(
    content=texts,
    labels=st.lists(st.from_regex(r"[A-Za-zäß0-9_.-]{1,20}", fullmatch=True), max_size=3),
    seq=st.integers(1, SEQ_MAX),
)
def test_a_record_is_canonical_and_says_what_was_written(content: str, labels: list[str], seq: int) -> None:
    digest = text_digest(salt=bytes(16), seq=seq, field="content", text=content)
    draft = Draft(EvidenceRecorded(labels=tuple(labels)), {"content": Admitted(content)}, turn=7)

    data = encode(
        draft,
        call=AGENT,
        seq=seq,
        ts="2026-01-01T00:00:00.000000Z",
        fence=3,
        prev_hash=GENESIS,
        request_id="r",
        digests={"content": digest},
    )
    record = decode(data, bytes(32), {"content": content})

    assert data == rfc8785.dumps(orjson.loads(data))
    assert (record.event, record.seq, record.turn, record.request_id) == (draft.event, seq, 7, "r")
    assert (record.actor, dict(record.texts)) == (AGENT.actor, {"content": content})


# ------------------------------------------------------------------------------------ histories


@dataclass(frozen=True)
class Command:
    """One write: what it appends, whether it then fails, and who of two processes does it."""

    what: str
    text: str
    pick: int
    fails: bool
    writer: int


commands = st.builds(
    Command,
    what=st.sampled_from(
        ("evidence", "promise", "close", "claim", "reflect", "prompt", "reply", "failure", "redact")
    ),
    text=st.sampled_from(("", "short", "getUserName 漢字かな", "twice. " * 40)) | texts,
    pick=st.integers(0, 50),
    fails=st.booleans(),
    writer=st.integers(0, 1),
)


def drafts(command: Command, tx: Transaction) -> Sequence[Draft]:
    text = {"text": Admitted(command.text)}
    some = command.pick % max(1, tx.next_seq - 1) + 1
    match command.what:
        case "evidence":
            labels = ("a", "b")[: command.pick % 3]
            return [Draft(EvidenceRecorded(labels=labels), {"content": text["text"], "source": text["text"]})]
        case "promise":
            return [Draft(CommitmentOpened(origin="human"), {"commitment": text["text"]})]
        case "close":
            return [Draft(CommitmentClosed(commitment=some, origin="human"), {"outcome": text["text"]})]
        case "claim":
            return [Draft(ClaimAccepted(type="fact"), {"subject": text["text"], "payload": text["text"]})]
        case "reflect":
            return [Draft(Reflection(origin="model"), {"reflection": text["text"]})]
        case "prompt":
            return [Draft(UserMessage(), {"prompt": text["text"]}, conversation="c")]
        case "reply":
            return [Draft(AssistantMessage(latency_ms=3), {"reply": text["text"]}, turn=some)]
        case _:
            failure = GenerationFailure(status="empty", reason="none")
            return [Draft(failure, {"partial": text["text"]}, turn=some, actor=RUNTIME)]


async def run(ledger: SqliteLedger, command: Command) -> None:
    def work(tx: Transaction) -> None:
        if command.what == "redact":
            target = tx.ask(events.by_seq(command.pick % max(1, tx.next_seq - 1) + 1))
            if (
                target is not None
                and target.kind == "evidence_recorded"
                and target.texts["content"] is not None
            ):
                redact(target.seq)(tx)
        else:
            tx.append(*drafts(command, tx))
        if command.fails:
            raise LookupError("on purpose")

    await ledger.write(work, call=HUMAN)


async def live(groups: list[list[Command]]) -> None:
    clock = ManualClock()
    with TemporaryDirectory() as directory:
        async with AsyncExitStack() as stack:
            path = Path(directory, "l.db")
            writers = [
                await stack.enter_async_context(open_ledger(path, clock=clock, ids=SeededIds(str(n))))
                for n in (0, 1)
            ]
            for group in groups:
                ended = await outcomes(run(writers[command.writer], command) for command in group)
                for command, answer in zip(group, ended, strict=True):
                    assert answer.ok != command.fails, answer.error
            found = await writers[0].verify(projections=True)
            assert found.problems == ()
            before = await history(writers[1])
            await writers[1].rebuild()
            found = await writers[0].verify(projections=True)
            assert found.problems == ()
            assert await history(writers[0]) == before
            assert len(before) == found.head


@settings(max_examples=EXAMPLES // 2)  # each syncs a disk a dozen times
@given(st.lists(st.lists(commands, min_size=1, max_size=5), max_size=5))
def test_live_equals_rebuilt_and_everything_verifies(groups: list[list[Command]]) -> None:
    """Over random histories, with failing writes inside a group, removed texts, and two writers in turn."""
    asyncio.run(live(groups))
