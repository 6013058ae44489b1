"""Escapes of lone surrogates in JSON: the SDK leaves a request with one unanswered, so they are mended."""

import re
from typing import Final

# A pair, or half of one. A backslash that is itself escaped begins no escape, hence the first group.
_ESCAPE: Final = re.compile(
    r"(?P<even>\\\\)|(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def cleaned_json(text: str) -> str:
    r"""Return the JSON text with every escape of a lone surrogate as \ufffd; nearly always unchanged."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text)
