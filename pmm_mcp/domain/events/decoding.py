"""From a stored kind and body to the event they are."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, cast

from pydantic import ConfigDict, Field, TypeAdapter

from pmm_mcp.domain.events import EVENT_TYPES, Event
from pmm_mcp.domain.events.upcast import upcast

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
