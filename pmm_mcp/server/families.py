"""What a tool is to the server: a plain async function, and what it does to the world."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
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
class Listed:
    """A tool by name: the function of that name in a module of `server/tools/`."""

    name: str
    module: str
    effect: Effect

    @property
    def title(self) -> str:
        """The name, said."""
        return self.name.removeprefix("pmm_").replace("_", " ").capitalize()

    def load(self) -> ToolFunction:
        """Return the function. Its module brings the services with it, which no handshake waits for."""
        function: Any = getattr(import_module(f"pmm_mcp.server.tools.{self.module}"), self.name)
        return function  # type: ignore[no-any-return]  # the table in `server/tools/` says what it is


@dataclass(frozen=True, slots=True)
class Family:
    """The tools of one toolset, in the order they are listed."""

    toolset: str
    tools: tuple[Listed, ...]
