"""What a tool is to the server: a plain async function, and what it does to the world."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

ToolFunction = Callable[..., Awaitable[BaseModel]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What clients may know about a tool before they call it. `open_world`: it may reach a network."""

    read_only: bool
    idempotent: bool
    open_world: bool = False


READS: Final = Effect(read_only=True, idempotent=True)
APPENDS: Final = Effect(read_only=False, idempotent=False)
ASKS_A_MODEL: Final = Effect(read_only=False, idempotent=False, open_world=True)


@dataclass(frozen=True, slots=True)
class Family:
    """The tools of one toolset, in the order they are listed."""

    toolset: str
    tools: tuple[tuple[ToolFunction, Effect], ...]


def title_of(function: Callable[..., Any]) -> str:
    """Return a tool's title: its name, said."""
    return function.__name__.removeprefix("pmm_").replace("_", " ").capitalize()
