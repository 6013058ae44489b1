"""Adoption signals: what became of what was remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pmm_mcp.domain.adoption import Said
from pmm_mcp.domain.events.adoption import Signal
from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.ports import Query, SqlValue
from pmm_mcp.queries.rows import named, scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Which signals are meant; empty parts do not narrow."""

    track: str = ""
    feature: str = ""
    item: int = 0
    before: int = SEQ_MAX


def newest(signals: Signals, *, limit: int) -> Query[tuple[Said, ...]]:
    """Ask for the newest signals before a seq, oldest first."""
    where, params = _where(signals)
    return Query(
        "SELECT recorded, signal, session, context_id, is_ours, is_human, resolved_at FROM adoption "
        f"WHERE {where} ORDER BY recorded DESC LIMIT :limit",
        {**params, "limit": limit},
        lambda rows: tuple(
            Said(
                seq=seq,
                signal=Signal(signal),
                session=session,
                context=context,
                is_ours=bool(is_ours),
                is_from_command_line=bool(is_human),
                is_resolved=resolved is not None,
            )
            for seq, signal, session, context, is_ours, is_human, resolved in reversed(rows)
        ),
    )


def totals(signals: Signals) -> Query[Mapping[str, int]]:
    """Ask how many there are of each signal."""
    where, params = _where(signals)
    return Query(f"SELECT signal, COUNT(*) FROM adoption WHERE {where} GROUP BY signal", params, dict)


def totals_of(items: Sequence[int]) -> Query[Mapping[str, int]]:
    """Ask how many there are of each signal about any of these items."""
    places, params = named(items or (0,), prefix="i")
    return Query(
        f"SELECT signal, COUNT(*) FROM adoption WHERE item IN ({places}) GROUP BY signal", params, dict
    )


def secret() -> Query[bytes | None]:
    """Ask for what only this ledger has and no answer shows: the salt of its first text."""
    return Query("SELECT salt FROM event_text ORDER BY seq, field LIMIT 1", {}, scalar)


def _where(signals: Signals) -> tuple[str, dict[str, SqlValue]]:
    conditions, params = ["recorded < :before"], dict[str, SqlValue]({"before": signals.before})
    for column, value in (("track", signals.track), ("feature", signals.feature), ("item", signals.item)):
        if value:
            conditions.append(f"{column} = :{column}")
            params[column] = value
    return " AND ".join(conditions), params
