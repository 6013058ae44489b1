"""Reading what PMM keeps as JSON: whatever is there, never an exception."""

import json
from collections.abc import Mapping
from typing import Any


def members(text: str) -> Mapping[str, Any]:
    """Return the members of a JSON object; nothing when the text is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def whole(value: object) -> int | None:
    """Return a whole number; None when it is anything else."""
    return value if type(value) is int else None


def string(value: object) -> str:
    """Return a string; an empty one when it is anything else."""
    return value if isinstance(value, str) else ""
