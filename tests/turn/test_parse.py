import json
import re
import sys
from dataclasses import dataclass, replace
from typing import Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pmm_mcp.domain.control_lines import (
    COMMITMENT_CHARS_MAX,
    CONTROL_LINES_MAX,
    OUTCOME_CHARS_MAX,
    REJECTED_CHARS_MAX,
    Candidate,
    ClaimLine,
    Close,
    Commit,
    Parsed,
    Reference,
    Reflect,
    Rejected,
)
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.turn.parse import JSON_DEPTH_MAX, READERS, parse
from tests.replies import BAD_LINES, FENCED, NEAR_MISSES, SEPARATORS, replies

MIB: Final = 1_048_576
MARKS: Final = (
    *("fact=", "co:1", "`", "```", "~~~", "\n", "\r\n", "\r", " ", "#", "=", "{", "}", "[", '"', "\\"),
    *("a", ":", "1", "-", ".", "e", "NaN", "\x00", "\ud800", "\udc00", "\u2028", "\ufdfa"),
)
CODE: Final = re.compile(r"[A-Z][A-Z_]{0,63}")


def nested(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    reply: str
    candidates: tuple[Candidate, ...] = ()
    reasons: tuple[tuple[int, str], ...] = ()
    visible: str = ""


READ: Final = (
    Case(name="a_commitment", reply="COMMIT: ship it", candidates=(Commit(1, "ship it"),)),
    Case(name="no_space_after_the_prefix", reply="COMMIT:ship it  ", candidates=(Commit(1, "ship it"),)),
    Case(
        name="the_longest_commitment",
        reply=f"COMMIT: {'x' * COMMITMENT_CHARS_MAX}",
        candidates=(Commit(1, "x" * COMMITMENT_CHARS_MAX),),
    ),
    Case(name="a_close_by_id", reply="CLOSE: co:12", candidates=(Close(1, "co:12"),)),
    Case(name="a_close_by_short_id", reply="CLOSE: 0a1b2c3d", candidates=(Close(1, "0a1b2c3d"),)),
    Case(
        name="a_close_with_an_outcome",
        reply="CLOSE: co:12 = p95 = 40 ms",
        candidates=(Close(1, "co:12", "p95 = 40 ms"),),
    ),
    Case(name="a_close_with_an_empty_outcome", reply="CLOSE: co:12 =", candidates=(Close(1, "co:12"),)),
    Case(
        name="a_claim",
        reply='CLAIM:fact={"a": "b=c", "n": 0.10}',
        candidates=(ClaimLine(1, "fact", {"a": "b=c", "n": 0.1}, '{"a": "b=c", "n": 0.10}'),),
    ),
    Case(
        name="a_claim_with_spaces",
        reply="CLAIM: made_up = {}",
        candidates=(ClaimLine(1, "made_up", {}, "{}"),),
    ),
    Case(
        name="every_reflection",
        reply='REFLECT:{"a":1}\nREFLECT: {"a":2}',
        candidates=(Reflect(1, {"a": 1}, '{"a":1}'), Reflect(2, {"a": 2}, '{"a":2}')),
    ),
    Case(
        name="brackets_in_strings_do_not_nest",
        reply='REFLECT:{"a":"\\"' + "[" * 99 + '"}',
        candidates=(Reflect(1, {"a": '"' + "[" * 99}, '{"a":"\\"' + "[" * 99 + '"}'),),
    ),
    Case(
        name="the_largest_integers",
        reply=f'REFLECT:{{"a":[{SEQ_MAX},-{SEQ_MAX}]}}',
        candidates=(Reflect(1, {"a": [SEQ_MAX, -SEQ_MAX]}, f'{{"a":[{SEQ_MAX},-{SEQ_MAX}]}}'),),
    ),
    Case(name="a_reference", reply="REF: work#7", candidates=(Reference(1, "work", 7),)),
    Case(
        name="a_reference_by_ledger_id",
        reply=f"REF: {'0f' * 16}#7",
        candidates=(Reference(1, "0f" * 16, 7),),
    ),
    Case(
        name="what_is_seen_is_the_rest",
        reply="\n  \n  Done.\n\nCOMMIT: a\nThen this.\nCLOSE: nothing\n\n",
        candidates=(Commit(5, "a"),),
        reasons=((7, "MALFORMED_CLOSE"),),
        visible="  Done.\n\nThen this.",
    ),
    Case(
        name="cr_lf_ends_a_line_and_stays",
        reply="one\r\nCOMMIT: a\r\ntwo\r\nthree\r\nREF: x\r\n",
        candidates=(Commit(2, "a"),),
        reasons=((5, "MALFORMED_REFERENCE"),),
        visible="one\r\ntwo\r\nthree",
    ),
    Case(
        name="nul_and_surrogates_are_mended_first",
        reply="COM\x00MIT: a \ud83d\ude80 \udfff",
        candidates=(Commit(1, "a 🚀 \ufffd"),),
    ),
    Case(
        name="one_bad_line_drops_nothing_else",
        reply='CLAIM:fact={"a":1}\nCLAIM:fact={"a":\nCLAIM:fact={"a":2}',
        candidates=(
            ClaimLine(1, "fact", {"a": 1}, '{"a":1}'),
            ClaimLine(3, "fact", {"a": 2}, '{"a":2}'),
        ),
        reasons=((2, "INVALID_CLAIM_JSON"),),
    ),
)

FENCES: Final = (
    Case(name="backticks", reply="```\nCOMMIT: a\n```", visible="```\nCOMMIT: a\n```"),
    Case(name="tildes", reply="~~~ text\nCOMMIT: a\n~~~~", visible="~~~ text\nCOMMIT: a\n~~~~"),
    Case(
        name="after_the_end_lines_count_again",
        reply="```py\nCOMMIT: a\n``` \t\nCOMMIT: b",
        candidates=(Commit(4, "b"),),
        visible="```py\nCOMMIT: a\n```",
    ),
    Case(name="a_shorter_run_does_not_close", reply="````\n```\nREF: w#1", visible="````\n```\nREF: w#1"),
    Case(name="the_other_mark_does_not_close", reply="```\n~~~\nREF: w#1", visible="```\n~~~\nREF: w#1"),
    Case(name="words_do_not_close", reply="```\n``` x\nREF: w#1", visible="```\n``` x\nREF: w#1"),
    Case(
        name="two_marks_are_no_fence",
        reply="``\nREF: w#1",
        candidates=(Reference(2, "w", 1),),
        visible="``",
    ),
    Case(
        name="code_within_a_line_is_no_fence",
        reply="```a``` b\nREF: w#1",
        candidates=(Reference(2, "w", 1),),
        visible="```a``` b",
    ),
    Case(name="three_spaces_may_lead", reply="   ```\nREF: w#1", visible="   ```\nREF: w#1"),
    Case(
        name="four_spaces_may_not",
        reply="x\n    ```\nREF: w#1",
        candidates=(Reference(3, "w", 1),),
        visible="x\n    ```",
    ),
    Case(
        name="cr_lf_closes",
        reply="```\r\nREF: w#1\r\n```\r\nREF: w#2",
        candidates=(Reference(4, "w", 2),),
        visible="```\r\nREF: w#1\r\n```",
    ),
)


@pytest.mark.parametrize("case", READ + FENCES, ids=lambda case: case.name)
def test_a_reply_is_read(case: Case) -> None:
    parsed = parse(case.reply)

    assert parsed.candidates == case.candidates
    assert tuple((bad.line, bad.reason) for bad in parsed.rejected) == case.reasons
    assert parsed.visible == case.visible


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("COMMIT:", "EMPTY_COMMITMENT"),
        ("COMMIT: \u3000 ", "EMPTY_COMMITMENT"),
        ("COMMIT: …!", "EMPTY_COMMITMENT"),
        (f"COMMIT: {'x' * (COMMITMENT_CHARS_MAX + 1)}", "COMMITMENT_TOO_LONG"),
        ("CLOSE:", "MALFORMED_CLOSE"),
        ("CLOSE: = kept", "MALFORMED_CLOSE"),
        ("CLOSE: the first", "MALFORMED_CLOSE"),
        ("CLOSE: co:0", "MALFORMED_CLOSE"),
        ("CLOSE: co:01", "MALFORMED_CLOSE"),
        ("CLOSE: co:١", "MALFORMED_CLOSE"),
        (f"CLOSE: co:{SEQ_MAX + 1}", "MALFORMED_CLOSE"),
        ("CLOSE: ev:12", "MALFORMED_CLOSE"),
        ("CLOSE: 0A1B2C3D", "MALFORMED_CLOSE"),
        ("CLOSE: 0a1b2c3", "MALFORMED_CLOSE"),
        (f"CLOSE: co:1 = {'x' * (OUTCOME_CHARS_MAX + 1)}", "OUTCOME_TOO_LONG"),
        ("CLAIM:", "MALFORMED_CLAIM"),
        ("CLAIM:fact", "MALFORMED_CLAIM"),
        ('CLAIM:{"type":"fact"}', "MALFORMED_CLAIM"),
        ("CLAIM:={}", "INVALID_CLAIM_TYPE"),
        ("CLAIM:Fact={}", "INVALID_CLAIM_TYPE"),
        ("CLAIM:_fact={}", "INVALID_CLAIM_TYPE"),
        ("CLAIM:fact2={}", "INVALID_CLAIM_TYPE"),
        ("CLAIM:a fact={}", "INVALID_CLAIM_TYPE"),
        (f"CLAIM:{'a' * 41}={{}}", "INVALID_CLAIM_TYPE"),
        ("CLAIM:fact=", "INVALID_CLAIM_JSON"),
        ("CLAIM:fact={'a':1}", "INVALID_CLAIM_JSON"),
        ('CLAIM:fact={"a":1} so', "INVALID_CLAIM_JSON"),
        ('CLAIM:fact={"a":1,"a":1}', "INVALID_CLAIM_JSON"),
        ('CLAIM:fact={"a":NaN}', "INVALID_CLAIM_JSON"),
        ('CLAIM:fact={"a":-Infinity}', "INVALID_CLAIM_JSON"),
        ('CLAIM:fact={"a":1e999}', "INVALID_CLAIM_JSON"),
        (f'CLAIM:fact={{"a":{SEQ_MAX + 1}}}', "INVALID_CLAIM_JSON"),
        (f'CLAIM:fact={{"a":-{"9" * 9_999}}}', "INVALID_CLAIM_JSON"),
        (f"CLAIM:fact={nested(JSON_DEPTH_MAX + 1)}", "INVALID_CLAIM_JSON"),
        (f"CLAIM:fact={nested(100_000)}", "INVALID_CLAIM_JSON"),
        ('CLAIM:fact={"a":"\ttab"}', "INVALID_CLAIM_JSON"),
        ("CLAIM:fact=[]", "CLAIM_NOT_AN_OBJECT"),
        ("CLAIM:fact=null", "CLAIM_NOT_AN_OBJECT"),
        ('CLAIM:fact="{}"', "CLAIM_NOT_AN_OBJECT"),
        ("REFLECT:", "INVALID_REFLECT_JSON"),
        ("REFLECT:all went well", "INVALID_REFLECT_JSON"),
        ("REFLECT:[{}]", "REFLECT_NOT_AN_OBJECT"),
        ("REF:", "MALFORMED_REFERENCE"),
        ("REF: work", "MALFORMED_REFERENCE"),
        ("REF: #1", "MALFORMED_REFERENCE"),
        ("REF: work#", "MALFORMED_REFERENCE"),
        ("REF: work#0", "MALFORMED_REFERENCE"),
        ("REF: work#-1", "MALFORMED_REFERENCE"),
        ("REF: work#1#2", "MALFORMED_REFERENCE"),
        ("REF: work#1.0", "MALFORMED_REFERENCE"),
        (f"REF: work#{'9' * 5_000}", "MALFORMED_REFERENCE"),
        ("REF: a/b#1", "MALFORMED_REFERENCE"),
        ("REF: a\\b#1", "MALFORMED_REFERENCE"),
        ("REF: C:work#1", "MALFORMED_REFERENCE"),
        ("REF: ..#1", "MALFORMED_REFERENCE"),
        ("REF: .#1", "MALFORMED_REFERENCE"),
        ("REF: a..b#1", "MALFORMED_REFERENCE"),
        ("REF: a\x0bb#1", "MALFORMED_REFERENCE"),
        (f"REF: {'a' * 65}#1", "MALFORMED_REFERENCE"),
    ],
)
def test_a_bad_line_is_rejected_alone(line: str, reason: str) -> None:
    parsed = parse(f"before\n{line}\nCOMMIT: after")

    (bad,) = parsed.rejected
    assert (bad.line, bad.reason, bad.text) == (2, reason, line[:REJECTED_CHARS_MAX])
    assert bad.detail
    assert parsed.candidates == (Commit(3, "after"),)
    assert parsed.visible == "before"


