"""Errors become answers here, by class, and nowhere else."""

import logging
from typing import Any

import orjson
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from pmm_mcp.domain.errors import PmmError

logger = logging.getLogger(__name__)

_MESSAGE_CHARS = 1_000


def refusal(error: BaseException | None) -> CallToolResult:
    """Return the answer to a call that failed: code, message, hint, and whether to try again."""
    match error:
        case PmmError():
            answer: dict[str, Any] = {
                "code": error.code,
                "message": str(error)[:_MESSAGE_CHARS],
                "hint": error.hint,
                "retryable": error.retryable,
                "retry_after_ms": error.retry_after_ms,
            }
        case ValidationError():
            problems = [
                f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {_plain(one)}"
                for one in error.errors(include_url=False, include_input=False, include_context=False)[:10]
            ]
            answer = {
                "code": "invalid_argument",
                "message": "; ".join(problems)[:_MESSAGE_CHARS],
                "hint": "See the tool's input schema.",
                "retryable": False,
            }
        case _:
            logger.error("a tool failed unexpectedly", exc_info=error)
            answer = {
                "code": "internal",
                "message": "the server failed on this call; this is a defect",
                "hint": "The log file named by `pmm-mcp status` has the details.",
                "retryable": False,
            }
    return answered({key: value for key, value in answer.items() if value is not None}, is_error=True)


def answered(data: dict[str, Any], *, is_error: bool = False) -> CallToolResult:
    """Return the same data as structure and as compact text: some clients show the one, some the other."""
    text = orjson.dumps(data).decode()
    return CallToolResult(
        is_error=is_error, content=[TextContent(type="text", text=text)], structured_content=data
    )


def _plain(problem: Any) -> str:
    match problem["type"]:
        case "extra_forbidden":
            return "this tool has no such argument"
        case "missing":
            return "this argument is required"
        case _:
            return str(problem["msg"])
