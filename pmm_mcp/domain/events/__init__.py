"""The closed set of event kinds, as one union told apart by `kind`."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, cast, get_args

from pydantic import ConfigDict, Field, TypeAdapter

from pmm_mcp.domain.events.base import EventBody
from pmm_mcp.domain.events.cards import CardEvent
from pmm_mcp.domain.events.knowledge import KnowledgeEvent
from pmm_mcp.domain.events.ledger import LedgerEvent
from pmm_mcp.domain.events.memory import MemoryEvent
from pmm_mcp.domain.events.mind import MindEvent
from pmm_mcp.domain.events.review import ReviewEvent
from pmm_mcp.domain.events.turn import TurnEvent
from pmm_mcp.domain.events.upcast import upcast

Event = LedgerEvent | TurnEvent | MindEvent | MemoryEvent | KnowledgeEvent | CardEvent | ReviewEvent

EVENT_TYPES: Final[Mapping[str, type[EventBody]]] = {
    event.model_fields["kind"].default: event for event in get_args(Event)
}

_UNKNOWN: Final[TypeAdapter[Event]] = TypeAdapter(
    Annotated[Event, Field(discriminator="kind")], config=ConfigDict(defer_build=True)
)
"""Has the words for what is no kind of ours; the shape of a known one is asked directly, as it is needed."""


def decode(kind: str, body: Mapping[str, Any]) -> Event:
    """Return the event a record holds, brought up to today's shape.

    Raises:
        pydantic.ValidationError: no event kind has this shape.

    """
    shape, event = EVENT_TYPES.get(kind), {"kind": kind, **upcast(kind, body)}
    return _UNKNOWN.validate_python(event) if shape is None else cast("Event", shape.model_validate(event))