def test_the_bad_lines_of_the_generator_are_bad() -> None:
    parsed = parse("\n".join(BAD_LINES))

    assert [bad.line for bad in parsed.rejected] == list(range(1, len(BAD_LINES) + 1))
    assert parsed.candidates == ()


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_a_near_miss_is_prose(line: str) -> None:
    assert parse(f"x\n{line}\nx") == Parsed(f"x\n{line}\nx")


@pytest.mark.parametrize("separator", SEPARATORS)
def test_only_a_line_feed_ends_a_line(separator: str) -> None:
    assert parse(f"x{separator}COMMIT: a") == Parsed(f"x{separator}COMMIT: a")
    assert parse(f"COMMIT: a{separator}COMMIT: b").candidates == (Commit(1, f"a{separator}COMMIT: b"),)


def test_lines_over_the_limit_are_one_failure() -> None:
    lines = [f"COMMIT: {n}" for n in range(CONTROL_LINES_MAX - 1)] + ["COMMIT:", "CLOSE: x", "COMMIT: y"]

    parsed = parse("\n".join(["x", *lines, "y"]))

    assert len(parsed.candidates) == CONTROL_LINES_MAX - 1
    assert parsed.rejected[0].reason == "EMPTY_COMMITMENT"
    assert parsed.rejected[1:] == (
        Rejected(202, "TOO_MANY_LINES", "CLOSE: x", "2 control lines after the first 200 have no effect"),
    )
    assert parsed.visible == "x\ny"


