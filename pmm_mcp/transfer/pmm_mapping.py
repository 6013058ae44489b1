"""What a row of PMM becomes here: a pure mapping, or nothing when no event of ours says the same.

The row itself is always kept verbatim, so nothing is lost where nothing fits.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, get_args

from pmm_mcp.domain.admission import Admitted, SecretsMode, admit
from pmm_mcp.domain.errors import InvalidInputError
from pmm_mcp.domain.events.mind import (
    ClaimAccepted,
    CommitmentClosed,
    CommitmentOpened,
    ConceptAliased,
    ConceptBound,
    ConceptDefined,
    ConceptRelated,
    LedgerReferenced,
    LifetimeMemory,
    Origin,
    Reflection,
    SummaryUpdated,
)
from pmm_mcp.domain.events.turn import (
    AssistantMessage,
    FailureStatus,
    GenerationFailure,
    LateReply,
    UserMessage,
)
from pmm_mcp.domain.names import is_name
from pmm_mcp.domain.records import Draft
from pmm_mcp.transfer.pmm_json import members, string, whole
from pmm_mcp.transfer.pmm_source import SourceRow

REFERENCES_MAX: Final = 100
MILLION: Final = 1_000_000

_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}")
_NOT_IN_A_CODE: Final = re.compile(r"[^A-Za-z0-9_.]+")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_ORIGINS: Final[Mapping[str, Origin]] = {"assistant": "model", "autonomy_kernel": "runtime", "user": "human"}
_STATUSES: Final = frozenset(get_args(FailureStatus))
_OPENED: Final = ("Commitment opened: ", "Internal commitment opened: ")


class Here(Protocol):
    """What the mapping asks about our own ledger."""

    @property
    def deadline_us(self) -> int:
        """Until when a prompt may wait for the import to bring its end."""
        ...

    def seq_of(self, source_id: int) -> int | None:
        """Return the event that was made of a row."""
        ...

    def is_open_turn(self, turn: int) -> bool:
        """Say whether a turn still waits for its end."""
        ...

    def is_open_commitment(self, commitment: int) -> bool:
        """Say whether a commitment is open."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """A row, the seq of what it is about (None when that is not here), and how to admit its texts."""

    row: SourceRow
    linked: bool
    partner: int | None
    here: Here
    secrets: SecretsMode

    def texts(self, **texts: str) -> Mapping[str, Admitted]:
        """Return the texts that are not empty, ready to be recorded."""
        present = {field: text for field, text in texts.items() if text}
        return {field: admit(text, field=field, secrets=self.secrets) for field, text in present.items()}


def as_code(text: str, *, otherwise: str) -> str:
    """Make a code of whatever another system calls something."""
    code = _NOT_IN_A_CODE.sub("_", text).strip("_")[:64]
    return code if _CODE.fullmatch(code) else otherwise


def draft(
    row: SourceRow, *, partner_id: int | None, here: Here, conversation: str, secrets: SecretsMode
) -> Draft | None:
    """Return the event of ours that says what the row says; None when there is none."""
    make = _MAPPINGS.get(row.kind)
    if make is None:
        return None
    partner = here.seq_of(partner_id) if partner_id is not None else None
    material = Material(row=row, linked=partner_id is not None, partner=partner, here=here, secrets=secrets)
    try:
        made = make(material)
    except (ValueError, OverflowError, RecursionError, InvalidInputError):
        # Most often pydantic's ValidationError: a token that is no name, a weight that is no number.
        return None
    return replace(made, conversation=conversation) if made is not None else None


def _user_message(given: Material) -> Draft:
    event = UserMessage(deadline_us=given.here.deadline_us)
    return Draft(event, {"prompt": admit(given.row.content, field="prompt", secrets=given.secrets)})


def _assistant_message(given: Material) -> Draft:
    row, turn = given.row, given.partner
    reply = {"reply": admit(row.content, field="reply", secrets=given.secrets)}
    if turn is not None and not given.here.is_open_turn(turn):
        return Draft(LateReply(model=_model(row.meta)), reply, turn=turn)
    return Draft(AssistantMessage(model=_model(row.meta)), reply, turn=turn)


def _generation_failure(given: Material) -> Draft | None:
    row, turn = given.row, given.partner
    if turn is None or not given.here.is_open_turn(turn):
        return None
    status = string(row.meta.get("status"))
    event = GenerationFailure(
        status=status if status in _STATUSES else "indeterminate",  # type: ignore[arg-type]  # one of the literals
        reason=as_code(string(row.meta.get("reason_code")), otherwise="imported"),
        category=as_code(string(row.meta.get("error_category")), otherwise="") or None,
        model=_model(row.meta),
        size_bytes=len(row.content.encode("utf-8", "replace")),
    )
    return Draft(event, given.texts(partial=row.content), turn=turn)


def _commitment_open(given: Material) -> Draft | None:
    meta = given.row.meta
    text = string(meta.get("text")) or string(meta.get("goal")) or _without_prefix(given.row.content)
    if given.linked or not text.strip():
        return None
    origin = _origin(meta.get("origin") or meta.get("source"))
    return Draft(CommitmentOpened(origin=origin), given.texts(commitment=text))


def _commitment_close(given: Material) -> Draft | None:
    meta = given.row.meta
    if given.partner is None or not given.here.is_open_commitment(given.partner):
        return None
    event = CommitmentClosed(
        commitment=given.partner,
        origin=_origin(meta.get("source") or meta.get("origin")),
        reason=as_code(string(meta.get("reason")), otherwise="") or None,
    )
    return Draft(event, given.texts(outcome=string(meta.get("outcome"))))


def _claim(given: Material) -> Draft:
    meta, content = given.row.meta, given.row.content
    head, _, after = content.partition("=")
    stated = head.removeprefix("CLAIM:").strip()
    payload = after if content.startswith("CLAIM:") else content
    json.loads(payload)
    claim = members(payload)
    domain = string(claim.get("domain"))
    event = ClaimAccepted(
        type=string(meta.get("claim_type")) or stated,
        domain=domain if is_name(domain) else "project",
        evidence=_cited(claim.get("evidence_events"), given),
    )
    return Draft(event, given.texts(subject=string(claim.get("subject")), payload=payload))


def _reflection(given: Material) -> Draft | None:
    if not given.row.content.strip():
        return None
    # Only what the reply itself states is the model's; PMM composes the others.
    origin: Origin = "model" if given.row.meta.get("source") == "assistant" else "runtime"
    return Draft(Reflection(origin=origin), given.texts(reflection=given.row.content))


def _inter_ledger_ref(given: Material) -> Draft:
    meta = given.row.meta
    ledger, _, target = given.row.content.removeprefix("REF:").strip().rpartition("#")
    target_hash = string(meta.get("target_hash"))
    event = LedgerReferenced(
        target=int(target),
        verified=meta.get("verified") is True,
        target_hash=target_hash if _HASH.fullmatch(target_hash) else None,
    )
    return Draft(event, given.texts(ledger=ledger))


def _concept_define(given: Material) -> Draft:
    concept = members(given.row.content)
    version = whole(concept.get("version"))
    event = ConceptDefined(
        token=string(concept.get("token")),
        concept_kind=string(concept.get("concept_kind")),
        version=1 if version is None else version,
    )
    attributes = concept.get("attributes")
    texts = given.texts(
        definition=string(concept.get("definition")),
        attributes=json.dumps(attributes, sort_keys=True, ensure_ascii=False) if attributes else "",
    )
    return Draft(event, texts)


def _concept_alias(given: Material) -> Draft:
    concept = members(given.row.content)
    event = ConceptAliased(alias=string(concept.get("from")), token=string(concept.get("to")))
    return Draft(event, given.texts(reason=string(concept.get("reason"))))


def _concept_relate(given: Material) -> Draft:
    concept = members(given.row.content)
    event = ConceptRelated(
        token=string(concept.get("from")),
        relation=string(concept.get("relation")),
        other=string(concept.get("to")),
        weight=_millionths(concept.get("weight", 1)),
    )
    return Draft(event)


def _concept_bind(given: Material) -> Draft | None:
    concept = members(given.row.content)
    tokens = concept.get("tokens")
    if given.partner is None or not isinstance(tokens, list) or not 0 < len(tokens) <= REFERENCES_MAX:
        return None
    event = ConceptBound(
        tokens=tuple(string(token) for token in tokens),
        target=given.partner,
        relation=string(concept.get("relation")) or "evidence",
        weight=_millionths(concept.get("weight", concept.get("confidence", 1))),
    )
    return Draft(event)


def _summary_update(given: Material) -> Draft | None:
    summary = given.texts(summary=given.row.content)
    return Draft(SummaryUpdated(origin="runtime"), summary) if summary else None


def _lifetime_memory(given: Material) -> Draft | None:
    memory = given.texts(memory=given.row.content)
    return Draft(LifetimeMemory(), memory) if memory else None


_MAPPINGS: Final[Mapping[str, Callable[[Material], Draft | None]]] = {
    "user_message": _user_message,
    "assistant_message": _assistant_message,
    "generation_failure": _generation_failure,
    "commitment_open": _commitment_open,
    "commitment_close": _commitment_close,
    "claim": _claim,
    "reflection": _reflection,
    "inter_ledger_ref": _inter_ledger_ref,
    "concept_define": _concept_define,
    "concept_alias": _concept_alias,
    "concept_relate": _concept_relate,
    "concept_bind_event": _concept_bind,
    "concept_bind_thread": _concept_bind,
    "concept_bind_async": _concept_bind,
    "summary_update": _summary_update,
    "lifetime_memory": _lifetime_memory,
}


def _without_prefix(content: str) -> str:
    for prefix in _OPENED:
        content = content.removeprefix(prefix)
    return content


def _origin(source: object) -> Origin:
    return _ORIGINS.get(string(source), "importer")


def _model(meta: Mapping[str, Any]) -> str | None:
    """Return the model's name as `provider:model`, when it is a name."""
    model = ":".join(filter(None, (string(meta.get("provider")), string(meta.get("model")))))
    return model if is_name(model) else None


def _millionths(weight: object) -> int:
    """Return a weight as a whole number of millionths.

    Raises:
        ValueError: it is not a number.

    """
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ValueError("a weight is a number")
    return round(weight * MILLION)


def _cited(ids: object, given: Material) -> tuple[int, ...]:
    """Return the events that were made of the earlier rows with these ids, as far as there are any."""
    if not isinstance(ids, list):
        return ()
    earlier = (source_id for source_id in ids[:REFERENCES_MAX] if 0 < (whole(source_id) or 0) < given.row.id)
    seqs = {given.here.seq_of(source_id) for source_id in earlier}
    return tuple(sorted(seq for seq in seqs if seq is not None))
