"""Claims that were accepted."""

from dataclasses import dataclass

from pmm_mcp.ports import Query


@dataclass(frozen=True, slots=True)
class AcceptedClaim:
    """A claim; texts that were removed are None. `payload` is the JSON as it came."""

    claim: int
    type: str
    domain: str
    subject: str | None
    payload: str | None


def about(*, domain: str, subject: str, anchor: str, limit: int) -> Query[tuple[AcceptedClaim, ...]]:
    """Ask for the newest claims about a subject at a place, of whatever type, newest first."""
    return Query(
        """
        SELECT claim, type, domain, subject, payload FROM claims
        WHERE domain = :domain AND subject = :subject AND anchor = :anchor
        ORDER BY claim DESC LIMIT :limit
        """,
        {"domain": domain, "subject": subject, "anchor": anchor, "limit": limit},
        lambda rows: tuple(AcceptedClaim(*row) for row in rows),
    )