def test_exactly_the_limit_is_allowed() -> None:
    parsed = parse("COMMIT: a\n" * CONTROL_LINES_MAX)

    assert (len(parsed.candidates), parsed.rejected) == (CONTROL_LINES_MAX, ())


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "reply",
    [
        "\n" * MIB,
        "\r\n" * (MIB // 2),
        "REF:\n" * (MIB // 5),
        "```\n" * (MIB // 4),
        "`" * MIB,
        "   `" * (MIB // 4),
        "COMMIT:" + " " * MIB,
        "CLAIM:" + "=" * MIB,
        "CLOSE:" + "co:" * (MIB // 3),
        "REF:" + "#" * MIB,
        "REFLECT:" + "[" * MIB,
        "REFLECT:" + '{"a":' * (MIB // 5),
        'REFLECT:"' + '\\"' * (MIB // 2),
        "REFLECT:" + "\\" * MIB,
        'REFLECT:{"a":' + "9" * MIB,
        'REFLECT:{"a":0.' + "1" * MIB + "}",
        'REFLECT:{"a":1e' + "9" * MIB + "}",
        'REFLECT:{"a":' + "NaN" * (MIB // 3),
        "COMMIT: \ufdfa" + "\ufdfa" * (MIB // 3),
        "\x00" * MIB,
        "\ud800" * MIB,
    ],
    ids=lambda reply: ascii(reply[:12]),
)
def test_a_mebibyte_of_malice_is_read_in_linear_time(reply: str) -> None:
    check(reply, parse(reply))


@pytest.mark.parametrize("text", ["", "\r", "\n", " ", "\ufeff", "COMMIT", "CLAIM:", "`" * 3])
def test_what_is_almost_nothing_asks_for_nothing(text: str) -> None:
    assert parse(text).candidates == ()


def test_json_is_read_the_same_at_any_depth_of_the_stack() -> None:
    reply = f"REFLECT:{nested(JSON_DEPTH_MAX)}"

    def deep(frames: int) -> Parsed:
        return deep(frames - 1) if frames else parse(reply)

    assert deep(sys.getrecursionlimit() // 2) == parse(reply)
    assert parse(reply).rejected == ()


# ----------------------------------------------------------------------------------------- properties


def check(reply: str, parsed: Parsed) -> None:
    """What holds for the reading of any text."""
    lines = reply.replace("\x00", "").count("\n") + 1
    numbers = [found.line for found in (*parsed.candidates, *parsed.rejected)]
    assert len(parsed.candidates) <= CONTROL_LINES_MAX
    assert len(numbers) <= CONTROL_LINES_MAX + 1
    assert len(set(numbers)) == len(numbers)
    assert all(1 <= number <= lines for number in numbers)
    assert [found.line for found in parsed.candidates] == sorted(found.line for found in parsed.candidates)
    assert all(CODE.fullmatch(bad.reason) and bad.detail for bad in parsed.rejected)
    assert all(len(bad.text) <= REJECTED_CHARS_MAX and len(bad.detail) <= 300 for bad in parsed.rejected)
    repr(parsed).encode()
    parsed.visible.encode()


def control_line_numbers(text: str) -> list[int]:
    """The same grammar written the slow way: line by line."""
    numbers = []
    fence = ""
    for number, ended in enumerate(text.split("\n"), start=1):
        line = ended.rstrip()
        bare = line.lstrip(" ")
        run = bare[: len(bare) - len(bare.lstrip(bare[:1]))] if bare[:1] in ("`", "~") else ""
        if len(run) >= 3 and len(line) - len(bare) <= 3:
            rest = bare.removeprefix(run)
            if not fence:
                fence = "" if "`" in run and "`" in rest else run
            elif run.startswith(fence) and not rest:
                fence = ""
        elif not fence and ended.startswith(tuple(READERS)):
            numbers.append(number)
    return numbers


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_read(reply: str) -> None:
    check(reply, parse(reply))


@given(st.lists(st.sampled_from((*READERS, *MARKS))).map("".join))
def test_any_text_in_the_marks_of_the_grammar_is_read(reply: str) -> None:
    check(reply, parse(reply))


@given(replies())
def test_any_reply_is_read(reply: str) -> None:
    parsed = parse(reply)

    check(reply, parsed)
    assert FENCED not in repr((parsed.candidates, parsed.rejected))


@given(replies())
def test_a_line_counts_exactly_when_the_grammar_says_so(reply: str) -> None:
    parsed = parse(reply)

    numbers = sorted(found.line for found in (*parsed.candidates, *parsed.rejected))
    assert numbers == control_line_numbers(reply.replace("\x00", ""))


@given(replies())
def test_what_is_seen_is_every_other_line(reply: str) -> None:
    lines = reply.replace("\x00", "").split("\n")
    hidden = set(control_line_numbers("\n".join(lines)))
    shown = "\n".join(line for number, line in enumerate(lines, start=1) if number not in hidden)

    assert parse(shown).visible.strip() == parse(reply).visible.strip()


@given(replies(), st.sampled_from(BAD_LINES))
def test_a_bad_line_in_front_changes_nothing_behind_it(reply: str, bad: str) -> None:
    alone, behind = parse(reply), parse(f"{bad}\n{reply}")

    assert [replace(found, line=found.line - 1) for found in behind.candidates] == list(alone.candidates)
    assert len(behind.rejected) == len(alone.rejected) + 1


@given(replies())
def test_a_payload_is_what_its_raw_text_says(reply: str) -> None:
    for found in parse(reply).candidates:
        if isinstance(found, ClaimLine | Reflect):
            assert found.payload == json.loads(found.raw)


def test_most_replies_of_the_generator_carry_a_candidate() -> None:
    """A property over replies says little when hardly one of them asks for anything."""
    carried: dict[str, int] = {}
    examples = 0

    @settings(max_examples=200, derandomize=True, database=None, phases=[Phase.generate])
    @given(replies())
    def sample(reply: str) -> None:
        nonlocal examples
        examples += 1
        parsed = parse(reply)
        kinds = {type(found).__name__ for found in parsed.candidates} | {
            bad.reason for bad in parsed.rejected
        }
        for kind in kinds | ({"any"} if parsed.candidates else set()):
            carried[kind] = carried.get(kind, 0) + 1

    sample()

    assert carried["any"] > examples / 2
    assert all(carried.get(kind.__name__, 0) >= 5 for kind in (Commit, Close, ClaimLine, Reflect, Reference))
