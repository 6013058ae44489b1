"""Ledgers written by every earlier release must verify with this one: their bytes and hashes never change."""

import json
from pathlib import Path
from typing import Any

from pmm_mcp.domain.admission import Admitted
from pmm_mcp.domain.anchors import Anchor
from pmm_mcp.domain.chain import GENESIS, record_hash, text_digest
from pmm_mcp.domain.events.decoding import decode
from pmm_mcp.domain.mapping import encode
from pmm_mcp.domain.records import Actor, Call, Draft

GOLDEN = Path(__file__).parents[1] / "golden" / "chain_v1.json"


def chain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write these events after one another; say which bytes and which hashes come of it."""
    link, written = GENESIS, []
    for seq, row in enumerate(rows, start=1):
        texts = row.get("texts", {})
        salts = {field: bytes([seq]) * 16 for field in texts}
        event = decode(row["kind"], row["body"])
        call = Call(actor=Actor(**row["actor"]))
        draft = Draft(
            event,
            {field: Admitted(text) for field, text in texts.items()},
            turn=row.get("turn"),
            anchor=Anchor(row["anchor"]),
            conversation=row.get("conversation", ""),
        )
        record = encode(
            draft,
            call=call,
            seq=seq,
            ts=row["ts"],
            fence=row["fence"],
            prev_hash=link,
            request_id=row.get("request_id", ""),
            digests={
                field: text_digest(salt=salts[field], seq=seq, field=field, text=text)
                for field, text in texts.items()
            },
        )
        link = record_hash(record).hex()
        written.append({"record": record.decode(), "hash": link})
    return written


def test_hashes_never_change(update_golden: bool) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))

    actual = chain(golden["events"])

    if update_golden:
        golden["chain"] = actual
        GOLDEN.write_text(json.dumps(golden, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert actual == golden["chain"]


def test_the_golden_chain_holds_every_kind_of_shape() -> None:
    events = json.loads(GOLDEN.read_text(encoding="utf-8"))["events"]

    assert {"turn", "texts", "conversation", "request_id"} <= {name for event in events for name in event}
    assert any(
        ord(character) > 0xFFFF
        for event in events
        for text in event.get("texts", {}).values()
        for character in text
    )
