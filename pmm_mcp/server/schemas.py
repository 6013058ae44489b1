"""Schemas that every client understands, and arguments as clients really send them."""

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

_DROPPED: Final = frozenset(("$defs", "discriminator"))


def portable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without `$ref`, titles, null alternatives and other things clients choke on.

    Raises:
        ValueError: it is recursive; such a tool has to be flattened.

    """
    definitions = schema.get("$defs", {})

    def walk(node: Any, seen: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [walk(item, seen) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].removeprefix("#/$defs/")
            if name in seen:
                raise ValueError(f"the schema {name} is recursive")
            siblings = {key: value for key, value in node.items() if key != "$ref"}
            return walk({**copy.deepcopy(definitions[name]), **siblings}, (*seen, name))
        kept = {
            "anyOf" if key == "oneOf" else key: (
                {name: walk(value, seen) for name, value in child.items()}
                if key == "properties"
                else walk(child, seen)
            )
            for key, child in node.items()
            if key not in _DROPPED
            and not (key == "title" and isinstance(child, str))
            and not (key == "additionalProperties" and child is True)
        }
        if kept.get("type") == "array":
            kept.setdefault("items", {})
        return _without_null(kept)

    walked: dict[str, Any] = walk(schema, ())
    walked.setdefault("properties", {})
    return walked


def coerced(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the schema means them.

    An optional argument that is "" or null is absent; a list, number, boolean or object sent as a string
    is read; a lone string for a list is a list of one.
    """
    required = frozenset(schema.get("required", ()))
    properties = schema["properties"]
    return {
        name: _read(value, properties.get(name, {}))
        for name, value in arguments.items()
        if name in required or name not in properties or value not in (None, "")
    }


def without_nulls(value: Any) -> Any:
    """Return the same data without the members that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Turn "this or null" into "this": an absent member is how null is said."""
    alternatives = node.get("anyOf")
    if not isinstance(alternatives, list) or {"type": "null"} not in alternatives:
        return node
    left = [one for one in alternatives if one != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if rest.get("default", ...) is None:
        del rest["default"]
    return {**left[0], **rest} if len(left) == 1 else {**rest, "anyOf": left}


def _read(value: Any, schema: Mapping[str, Any]) -> Any:
    match schema.get("type"), value:
        case "array", list():
            return [_read(item, schema.get("items", {})) for item in value]
        case "array", str():
            read = _json(value)
            return _read(read if isinstance(read, list) else [value] if value.strip() else [], schema)
        case "integer" | "number" | "object", str():
            read = _json(value)
            return value if read is None else read
        case "boolean", str():
            return {"true": True, "false": False}.get(value.strip().lower(), value)
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case _:
            return value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
