"""The settings, and where each came from."""

from typing import Any

import typer
from pydantic import BaseModel, ConfigDict

from pmm_mcp.cli.commands import Visit, add
from pmm_mcp.cli.terminal import Answer, line
from pmm_mcp.config import CONFIG_FILE, origins


class Setting(BaseModel):
    """A value, and where it came from."""

    model_config = ConfigDict(frozen=True)

    value: Any
    origin: str


class ConfigResult(BaseModel):
    """Every setting by name; `config_file` is yours to write."""

    model_config = ConfigDict(frozen=True)

    config_file: str
    settings: dict[str, Setting]


def config(visit: Visit) -> Answer:
    """Show every setting and where its value came from."""
    settings = visit.settings
    found = dict(origins(settings)) | ({"db": "--db"} if visit.db else {})
    values = settings.model_dump(mode="json")
    result = ConfigResult(
        config_file=str(CONFIG_FILE),
        settings={name: Setting(value=values[name], origin=found[name]) for name in values},
    )
    lines = [
        line((f"{name:<22}", "cyan"), f"{one.value!s:<40}", (f"  {one.origin}", "dim"))
        for name, one in result.settings.items()
    ]
    return Answer(result, [*lines, line((f"your file: {result.config_file}", "dim"))])


def add_to(program: typer.Typer) -> None:
    """Offer the commands of this file."""
    add(program, config)
