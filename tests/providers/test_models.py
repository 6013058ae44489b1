from dataclasses import dataclass, field

import pytest

from pmm_mcp.domain.errors import ModelUnavailableError
from pmm_mcp.ports import ChatModels
from pmm_mcp.providers import Models, ProviderSettings
from pmm_mcp.providers.models import MODELS_MAX

KEY = {"OPENAI_API_KEY": "k"}


@dataclass(frozen=True, kw_only=True)
class Case:
    asked: str
    found: str
    env: dict[str, str] = field(default_factory=dict)
    default: str = ""


FOUND = (
    Case(asked="", found="offline:quote"),
    Case(asked="", found="offline:quote", default="  "),
    Case(asked="", found="ollama:ornith:9b", default="ornith:9b"),
    Case(asked="offline", found="offline:quote"),
    Case(asked="offline:", found="offline:quote"),
    Case(asked="offline:quote", found="offline:quote", default="ornith:9b"),
    Case(asked="ornith:9b", found="ollama:ornith:9b"),
    Case(asked="hf.co/someone/some:Q4", found="ollama:hf.co/someone/some:Q4"),
    Case(asked="ollama:ornith:9b", found="ollama:ornith:9b"),
    Case(asked=" llama3.2 ", found="ollama:llama3.2"),
    Case(asked="openai:gpt-5", found="openai:gpt-5", env=KEY),
    Case(asked="openai:ft:gpt:me", found="openai:ft:gpt:me", env=KEY),
    Case(asked="openai:m", found="openai:m", env={"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}),
    Case(asked="openai:", found="openai:b", env={**KEY, "OPENAI_MODEL": "b"}),
    Case(asked="openai", found="openai:a", env={**KEY, "OPENAI_MODEL": "b", "PMM_OPENAI_MODEL": "a"}),
)


@pytest.mark.parametrize("case", FOUND, ids=lambda case: f"{case.asked}->{case.found}")
def test_a_name_finds_its_model(case: Case) -> None:
    models: ChatModels = Models(ProviderSettings(env=case.env), default=case.default)

    assert models.get(case.asked).name == case.found


REFUSED = (
    Case(asked="openai:", found="names no model", env=KEY),
    Case(asked="openai:gpt-5", found="no key"),
    Case(asked="openai:gpt-5", found="no key", env={"OPENAI_API_KEY": " ", "OPENAI_BASE_URL": ""}),
    Case(asked="ollama:", found="names no model"),
    Case(asked="scripted:", found="names no model"),
    Case(asked="offline:think", found="no offline model"),
    Case(asked="a\nb", found="not the name"),
    Case(asked="x" * 1000, found="not the name"),
    Case(asked="", found="no key", default="openai:gpt-5"),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case.asked[:20]!r}-{case.found}")
def test_a_model_that_cannot_be_used_is_refused_with_a_hint(case: Case) -> None:
    models = Models(ProviderSettings(env=case.env), default=case.default)

    with pytest.raises(ModelUnavailableError, match=case.found) as caught:
        models.get(case.asked)
    assert caught.value.hint


def test_a_model_is_kept_under_all_its_names() -> None:
    models = Models(ProviderSettings())

    assert models.get("ornith:9b") is models.get("ollama:ornith:9b")
    assert models.get("") is models.get("offline")


def test_models_do_not_pile_up() -> None:
    models = Models(ProviderSettings())
    for number in range(MODELS_MAX):
        models.get(f"m{number}")

    with pytest.raises(ModelUnavailableError):
        models.get("one:more")
    assert models.get("m0").name == "ollama:m0"


async def test_closing_closes_every_model_and_forgets_it() -> None:
    models = Models(ProviderSettings())
    before = models.get("ornith:9b")

    await models.aclose()
    await models.aclose()

    assert models.get("ornith:9b") is not before
