"""What a source names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmm_mcp.domain.sources import CitedSource, EventSource, FileSource, Source, parse_source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Makefile", FileSource("Makefile")),
        ("src/app.py", FileSource("src/app.py")),
        ("src/app.py:12", FileSource("src/app.py", 12, 12)),
        ("src/app.py:12-40", FileSource("src/app.py", 12, 40)),
        ("  docs/a b.md:3  ", FileSource("docs/a b.md", 3, 3)),
        ("C:\\code\\app.py:7", FileSource("C:\\code\\app.py", 7, 7)),
        ("C:/code/app.py", FileSource("C:/code/app.py")),
        ("/code/app.py", FileSource("/code/app.py")),
        ("src/app.py:40-12", CitedSource()),
        ("src/app.py:0", FileSource("src/app.py:0")),
        ("ev:12", EventSource("ev", 12)),
        ("msg:7", EventSource("msg", 7)),
        ("https://example.org/a:80", CitedSource()),
        ("mailto:someone@example.org", CitedSource()),
        ("file:///etc/passwd", CitedSource()),
        ("a line\nand another", CitedSource()),
        ("x" * 2_000, CitedSource()),
        ("", CitedSource()),
    ],
)
def test_a_source_is_a_file_an_event_or_a_citation(text: str, expected: Source) -> None:
    assert parse_source(text) == expected


@given(st.text(max_size=300))
def test_any_text_is_a_source(text: str) -> None:
    assert isinstance(parse_source(text), FileSource | EventSource | CitedSource)
