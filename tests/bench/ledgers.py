"""Ledgers of any size, as a year of coding agents may leave them behind; made once, kept in .bench/ledgers.

Words follow Zipf's law: function words first, then a vocabulary made of syllables, camelCase names among
it. The same size is always the same ledger, hash by hash.
"""

import os
import random
import shutil
import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from hashlib import sha256
from itertools import accumulate, product
from pathlib import Path
from typing import Final

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor, Place
from pmm_mcp.domain.events.memory import EvidenceRecorded
from pmm_mcp.domain.events.mind import ClaimAccepted, CommitmentClosed, CommitmentOpened, Reflection
from pmm_mcp.domain.events.turn import (
    AssistantMessage,
    RetrievalSelection,
    Selected,
    TurnMetrics,
    UserMessage,
)
from pmm_mcp.domain.records import Actor, Call, Draft
from pmm_mcp.ledger.sqlite.ledger import open_ledger
from pmm_mcp.ledger.sqlite.schema import MIGRATIONS, create_read_tables
from pmm_mcp.ports import Transaction
from pmm_mcp.projections import PROJECTIONS
from tests.bench.report import RESULTS
from tests.clocks import ManualClock, SeededIds

FORMAT: Final = 1
"""Raise it when the ledgers made here change."""

FULL: Final = bool(os.environ.get("BENCH_FULL"))
SIZES: Final = (100, 10_000, 100_000, *((1_000_000,) if FULL else ()))
DOCUMENTS: Final = (10_000, 100_000, *((1_000_000,) if FULL else ()))
LARGE: Final = 100_000

PLACE: Final = Place(
    worktree=Anchor("worktree:///bench/checkout"), repo=Anchor("repo://example.com/bench/checkout")
)
AGENT: Final = Actor(kind="agent", name="bench", session="s")
MODEL: Final = Actor(kind="model", name="scripted:bench", session="s")
RUNTIME: Final = Actor(kind="runtime", name="turn", session="s")
CALL: Final = Call(actor=AGENT, place=PLACE, conversation="c0")

VOCABULARY: Final = 20_000
EVENTS_A_WRITE: Final = 480
TURNS_A_CONVERSATION: Final = 20
OPEN_COMMITMENTS: Final = 15
_EVENTS_A_TURN_MAX: Final = 11
_EVENTS_A_DOCUMENT: Final = 1.7
_FIELDS: Final = ("general", "build", "network", "parser", "storage", "tests", "release", "api")
_FUNCTION_WORDS: Final = (
    "the of and to in a is that for it was on are as with be this at by from or have an not they which but "
    "we can what when there all how if will other so then into more some could only do my over your has its "
    "than who about up out these them would no should"
)


