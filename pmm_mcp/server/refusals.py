"""Errors become answers here, by class, and nowhere else."""

import logging
from collections.abc import Iterable
from typing import Any, Final

import orjson
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from pmm_mcp.domain.errors import InvalidArgumentError, PmmError
from pmm_mcp.domain.normalise import normalise

logger = logging.getLogger(__name__)

_MESSAGE_CHARS: Final = 1_000
_NAME_CHARS: Final = 60
_PROBLEMS_MAX: Final = 10


def refusal(error: BaseException) -> CallToolResult:
    """Return the answer to a call that failed: code, message, hint, and whether to try again."""
    return answered(told(error), is_error=True)


def told(error: BaseException) -> dict[str, Any]:
    """Return what a caller is told of an error. What was not raised on purpose is logged, not told."""
    if isinstance(error, PmmError):
        told: dict[str, Any] = {
            "code": error.code,
            "message": str(error)[:_MESSAGE_CHARS],
            "hint": error.hint,
            "retryable": error.retryable,
            "retry_after_ms": error.retry_after_ms,
        }
        return {name: value for name, value in told.items() if value is not None}
    logger.error("a call failed unexpectedly", exc_info=error)
    return {
        "code": "internal",
        "message": "the server failed on this call; this is a defect",
        "hint": "The log file that `pmm-mcp status` names has the details.",
        "retryable": False,
    }


def bad_arguments(error: ValidationError, *, takes: Iterable[str]) -> InvalidArgumentError:
    """Return the refusal of arguments that do not fit a tool, each named with what is wrong about it."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    problems = [f"{_place(one['loc'])}: {_problem(one)}" for one in found[:_PROBLEMS_MAX]]
    return InvalidArgumentError("; ".join(problems), hint=f"This tool takes {', '.join(takes) or 'nothing'}.")


def unknown_tool(name: str, *, known: Iterable[str]) -> InvalidArgumentError:
    """Return the refusal of a call to a tool that is not listed."""
    return InvalidArgumentError(
        f"there is no tool {name[:_NAME_CHARS]!r}", hint=f"There are {', '.join(known)}."
    )


def answered(data: dict[str, Any], *, is_error: bool = False) -> CallToolResult:
    """Return the same data as structure and as compact text: some clients show the one, some the other."""
    try:
        text = orjson.dumps(data).decode()
    except TypeError:  # Half of a surrogate pair, which an error repeated; UTF-8 has no bytes for it.
        data = _mended(data)
        text = orjson.dumps(data).decode()
    return CallToolResult(
        is_error=is_error, content=[TextContent(type="text", text=text)], structured_content=data
    )


def _mended(value: Any) -> Any:
    match value:
        case str():
            return normalise(value).value
        case dict():
            return {normalise(str(name)).value: _mended(child) for name, child in value.items()}
        case list():
            return [_mended(child) for child in value]
        case _:
            return value


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part)[:_NAME_CHARS] for part in loc) or "arguments"


def _problem(one: Any) -> str:
    match one["type"]:
        case "extra_forbidden":
            return "this tool has no such argument"
        case "missing":
            return "this argument is required"
        case _:
            return str(one["msg"])
