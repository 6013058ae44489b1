"""The settings: environment first, then the user's file, then what a project's `.env` may say.

A cloned repository is not trusted: its `.env` may choose models, toolsets and budgets, and nothing else;
and no model that is a file of this machine.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from platformdirs import user_config_path, user_data_path, user_log_path
from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from pmm_mcp.domain.admission import SecretsMode
from pmm_mcp.domain.errors import InvalidArgumentError

PREFIX: Final = "PMM_MCP_"
CONFIG_FILE: Final = user_config_path("pmm-mcp") / "config.toml"
TOOLSETS: Final = ("core", "knowledge", "cards", "adoption", "governance", "facts", "ledger")
DEFAULT_TOOLSETS: Final = ("core", "knowledge", "cards", "adoption")
PROJECT_MAY_SET: Final = frozenset(("model", "embedder", "toolsets", "output_budget_tokens"))


class Settings(BaseSettings):
    """Everything that can be set, with its default. Each is `PMM_MCP_<NAME>` in the environment."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True)

    db: Path = Field(default=user_data_path("pmm-mcp") / "ledger.db")
    model: str = ""
    embedder: str = "static"
    toolsets: str = "default"
    read_only: bool = False
    project_dir: str = ""
    roots: str = ""
    secrets: SecretsMode = SecretsMode.MASK
    provider_timeout_s: float = Field(default=120.0, gt=0, le=600)
    provider_retries: int = Field(default=2, ge=0, le=10)
    lease_wait_s: float = Field(default=5.0, gt=0, le=60)
    lease_ttl_s: float = Field(default=30.0, gt=0, le=3_600)
    turn_patience_s: float = Field(default=45.0, gt=0, le=50)
    output_budget_tokens: int = Field(default=2_048, ge=1, le=32_768)
    keys_dir: Path = user_data_path("pmm-mcp") / "keys"
    log_dir: Path = user_log_path("pmm-mcp")
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment, then the user's file, then what the project may say."""
        return (init_settings, *(source for _, source in _sources(settings_cls)))

    def chosen_toolsets(self) -> tuple[str, ...]:
        """Return the toolsets to offer, in the order of the documentation.

        Raises:
            InvalidArgumentError: a name is no toolset.

        """
        names = [name.strip() for name in self.toolsets.split(",") if name.strip()]
        expanded = {"default": DEFAULT_TOOLSETS, "all": TOOLSETS}
        chosen = {toolset for name in names for toolset in expanded.get(name, (name,))}
        if unknown := chosen - set(TOOLSETS):
            raise InvalidArgumentError(
                f"PMM_MCP_TOOLSETS: {', '.join(sorted(unknown))} is no toolset",
                hint=f"Use default, all, or any of {', '.join(TOOLSETS)}.",
            )
        return tuple(name for name in TOOLSETS if name in chosen)

    @property
    def turn_deadline_s(self) -> float:
        """How long a turn may take: the provider's time-out × attempts + 30 s, at most 600 s."""
        return min(600.0, self.provider_timeout_s * (self.provider_retries + 1) + 30)


def load_settings(**given: Any) -> Settings:
    """Return the settings; what is given here wins.

    Raises:
        InvalidArgumentError: a value is not allowed; it is named with where it came from.

    """
    known = {name: value for name, value in given.items() if value is not None}
    if "PMM_OUTPUT_BUDGET_TOKENS" in os.environ and not os.environ.get(f"{PREFIX}OUTPUT_BUDGET_TOKENS"):
        known.setdefault("output_budget_tokens", os.environ["PMM_OUTPUT_BUDGET_TOKENS"])
    try:
        return Settings(**known)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise InvalidArgumentError(
            f"the settings in {CONFIG_FILE} cannot be read: {error}", hint="Mend the file, or move it away."
        ) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidArgumentError(
            f"the setting {field!r} is not allowed: {first['msg']}",
            hint=f"Set {PREFIX}{field.upper()}; `pmm-mcp config` shows where each value comes from.",
        ) from error


def origins(settings: Settings) -> Mapping[str, str]:
    """Return where the value of each setting came from."""
    found = dict.fromkeys(Settings.model_fields, "default")
    for label, source in reversed(_sources(Settings)):
        found |= dict.fromkeys((name for name in source() if name in found), label)
    return {
        name: label if getattr(settings, name, None) is not None else "default"
        for name, label in found.items()
    }


def _sources(settings_cls: type[BaseSettings]) -> tuple[tuple[str, PydanticBaseSettingsSource], ...]:
    return (
        ("environment", EnvSettingsSource(settings_cls)),
        (str(CONFIG_FILE), TomlConfigSettingsSource(settings_cls, CONFIG_FILE)),
        (".env", _ProjectSource(settings_cls, env_file=".env")),
    )


class _ProjectSource(DotEnvSettingsSource):
    """The `.env` of the directory the program runs in, as far as a project may decide."""

    def __call__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__call__().items() if _project_may_set(name, value)}


def _project_may_set(name: str, value: Any) -> bool:
    is_script = name == "model" and str(value).strip().startswith("scripted:")
    return name in PROJECT_MAY_SET and not is_script
