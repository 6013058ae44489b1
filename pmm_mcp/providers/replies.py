"""What a model's answer is worth: pure readings of what a server sent."""

from typing import Final

from pmm_mcp.ports import ModelReply, ReplyStatus

REPLY_BYTES_MAX: Final = 1024 * 1024
_TOKENS_MAX: Final = 2**53 - 1

_MEANINGS: Final[dict[str, tuple[ReplyStatus, str]]] = {
    "stop": ("complete", ""),
    "length": ("truncated", "length"),
    "content_filter": ("indeterminate", "content_filter"),
    "refusal": ("indeterminate", "refusal"),
}


def finished(
    text: str, *, finish: object, prompt_tokens: object = None, reply_tokens: object = None
) -> ModelReply:
    """Return the reply a server gave, judged by the reason it says it stopped for."""
    kept, overlong = _within_limit(text)
    status, reason = _meaning(finish)
    if status == "complete" and not kept.strip():
        status, reason = "empty", "empty"
    elif overlong:
        status, reason = "truncated", "too_large"
    return ModelReply(
        status=status,
        text=kept,
        reason=reason,
        prompt_tokens=_count(prompt_tokens),
        reply_tokens=_count(reply_tokens),
    )


def overlong(text: str) -> ModelReply:
    """Return what is kept of a reply that did not end within the limit."""
    kept, _ = _within_limit(text)
    return ModelReply(status="truncated", text=kept, reason="too_large")


def failed(reason: str, *, category: str = "") -> ModelReply:
    """Return the reply of a server that gave none."""
    return ModelReply(status="transport_error", reason=reason, category=category)


def _meaning(finish: object) -> tuple[ReplyStatus, str]:
    if finish is None or finish == "":
        return "indeterminate", "finish_reason_missing"
    if isinstance(finish, str) and finish in _MEANINGS:
        return _MEANINGS[finish]
    return "indeterminate", "unknown_finish_reason"


def _within_limit(text: str) -> tuple[str, bool]:
    """Return the text as far as it is kept; half a surrogate pair, which no file can hold, becomes "?"."""
    data = text.encode("utf-8", "replace")
    return data[:REPLY_BYTES_MAX].decode("utf-8", "ignore"), len(data) > REPLY_BYTES_MAX


def _count(value: object) -> int:
    """Return a number of tokens, or 0 where a server sent something else."""
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 <= value <= _TOKENS_MAX else 0
