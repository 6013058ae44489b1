"""Names: what the gate lets in, the events take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pmm_mcp.domain.errors import InvalidArgumentError, SecretRefusedError
from pmm_mcp.domain.events.base import Name
from pmm_mcp.domain.names import NAME_MAX, as_name, is_name, name

EVENT_NAME: TypeAdapter[str] = TypeAdapter(Name)
ANY_TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("a1 .:/@+-_\u00b2\u00bd\n"), max_size=70
)


@given(ANY_TEXT)
def test_every_name_fits_into_an_event(text: str) -> None:
    if is_name(text):
        assert EVENT_NAME.validate_python(text) == text


@given(ANY_TEXT)
def test_whatever_a_client_calls_itself_becomes_a_name(text: str) -> None:
    assert is_name(as_name(text, otherwise="client"))
    assert (
        not is_name(text.strip("- ")) or "--" in text or as_name(text, otherwise="client") == text.strip("- ")
    )


@pytest.mark.parametrize("text", ["a", "build/gates v1.2", "日本語", "Ann-Marie", "x" * NAME_MAX, "٣"])
def test_a_name(text: str) -> None:
    assert name(f" {text} ", argument="field") == text


@pytest.mark.parametrize(
    "text", ["a\nb", "a;b", "x" * (NAME_MAX + 1), "\u00b2", "\u00bd", "a\u2028b", "\x00"]
)
def test_no_name(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        name(text, argument="field")


def test_a_credential_is_no_name() -> None:
    with pytest.raises(SecretRefusedError):
        name("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", argument="labels")


def test_an_empty_text_is_absent() -> None:
    assert name("  ", argument="field") == ""
