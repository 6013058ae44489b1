"""The closed set of event kinds, as one union told apart by `kind`."""

from collections.abc import Mapping
from typing import Final, get_args

from pmm_mcp.domain.events.adoption import AdoptionEvent
from pmm_mcp.domain.events.base import EventBody
from pmm_mcp.domain.events.cards import CardEvent
from pmm_mcp.domain.events.knowledge import KnowledgeEvent
from pmm_mcp.domain.events.ledger import LedgerEvent
from pmm_mcp.domain.events.memory import MemoryEvent
from pmm_mcp.domain.events.mind import MindEvent
from pmm_mcp.domain.events.retrieval import RetrievalEvent
from pmm_mcp.domain.events.review import ReviewEvent
from pmm_mcp.domain.events.turn import TurnEvent

Event = (
    LedgerEvent
    | TurnEvent
    | MindEvent
    | MemoryEvent
    | KnowledgeEvent
    | CardEvent
    | ReviewEvent
    | AdoptionEvent
    | RetrievalEvent
)

EVENT_TYPES: Final[Mapping[str, type[EventBody]]] = {
    event.model_fields["kind"].default: event for event in get_args(Event)
}
