"""Making a pack small enough for an answer: what matters least goes first, whole, and is then not citable."""

from collections.abc import Iterator
from dataclasses import replace

from pmm_mcp.context.pack import Pack
from pmm_mcp.context.render import render
from pmm_mcp.domain.sizes import cut, text_bytes


def fitted(pack: Pack, *, bytes_max: int) -> tuple[Pack, str]:
    """Return as much of the pack as fits when it is rendered, and the rendered text."""
    for smaller in _ever_smaller(pack):
        text = render(smaller)
        if text_bytes(text) <= bytes_max:
            return smaller, text
    return Pack(head=pack.head), cut(render(Pack(head=pack.head)), bytes_max=bytes_max)


def _ever_smaller(pack: Pack) -> Iterator[Pack]:
    """Yield the pack, then without its oldest exchange, its worst matches, its last promises, one by one.

    Guidance is the last of all to go: what is believed is worth more than what was said.
    """
    yield pack
    for pairs, found, promises, advice in ((1, 3, 5, 6), (0, 1, 2, 3), (0, 0, 0, 0)):
        while len(pack.pairs) > pairs:
            pack = replace(pack, pairs=pack.pairs[1:])
            yield pack
        while len(pack.found) > found:
            pack = replace(pack, found=pack.found[:-1])
            yield pack
        while len(pack.commitments) > promises:
            pack = replace(pack, commitments=pack.commitments[:-1])
            yield pack
        while len(pack.guidance.advice) > advice:
            pack = replace(pack, guidance=pack.guidance.shorter())
            yield pack
        if pack.failures:
            pack = replace(pack, failures=())
            yield pack