class Words:
    """Texts of words as frequent as words are; the same seed says the same."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self._words = (*_FUNCTION_WORDS.split(), *_vocabulary())
        self._weights = tuple(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))

    def some(self, shortest: int, longest: int) -> list[str]:
        count = self.random.randint(shortest, longest)
        return self.random.choices(self._words, cum_weights=self._weights, k=count)

    def text(self, shortest: int, longest: int) -> str:
        """Sentences of a dozen words."""
        words = self.some(shortest, longest)
        sentences = (" ".join(words[n : n + 12]) for n in range(0, len(words), 12))
        return ". ".join(sentence.capitalize() for sentence in sentences) + "."


def _vocabulary() -> Iterator[str]:
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    shuffled = random.Random("vocabulary")
    spellings: dict[str, None] = {}
    while len(spellings) < VOCABULARY:
        word = "".join(shuffled.choices(syllables, k=shuffled.randint(2, 4)))
        is_name = len(spellings) % 40 == 0
        spellings[word + "".join(shuffled.choices(syllables, k=2)).capitalize() if is_name else word] = None
    return iter(spellings)


class Life:
    """What happens in a ledger, turn by turn."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.turns = 0
        self.documents = 0
        self._promised: deque[int] = deque()

    def live(self, tx: Transaction, *, events: int = 0, documents: int = 0) -> bool:
        """Append turns until a write is full, or there is enough: then say so by False."""
        while len(tx.appended) <= EVENTS_A_WRITE - _EVENTS_A_TURN_MAX:
            if tx.next_seq > events if events else self.documents >= documents:
                return False
            self._turn(tx)
        return True

    def _turn(self, tx: Transaction) -> None:
        chance = self.words.random.random
        conversation = f"c{self.turns // TURNS_A_CONVERSATION}"
        seen = [self._say(tx, self._evidence()) for _ in range(2) if chance() < 0.3]
        prompt = Draft(
            UserMessage(model="scripted:bench", deadline_us=tx.now_us),
            {"prompt": Admitted(self.words.text(5, 40))},
            actor=AGENT,
            conversation=conversation,
        )
        turn = self._say(tx, prompt)

        def say(event: object, **texts: str) -> int:
            admitted = {name: Admitted(text) for name, text in texts.items()}
            runtime = isinstance(event, RetrievalSelection | TurnMetrics)
            draft = Draft(
                event,  # type: ignore[arg-type]
                admitted,
                turn=turn,
                actor=RUNTIME if runtime else MODEL,
                conversation=conversation,
            )
            return self._say(tx, draft, is_document=bool(texts))

        say(AssistantMessage(model="scripted:bench", latency_ms=900), reply=self.words.text(15, 80))
        if chance() < 0.3:
            subject = " ".join(self.words.some(2, 4))
            payload = f'{{"subject":"{subject}","value":"{self.words.text(3, 15)}"}}'
            say(ClaimAccepted(type="fact", evidence=tuple(seen) or (turn,)), subject=subject, payload=payload)
        if chance() < 0.25:
            self._promised.append(
                say(CommitmentOpened(origin="model"), commitment=f"{self.words.text(4, 16)} {turn}")
            )
        if len(self._promised) > OPEN_COMMITMENTS:
            say(CommitmentClosed(commitment=self._promised.popleft(), origin="model"))
        if chance() < 0.05:
            say(Reflection(origin="model"), reflection=f'{{"next":"{self.words.text(10, 40)}"}}')
        selected = sorted({self.words.random.randint(1, turn) for _ in range(8)})
        say(
            RetrievalSelection(
                watermark=turn,
                selected=tuple(Selected(doc=doc, score=900_000, lexical=900_000) for doc in selected),
                tokens=900,
            )
        )
        say(TurnMetrics(model_ms=900, prompt_tokens=1_400, system_tokens=1_200, reply_tokens=140))
        self.turns += 1

    def _evidence(self) -> Draft:
        choose = self.words.random
        event = EvidenceRecorded(
            field=choose.choice(_FIELDS),
            importance=choose.choice((0, 0, 0, 0, 1, 2, 3, 4, 5)),
            labels=tuple({self.words.some(1, 1)[0] for _ in range(choose.randint(0, 2))}),
        )
        return Draft(event, {"content": Admitted(self.words.text(8, 50))}, actor=AGENT)

    def _say(self, tx: Transaction, draft: Draft, *, is_document: bool = True) -> int:
        self.documents += is_document
        return tx.append(draft)[0].seq


async def ledger_of(*, events: int = 0, documents: int = 0) -> Path:
    """Return the ledger of about so many events, or with about so many documents. Copy it before writing."""
    path = RESULTS / "ledgers" / _shape() / _name(events=events, documents=documents)
    if not path.exists():
        await _make_all(path.parent)
    return path


async def copy_of(source: Path, target: Path) -> Path:
    """Return a copy that may be written to, opened once: the ledger has noticed that it was moved."""
    shutil.copyfile(source, target)
    async with open_ledger(target, clock=ManualClock(), ids=SeededIds(target.name), role="bench"):
        return target


async def _make_all(folder: Path) -> None:
    """Let one life grow, and take a copy at each size."""
    if folder.parent.exists():
        shutil.rmtree(folder.parent)
    growing = folder / "growing" / "ledger.db"
    growing.parent.mkdir(parents=True)
    life, clock = Life(Words("life")), ManualClock()
    sizes = [{"events": events} for events in SIZES] + [{"documents": documents} for documents in DOCUMENTS]
    for number, size in enumerate(sorted(sizes, key=_rank)):
        ids = SeededIds(f"bench {number}")
        async with open_ledger(growing, clock=clock, ids=ids, role="bench") as ledger:
            work = partial(life.live, **size)
            while await ledger.write(work, call=CALL):
                clock.advance(3_600)
        shutil.copyfile(growing, folder / _name(**size))
    shutil.rmtree(growing.parent)


def _rank(size: Mapping[str, int]) -> float:
    return size.get("events", 0) or size["documents"] * _EVENTS_A_DOCUMENT


def _name(*, events: int = 0, documents: int = 0) -> str:
    return f"{events}-events.db" if events else f"{documents}-documents.db"


def _shape() -> str:
    """Name the format of the files: ours, and that of the program that writes them."""
    with closing(sqlite3.connect(":memory:")) as db:
        for step in MIGRATIONS:
            step(db)
        create_read_tables(db, PROJECTIONS)
        statements = db.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    versions = [(name, projection.VERSION) for name, projection in PROJECTIONS.items()]
    return sha256(repr((FORMAT, versions, statements)).encode()).hexdigest()[:12]
