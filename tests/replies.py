"""Replies as a model may write them: prose, control lines, near misses, fences, headers."""

import json
from typing import Final

from hypothesis import strategies as st

FENCED: Final = "inside a fence"
"""Stands in every control line that `replies` puts into a fence, and nowhere else."""

SEPARATORS: Final = ("\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\r")
"""What `str.splitlines` breaks at, and a reply does not."""

SEQS: Final = st.integers(min_value=1, max_value=60)


def words() -> st.SearchStrategy[str]:
    """Text on one line that opens no fence and is no control line."""
    alphabet = st.characters(exclude_characters="\n`~", exclude_categories=())
    return st.one_of(
        st.sampled_from(("The pool is 32.", "ship it", "日本語のメモ", "naïve café", 'a "quoted" word')),
        st.tuples(st.sampled_from(SEPARATORS), st.sampled_from(("COMMIT: no line", "x"))).map("…".join),
        st.text(alphabet, max_size=40).map(lambda text: f"- {text}"),
    )


def json_values() -> st.SearchStrategy[object]:
    scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | words()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words(), inner, max_size=3),
        max_leaves=6,
    )


def event_ids() -> st.SearchStrategy[object]:
    return st.one_of(
        SEQS,
        SEQS.map(str),
        st.tuples(st.sampled_from(("ev", "msg", "turn", "cl")), SEQS).map(
            lambda pair: f"{pair[0]}:{pair[1]}"
        ),
    )


def claim_payloads() -> st.SearchStrategy[dict[str, object]]:
    """Payloads of the right shape for fact, decision and preference."""
    return st.fixed_dictionaries(
        {"subject": words().map(lambda text: text[:40]), "value": json_values()},
        optional={
            "domain": st.sampled_from(("project", "build")),
            "text": words(),
            "evidence": st.lists(event_ids(), max_size=3),
            "evidence_events": st.lists(SEQS, max_size=3),
        },
    )


def commitment_names() -> st.SearchStrategy[str]:
    return SEQS.map(lambda seq: f"co:{seq}") | st.integers(0, 2**32 - 1).map(lambda n: f"{n:08x}")


def control_lines() -> st.SearchStrategy[str]:
    """Lines that parse."""
    types = st.sampled_from(("fact", "decision", "preference", "reference", "made_up"))
    return st.one_of(
        st.sampled_from(("COMMIT: ship the release", "COMMIT:Ship the release!", "COMMIT: write ‘tests’")),
        commitment_names().map(lambda name: f"CLOSE: {name}"),
        st.tuples(commitment_names(), words()).map(lambda pair: f"CLOSE: {pair[0]} = {pair[1]}"),
        st.tuples(types, claim_payloads()).map(lambda pair: f"CLAIM:{pair[0]}={json.dumps(pair[1])}"),
        st.dictionaries(words(), json_values(), max_size=3).map(lambda value: f"REFLECT:{json.dumps(value)}"),
        st.tuples(st.sampled_from(("work", "0123456789abcdef" * 2)), SEQS).map(
            lambda pair: f"REF: {pair[0]}#{pair[1]}"
        ),
    )


BAD_LINES: Final = (
    "COMMIT:",
    "COMMIT: …!",
    f"COMMIT: {'x' * 2_001}",
    "CLOSE:",
    "CLOSE: the first one",
    "CLOSE: co:0",
    "CLAIM:fact",
    "CLAIM:Fact={}",
    "CLAIM:fact={",
    "CLAIM:fact=[]",
    'CLAIM:fact={"subject": NaN}',
    f"CLAIM:fact={'[' * 5_000}",
    "REFLECT:",
    "REFLECT:{'single': 'quotes'}",
    "REFLECT:7",
    "REF: work",
    "REF: ../work#1",
    "REF: work#-1",
)
"""Lines with a known prefix, outside fences, that are rejected."""

NEAR_MISSES: Final = (
    "commit: lower case",
    "Commit: title case",
    " COMMIT: a leading space",
    "\tCOMMIT: a leading tab",
    "> COMMIT: quoted",
    "- COMMIT: an item",
    "**COMMIT:** bold",
    "COMMIT no colon",
    "COMMITMENT: another word",
    "\ufeffCOMMIT: a byte order mark",
    "CLAIMS:fact={}",
    "REFLECTION:{}",
    "`COMMIT: code in a line`",
    "```COMMIT: code in a line```",
)
"""Lines that look like control lines and are prose."""


def fenced_lines() -> st.SearchStrategy[str]:
    """Control lines, good and bad, that say that they are inside a fence."""
    return st.sampled_from(
        (
            f"COMMIT: {FENCED}",
            f"CLOSE: co:1 = {FENCED}",
            f'CLAIM:fact={{"subject": "{FENCED}", "value": 1, "evidence": [1]}}',
            f'REFLECT:{{"note": "{FENCED}"}}',
            f"REF: {FENCED}#1",
            f"CLAIM:{FENCED}",
            "plain code",
            "``",
            "~~",
            "```not a close",
            "",
        )
    )


FENCED_LINES: Final = st.lists(fenced_lines(), max_size=4)


@st.composite
def fences(draw: st.DrawFn) -> str:
    """A closed fence around control lines."""
    mark = draw(st.sampled_from("`~"))
    size = draw(st.integers(3, 6))
    indent = " " * draw(st.integers(0, 3))
    info = draw(st.sampled_from(("", "python", " text", "json {.x}")))
    other = "~" if mark == "`" else "`"
    inner = [
        *draw(FENCED_LINES),
        *draw(st.sampled_from(((), (other * 3,), (mark * 2,)))),
    ]
    tail = mark * draw(st.integers(0, 2)) + draw(st.sampled_from(("", " ", "\t")))
    return "\n".join((f"{indent}{mark * size}{info}", *inner, f"{mark * size}{tail}"))


def headers() -> st.SearchStrategy[str]:
    header = st.fixed_dictionaries({"intent": words(), "outcome": words(), "next": words()})
    return header.map(json.dumps) | header.map(lambda value: f"```json\n{json.dumps(value, indent=1)}\n```")


# Built once: building strategies costs more than drawing from them.
PIECES: Final = st.lists(
    st.one_of(
        control_lines(),
        words(),
        control_lines(),
        st.sampled_from(NEAR_MISSES),
        st.sampled_from(BAD_LINES),
        fences(),
        st.just(""),
    ),
    min_size=1,
    max_size=10,
)
HEADERS: Final = headers()


@st.composite
def replies(draw: st.DrawFn) -> str:
    """A reply of up to ten pieces, its lines ended by LF or CR LF; the last fence may stay open."""
    pieces = draw(PIECES)
    if draw(st.integers(0, 3)) == 0:
        pieces.insert(0, draw(HEADERS))
    if draw(st.integers(0, 7)) == 0:
        pieces += ["~~~~", *draw(FENCED_LINES), "~~~"]
    return draw(st.sampled_from(("\n", "\n", "\r\n"))).join("\n".join(pieces).split("\n"))
