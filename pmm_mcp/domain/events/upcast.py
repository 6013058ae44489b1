"""Old shapes of events, brought up to date on the way in, a step at a time; never in the file."""

from collections.abc import Callable, Mapping
from typing import Any, Final

Body = Mapping[str, Any]

UPCASTERS: Final[Mapping[tuple[str, int], Callable[[Body], Body]]] = {}
"""By kind and version: how to make the next version's body of it."""


def upcast(kind: str, body: Body) -> Body:
    """Return the body in its newest shape."""
    while step := UPCASTERS.get((kind, body["v"])):
        body = step(body)
    return body
