"""What every event model keeps to, because it is hashed for good."""

from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from pmm_mcp.domain.events import EVENT_TYPES
from pmm_mcp.domain.policy import WRITERS


def kinds_of_values(annotation: Any) -> Iterator[Any]:
    """Every type that can stand somewhere inside a field of this type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from kinds_of_values(field.annotation)
    elif arguments := get_args(annotation):
        is_annotated = hasattr(annotation, "__metadata__")
        for argument in arguments[:1] if is_annotated else arguments:
            yield from kinds_of_values(argument)
    else:
        yield annotation


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_an_event_holds_no_floats(kind: str) -> None:
    found = set(kinds_of_values(EVENT_TYPES[kind]))

    assert not found & {float, complex, Any, object}
    assert all(issubclass(each, str | int | NoneType) for each in found if isinstance(each, type))


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_an_event_says_its_kind_and_version(kind: str) -> None:
    fields = EVENT_TYPES[kind].model_fields

    assert fields["kind"].default == kind
    assert isinstance(fields["v"].default, int)


def test_every_kind_has_a_rule_who_may_write_it() -> None:
    assert set(WRITERS) == set(EVENT_TYPES)
