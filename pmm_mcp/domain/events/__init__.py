"""The closed set of event kinds, as one union told apart by `kind`."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args

from pydantic import Field, TypeAdapter

from pmm_mcp.domain.events.base import EventBody
from pmm_mcp.domain.events.ledger import LedgerEvent
from pmm_mcp.domain.events.memory import MemoryEvent
from pmm_mcp.domain.events.mind import MindEvent
from pmm_mcp.domain.events.turn import TurnEvent
from pmm_mcp.domain.events.upcast import upcast

Event = LedgerEvent | TurnEvent | MindEvent | MemoryEvent

EVENT_TYPES: Final[Mapping[str, type[EventBody]]] = {
    event.model_fields["kind"].default: event for event in get_args(Event)
}

_EVENT: Final[TypeAdapter[Event]] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def decode(kind: str, body: Mapping[str, Any]) -> Event:
    """Return the event a record holds, brought up to today's shape.

    Raises:
        pydantic.ValidationError: no event kind has this shape.

    """
    return _EVENT.validate_python({"kind": kind, **upcast(kind, body)})
