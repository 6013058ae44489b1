"""Between events and the bytes that are stored: the one place that knows the shape of a record."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from pmm_mcp.domain.canonical import canonical
from pmm_mcp.domain.errors import TooLargeError
from pmm_mcp.domain.events.decoding import decode as decode_event
from pmm_mcp.domain.records import Actor, Call, Draft, Recorded

RECORD_BYTES_MAX: Final = 65_536


def encode(
    draft: Draft,
    *,
    call: Call,
    seq: int,
    ts: str,
    fence: int,
    prev_hash: str,
    request_id: str,
    digests: Mapping[str, str],
) -> bytes:
    """Return the canonical bytes of the record of an event; absent fields are left out.

    Raises:
        TooLargeError: they are more than 64 KiB.

    """
    actor = draft.actor or call.actor
    anchor = call.place.home if draft.anchor is None else draft.anchor
    conversation = call.conversation if draft.conversation is None else draft.conversation
    record: dict[str, Any] = {
        "seq": seq,
        "ts": ts,
        "kind": draft.event.kind,
        "actor": {"kind": actor.kind, "name": actor.name, "session": actor.session},
        "anchor": anchor,
        "fence": fence,
        "prev_hash": prev_hash,
        "body": draft.event.body(),
    }
    optional = {
        "conversation": conversation,
        "turn": draft.turn,
        "request_id": request_id,
        "texts": dict(digests),
    }
    data = canonical(record | {name: value for name, value in optional.items() if value})
    if len(data) > RECORD_BYTES_MAX:
        raise TooLargeError(
            f"a {draft.event.kind} would need {len(data)} bytes of {RECORD_BYTES_MAX}",
            hint="Name fewer things in one call.",
        )
    return data


def decode(record: bytes, record_hash: bytes, texts: Mapping[str, str]) -> Recorded:
    """Return the event that stored bytes hold; a text that is missing from `texts` was removed."""
    data = orjson.loads(record)
    return Recorded(
        seq=data["seq"],
        ts=data["ts"],
        kind=data["kind"],
        actor=_actor(**data["actor"]),
        anchor=data["anchor"],
        conversation=data.get("conversation", ""),
        fence=data["fence"],
        turn=data.get("turn"),
        request_id=data.get("request_id", ""),
        event=decode_event(data["kind"], data["body"]),
        texts={field: texts.get(field) for field in data.get("texts", ())},
        hash=record_hash,
    )


# The same few write nearly everything.
_actor = lru_cache(maxsize=256)(Actor)
