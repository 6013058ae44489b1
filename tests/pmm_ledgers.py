"""Small ledgers of PMM, valid until a test changes them, as its JSON export or its SQLite file."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

Row = dict[str, Any]
Format = Literal["json", "wrapped", "sqlite"]


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def hash_of(row: Row) -> str:
    meta = json.loads(row["meta"]) if isinstance(row["meta"], str) else row["meta"]
    preimage = {"content": row["content"], "kind": row["kind"], "meta": meta, "prev_hash": row["prev_hash"]}
    return sha256(canonical(preimage).encode()).hexdigest()


class PmmLedger:
    """Rows under construction: `add` returns the id, `reseal` makes a changed row's own hash right again."""

    def __init__(self, *, second: int = 0, text_meta: bool = True) -> None:
        self.rows: list[Row] = []
        self._second = second
        self._text_meta = text_meta

    def add(self, kind: str, content: Any = "", *, after: int | None = None, **meta: Any) -> int:
        """Append an event; `after` names another predecessor than the last row, which makes a fork."""
        row_id = len(self.rows) + 1
        previous = self.rows[(after or len(self.rows)) - 1]["hash"] if self.rows else None
        row: Row = {
            "id": row_id,
            "ts": f"2025-11-24T05:{self._second:02}:{row_id % 60:02}.{row_id:06}Z",
            "kind": kind,
            "content": content if isinstance(content, str) else canonical(content),
            "meta": canonical(meta) if self._text_meta else meta,
            "prev_hash": previous,
        }
        self.rows.append(row | {"hash": hash_of(row)})
        return row_id

    def reseal(self, row_id: int) -> None:
        row = self.rows[row_id - 1]
        row["hash"] = hash_of(row)

    def write(self, path: Path, form: Format = "json") -> Path:
        match form:
            case "json":
                path.write_text(json.dumps(self.rows), encoding="utf-8")
            case "wrapped":
                path.write_text(json.dumps({"events": self.rows}), encoding="utf-8")
            case "sqlite":
                write_sqlite(path, self.rows)
        return path


def write_sqlite(path: Path, rows: Sequence[Row]) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, "
            "kind TEXT NOT NULL, content TEXT NOT NULL, meta TEXT NOT NULL, prev_hash TEXT, hash TEXT)"
        )
        db.executemany(
            "INSERT INTO events VALUES (:id, :ts, :kind, :content, :meta, :prev_hash, :hash)",
            [row if isinstance(row["meta"], str) else row | {"meta": canonical(row["meta"])} for row in rows],
        )
        db.commit()


def boot(ledger: PmmLedger) -> None:
    """Add what every PMM ledger begins with; its hash is the same in all of them."""
    ledger.add("config", {"type": "policy"}, source="autonomy_kernel")
    ledger.add("autonomy_rule_table", "{reflection_interval:10}", source="autonomy_kernel")


def say(ledger: PmmLedger, prompt: str, reply: str, **meta: Any) -> tuple[int, int]:
    """Add a turn; return the ids of the prompt and the reply."""
    user = ledger.add("user_message", prompt, role="user")
    return user, ledger.add("assistant_message", reply, about_event=user, role="assistant", **meta)


def small_ledger(*, turns: int = 2, second: int = 0, text_meta: bool = True) -> PmmLedger:
    """A ledger with a bit of everything; `second` tells it from others of the same words."""
    ledger = PmmLedger(second=second, text_meta=text_meta)
    boot(ledger)
    for turn in range(turns):
        token = f"topic.{turn}"
        promise = f"COMMIT: look at part {turn}"
        user, reply = say(ledger, f"What about part {turn}?", promise, model="m", provider="p")
        cid = f"cid{turn:05}"
        opened = ledger.add(
            "commitment_open",
            f"Commitment opened: look at part {turn}",
            cid=cid,
            origin="assistant",
            source="assistant",
            text=f"look at part {turn}",
        )
        ledger.add(
            "concept_define", {"token": token, "concept_kind": "topic", "definition": "d", "version": 1}
        )
        ledger.add("concept_bind_event", {"event_id": user, "tokens": [token], "relation": "relevant_to"})
        ledger.add("metrics_turn", "provider:p,model:m")
        ledger.add("reflection", canonical({"intent": f"part {turn}"}), source="unknown", synth="pmm")
        if turn % 2 == 0:
            ledger.add("commitment_close", f"Commitment closed: {cid}", cid=cid, source="autonomy_kernel")
        ledger.add("claim", f'CLAIM:fact={{"evidence_events":[{reply}],"value":{turn}}}', claim_type="fact")
        ledger.add("inter_ledger_ref", f"REF: other.db#{opened}", verified=False, error="not found")
    return ledger
