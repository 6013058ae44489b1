"""Facts with the time they hold."""

from pathlib import Path
from typing import Any

import pytest

from pmm_mcp.domain.errors import InvalidArgumentError, MoveNotAllowedError, NotFoundError
from tests.houses import FILES, House, house_of


async def asserted(house: House, object: str, **given: Any) -> Any:
    standard: dict[str, Any] = {
        "subject": "billing service",
        "predicate": "database",
        "object": object,
        "valid_from": "",
        "single_valued": True,
        "confidence_pct": 100,
        "source": "ev:2",
        "end": False,
        "call": house.call(),
    }
    return await house.mind.app.facts.assert_fact(**(standard | given))


async def holding(house: House, as_of: str = "", **given: Any) -> list[str]:
    standard: dict[str, Any] = {
        "subject": "",
        "predicate": "",
        "object": "",
        "as_of": as_of,
        "include_ended": False,
        "limit": 20,
        "cursor": "",
        "call": house.call(),
    }
    return [one.object for one in (await house.mind.app.facts.query(**(standard | given))).facts]


async def issues(house: House, text: str, now: str = "") -> list[tuple[str, str]]:
    result = await house.mind.app.facts.check(text, now=now, call=house.call())
    return [(issue.kind, issue.mentioned) for issue in result.issues]


async def test_a_new_value_ends_the_old_one_which_stays_known(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        first = await asserted(house, "MySQL", valid_from="2023-01-01")
        second = await asserted(house, "PostgreSQL", valid_from="2023-06-01")
        again = await asserted(house, "postgresql", valid_from="2023-07-01")
        assert await holding(house) == ["PostgreSQL"]
        assert await holding(house, "2023-05-31") == ["MySQL"]
        assert await holding(house, "2023-06-01") == ["PostgreSQL"]
        assert await holding(house, "2022-12-31") == []
        assert await holding(house, include_ended=True) == ["PostgreSQL", "MySQL"]
        assert await house.mind.is_sound()
    assert second.ended == [first.id]
    assert (again.id, again.created) == (second.id, False)


async def test_what_is_learnt_late_is_put_in_its_time(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        await asserted(house, "PostgreSQL", valid_from="2023-06-01")
        await asserted(house, "MySQL", valid_from="2023-01-01")
        assert await holding(house, "2023-02-01") == ["MySQL"]
        assert await holding(house) == ["PostgreSQL"]


async def test_a_fact_ends_half_open_and_never_before_it_began(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        await asserted(house, "MySQL", valid_from="2023-01-01")
        await asserted(house, "MySQL", valid_from="2023-03-01", end=True)
        assert await holding(house, "2023-02-28") == ["MySQL"]
        assert await holding(house, "2023-03-01") == []
        with pytest.raises(MoveNotAllowedError):
            await asserted(house, "MySQL", valid_from="2022-01-01", end=True)


async def test_many_values_hold_at_once_where_they_may(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        for name in ("Ann", "Bob"):
            await asserted(house, name, predicate="owner", single_valued=False, valid_from="2023-01-01")
        assert sorted(await holding(house)) == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"subject": " "}, InvalidArgumentError),
        ({"object": "x" * 201}, InvalidArgumentError),
        ({"confidence_pct": 101}, InvalidArgumentError),
        ({"valid_from": "yesterday"}, InvalidArgumentError),
        ({"source": "kn:1"}, InvalidArgumentError),
        ({"source": "ev:99"}, NotFoundError),
    ],
)
async def test_a_bad_fact_is_refused(tmp_path: Path, given: Any, error: type[Exception]) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        with pytest.raises(error):
            await asserted(house, **({"object": "MySQL"} | given))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The billing service database PostgreSQL is fine.", []),
        ("The billing service database is MySQL, I think.", [("contradiction", "MySQL")]),
        ("billing-service database: SQLite", [("contradiction", "sqlite")]),
        ("Ordinary prose about services, and a database, raises nothing at all.", []),
        ("Nothing here has to do with it: we went for a walk on Monday.", []),
    ],
)
async def test_a_text_is_checked_against_what_is_known(
    tmp_path: Path, text: str, expected: list[tuple[str, str]]
) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        await asserted(house, "MySQL", valid_from="2023-01-01")
        await asserted(house, "PostgreSQL", valid_from="2023-06-01")
        found = [issue for issue in await issues(house, text) if issue[0] == "contradiction"]
    assert found == expected


async def test_a_name_that_looks_alike_is_named(tmp_path: Path) -> None:
    async with house_of(tmp_path) as house:
        await house.seen(FILES[0])
        await asserted(house, "8443", subject="gen-itgc-runner", predicate="port")
        assert ("look_alike", "gen-itcg-runner") in await issues(house, "start gen-itcg-runner first")
        assert await issues(house, "start gen-itgc-runner first") == []
