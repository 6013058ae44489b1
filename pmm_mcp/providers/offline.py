"""Answering without a model: quoting what was found, each quotation with its source."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from pmm_mcp.domain.errors import ModelUnavailableError
from pmm_mcp.ports import ModelReply, Prompt

QUOTE: Final = "quote"
QUOTATIONS_MAX: Final = 5
QUOTE_CHARS_MAX: Final = 320
BYTES_A_TOKEN: Final = 4

NOTHING: Final = "Nothing on record answers this."
NO_ROOM: Final = "No room to quote what is on record."

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|[\r\n]+")
_WORD: Final = re.compile(r"\w+")
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_LINE_SHORT_MAX: Final = 60  # below, a cut quotation says too little to be worth its line


class OfflineChat:
    """No network and no model: quotes the prompt's `quotable` texts; implements the port `ChatModel`."""

    def __init__(self, model: str = QUOTE) -> None:
        """Take which way of answering offline; there is one.

        Raises:
            ModelUnavailableError: it is not that one.

        """
        if model != QUOTE:
            raise ModelUnavailableError(
                f"there is no offline model {model!r}", hint=f"The offline model is named offline:{QUOTE}."
            )

    @property
    def name(self) -> str:
        """Its only name."""
        return f"offline:{QUOTE}"

    async def ask(self, prompt: Prompt) -> ModelReply:
        """Quote; the same prompt gets the same answer."""
        budget_bytes = max(prompt.budget_tokens, 1) * BYTES_A_TOKEN
        quotations = tuple(_quotations(prompt))
        text = "\n".join(_fitting(quotations, budget_bytes))
        text = text or _cut(NO_ROOM if quotations else NOTHING, budget_bytes)
        tokens = -(-len(text.encode()) // BYTES_A_TOKEN)
        return ModelReply(status="complete", text=text, reply_tokens=tokens, quotation=True)

    async def aclose(self) -> None:
        """Nothing to close."""


def _quotations(prompt: Prompt) -> Iterator[tuple[str, str]]:
    """Yield (quote, citation), each quote once, in the order of the pairs."""
    asked = _words(prompt.user)
    seen: set[str] = set()
    for citation, text in prompt.quotable:
        quote = _passage(text, asked)
        if quote and quote not in seen:
            seen.add(quote)
            yield quote, _one_line(citation)
        if len(seen) == QUOTATIONS_MAX:
            return


def _passage(text: str, asked: frozenset[str]) -> str:
    """Return the text, or the sentence of a long one that has most words of the question."""
    whole = _one_line(text)
    if len(whole) <= QUOTE_CHARS_MAX:
        return whole
    sentences = [line for part in _SENTENCE_END.split(text) if (line := _one_line(part))]
    best = max(sentences, key=lambda sentence: len(_words(sentence) & asked))
    return best if len(best) <= QUOTE_CHARS_MAX else best[: QUOTE_CHARS_MAX - 1].rstrip() + "…"


def _fitting(quotations: Iterable[tuple[str, str]], budget_bytes: int) -> Iterator[str]:
    """Yield lines until the budget is used; the last may be cut, never its citation."""
    left = budget_bytes
    for quote, citation in quotations:
        frame = len(_line("", citation).encode()) + 1
        room = left - frame
        if len(quote.encode()) > room:
            if room >= _LINE_SHORT_MAX:
                yield _line(_cut(quote, room), citation)
            return
        left = room - len(quote.encode())
        yield _line(quote, citation)


def _line(quote: str, citation: str) -> str:
    # A line that starts so is no control line, opens no fence, and no quote can leave it.
    return f'- "{quote}" [{citation}]'


def _cut(text: str, size_bytes: int) -> str:
    data = text.encode()
    if len(data) <= size_bytes:
        return text
    mark = "…" if size_bytes > len("…".encode()) else ""
    return data[: size_bytes - len(mark.encode())].decode("utf-8", "ignore").rstrip() + mark


def _one_line(text: str) -> str:
    readable = text.encode("utf-8", "replace").decode()
    return " ".join(_UNSEEN.sub(" ", readable).split())


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
