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


def latest(*, type: str, domain: str, subject: str, anchor: str) -> Query[AcceptedClaim | None]:
    """Ask for the newest claim of a type about a subject at a place."""
    return Query(
        """
        SELECT claim, type, domain, subject, payload FROM claims
        WHERE type = :type AND domain = :domain AND subject = :subject AND anchor = :anchor
        ORDER BY claim DESC LIMIT 1
        """,
        {"type": type, "domain": domain, "subject": subject, "anchor": anchor},
        lambda rows: AcceptedClaim(*rows[0]) if rows else None,
    )
