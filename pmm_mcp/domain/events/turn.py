"""Events of a turn: a prompt, its one end, and what was measured on the way."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from pmm_mcp.domain.events.base import Code, Count, EventBody, Integer, Name, Seq

FailureStatus = Literal["truncated", "empty", "indeterminate", "transport_error", "interrupted"]


class UserMessage(EventBody):
    """A prompt was put to the mind; it opens a turn, named by its seq."""

    kind: Literal["user_message"] = "user_message"
    v: Literal[1] = 1
    model: Name | None = None
    holder: Name | None = None
    """The process that answers it; absent when the caller answers by itself, or the turn was imported."""
    deadline_us: Count = 0
    texts: ClassVar = ("prompt",)


class AssistantMessage(EventBody):
    """The reply that ended a turn, as the model wrote it."""

    kind: Literal["assistant_message"] = "assistant_message"
    v: Literal[1] = 1
    model: Name | None = None
    quotation: bool = False
    """The offline provider's quotation of the ledger: not indexed, without effects."""
    latency_ms: Count = 0
    texts: ClassVar = ("reply",)


class GenerationFailure(EventBody):
    """The turn ended without a complete reply."""

    kind: Literal["generation_failure"] = "generation_failure"
    v: Literal[1] = 1
    status: FailureStatus
    reason: Code
    category: Code | None = None
    model: Name | None = None
    size_bytes: Count = 0
    latency_ms: Count = 0
    texts: ClassVar = ("partial",)


class LateReply(EventBody):
    """A reply that came after its turn had ended; kept, without effects."""

    kind: Literal["late_reply"] = "late_reply"
    v: Literal[1] = 1
    model: Name | None = None
    texts: ClassVar = ("reply",)


class ValidationFailure(EventBody):
    """A line of a reply that was meant to have an effect and has none, and why."""

    kind: Literal["validation_failure"] = "validation_failure"
    v: Literal[1] = 1
    reason: Code
    line: Count
    """Its number in the reply, from 1."""
    texts: ClassVar = ("line", "detail")


class Selected(BaseModel):
    """One document that was looked at, and what each step of the ranking made of it, in millionths.

    `total` is (lexical + heading + meaning + neighbours) × factor + conversation, and `score` its share of
    the best total; a `factor` of 0 means that the steps were not recorded. A part of `neighbours` may stand
    in for those that a document does not have.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    doc: Seq
    score: Integer
    lexical: Integer
    heading: Integer = 0
    meaning: Integer = 0
    neighbours: Integer = 0
    factor: Integer = 0
    conversation: Integer = 0
    total: Integer = 0


class RetrievalSelection(EventBody):
    """What the context of a turn was made of."""

    kind: Literal["retrieval_selection"] = "retrieval_selection"
    v: Literal[1] = 1
    watermark: Seq
    selected: tuple[Selected, ...] = ()
    pairs: tuple[Seq, ...] = ()
    commitments: tuple[Seq, ...] = ()
    guidance: tuple[Seq, ...] = ()
    """The governed knowledge among it, in its order."""
    passed_over: tuple[Selected, ...] = ()
    """The best of what was looked at, and not shown."""
    ranking: Count = 0
    """The version of the ranking; 0 where its steps were not recorded."""
    vectors: Name | None = None
    """The set of vectors that served."""
    tokens: Count


class TurnMetrics(EventBody):
    """What a turn cost."""

    kind: Literal["turn_metrics"] = "turn_metrics"
    v: Literal[1] = 1
    model_ms: Count
    prompt_tokens: Count
    system_tokens: Count
    reply_tokens: Count


TurnEvent = (
    UserMessage | AssistantMessage | GenerationFailure | LateReply
    | ValidationFailure | RetrievalSelection | TurnMetrics
)  # fmt: skip
