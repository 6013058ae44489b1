"""The composition root: the one place that reads settings and picks the parts."""

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pmm_mcp.config import Settings
from pmm_mcp.context.guidance import Guide
from pmm_mcp.context.select import Selector
from pmm_mcp.domain.admission import SecretsMode
from pmm_mcp.domain.records import Call
from pmm_mcp.embedders import Embedders
from pmm_mcp.keys import Ed25519Signatures
from pmm_mcp.ledger.sqlite.ledger import open_ledger
from pmm_mcp.ledger.sqlite.others import NeighbouringLedgers
from pmm_mcp.ledger.sqlite.read_only import lying_at, open_read_only
from pmm_mcp.ledger.sqlite.writer import WriterSettings
from pmm_mcp.places import CheckoutFiles, GitPlaces
from pmm_mcp.ports import ChatModels, Clock, IdSource, Ledger, OtherLedgers, Places, Progress, Signatures
from pmm_mcp.providers import Models, ProviderSettings
from pmm_mcp.retrieval.finder import Finder
from pmm_mcp.retrieval.meaning import VectorMeaning
from pmm_mcp.retrieval.sqlite.around import SqliteSurroundings
from pmm_mcp.retrieval.sqlite.lexical import FtsLexical
from pmm_mcp.retrieval.sqlite.relevance import FtsRelevance
from pmm_mcp.services.adoption import AdoptionService
from pmm_mcp.services.beliefs import BeliefService
from pmm_mcp.services.boundary import Boundary
from pmm_mcp.services.cards.linking import LinkService
from pmm_mcp.services.cards.making import CardService
from pmm_mcp.services.cards.retrieving import RetrieveService
from pmm_mcp.services.context import ContextService
from pmm_mcp.services.embedding import EmbeddingService
from pmm_mcp.services.facts import FactService
from pmm_mcp.services.items import ItemService
from pmm_mcp.services.knowledge.distilling import DistillService
from pmm_mcp.services.knowledge.giving_up import DemoteService
from pmm_mcp.services.knowledge.listing import KnowledgeListService
from pmm_mcp.services.knowledge.promoting import PromoteService
from pmm_mcp.services.knowledge.publishing import PublishService
from pmm_mcp.services.ledger import LedgerService
from pmm_mcp.services.places import PlaceService, note_place
from pmm_mcp.services.record import RecordService
from pmm_mcp.services.research import ResearchService
from pmm_mcp.services.retrieval import RetrievalService
from pmm_mcp.services.reviewers import ReviewerService
from pmm_mcp.services.reviewing import ReviewService
from pmm_mcp.services.search import SearchService
from pmm_mcp.services.status import StatusService
from pmm_mcp.services.turn import TurnService, TurnSettings
from pmm_mcp.services.withdraw import WithdrawService
from pmm_mcp.system import SystemClock, SystemIds
from pmm_mcp.turn.recovery import close_abandoned

if TYPE_CHECKING:
    from pmm_mcp.transfer.pmm import PmmImport


@dataclass(frozen=True, slots=True)
class Imports:
    """Brings in what other programs remember; loaded when it is used."""

    ledger: Ledger
    secrets: SecretsMode

    async def pmm(self, path: Path, *, call: Call, progress: Progress | None = None) -> "PmmImport":
        """Bring in a ledger of PMM, or what is new in it; see `import_pmm`."""
        from pmm_mcp.transfer.pmm import import_pmm

        return await import_pmm(self.ledger, path, call=call, secrets=self.secrets, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The services a tool or a command may call."""

    ledger: Ledger
    places: Places
    clock: Clock
    settings: Settings
    status: StatusService
    records: RecordService
    withdrawing: WithdrawService
    placing: PlaceService
    search: SearchService
    context: ContextService
    items: ItemService
    turns: TurnService
    log: LedgerService
    imports: Imports
    distilling: DistillService
    promoting: PromoteService
    demoting: DemoteService
    publishing: PublishService
    knowledge: KnowledgeListService
    cards: CardService
    card_links: LinkService
    card_search: RetrieveService
    adoption: AdoptionService
    research: ResearchService
    facts: FactService
    embedding: EmbeddingService
    retrieval: RetrievalService
    beliefs: BeliefService
    reviewers: ReviewerService
    reviewing: ReviewService

    @property
    def session(self) -> str:
        """The name of this run of a server or a command, unlike any other."""
        return self.ledger.holder.id[:12]


def wire(
    ledger: Ledger,
    *,
    models: ChatModels,
    places: Places,
    others: OtherLedgers,
    clock: Clock,
    settings: Settings,
    signatures: Signatures,
    embedders: Embedders,
) -> App:
    """Build the services on top of any ledger and any models."""
    boundary, lexical = Boundary(settings.secrets), FtsLexical()
    meaning = VectorMeaning(embedders)
    finder = Finder(lexical, SqliteSurroundings(), meaning)
    guide = Guide(FtsRelevance(), lexical)
    turns = TurnService(
        ledger=ledger,
        selector=Selector(finder, guide),
        models=models,
        boundary=boundary,
        others=others,
        clock=clock,
        settings=TurnSettings(
            patience_s=settings.turn_patience_s,
            deadline_s=settings.turn_deadline_s,
            output_tokens=settings.output_budget_tokens,
        ),
    )
    embedding = EmbeddingService(ledger, embedders)
    distilling = DistillService(ledger, boundary, lexical)
    records = RecordService(ledger, boundary, lexical, CheckoutFiles(), meaning)
    return App(
        ledger=ledger,
        places=places,
        clock=clock,
        settings=settings,
        status=StatusService(ledger, turns, models, embedding, settings.chosen_toolsets()),
        records=records,
        withdrawing=WithdrawService(ledger, boundary),
        placing=PlaceService(ledger),
        search=SearchService(ledger, finder, embedding),
        context=ContextService(ledger, guide),
        items=ItemService(ledger, turns),
        turns=turns,
        log=LedgerService(ledger, signatures),
        imports=Imports(ledger, settings.secrets),
        distilling=distilling,
        promoting=PromoteService(ledger, boundary, signatures, clock),
        demoting=DemoteService(ledger, boundary, signatures),
        publishing=PublishService(ledger, boundary, signatures),
        knowledge=KnowledgeListService(ledger, signatures, clock),
        cards=CardService(ledger, distilling, signatures),
        card_links=LinkService(ledger, boundary),
        card_search=RetrieveService(ledger, lexical),
        adoption=AdoptionService(ledger, boundary),
        research=ResearchService(ledger, records),
        facts=FactService(ledger, boundary, clock),
        embedding=embedding,
        retrieval=RetrievalService(ledger),
        beliefs=BeliefService(ledger),
        reviewers=ReviewerService(ledger, boundary, clock),
        reviewing=ReviewService(ledger, boundary, signatures, clock),
    )


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    role: str,
    models: ChatModels | None = None,
    places: Places | None = None,
    clock: Clock | None = None,
    ids: IdSource | None = None,
    environment: Mapping[str, str] | None = None,
    roots: tuple[Path, ...] | None = None,
) -> AsyncGenerator[App, None]:
    """Open everything that must be closed again, in order, and build the app on it.

    Where the settings say to read only, nothing is written on opening, and every write is refused.

    Raises:
        LedgerUnavailableError: the ledger cannot be opened.

    """
    clock, ids = clock or SystemClock(), ids or SystemIds()
    environment = os.environ if environment is None else environment
    embedders = Embedders(settings.embedder, environment)
    chosen = models
    if chosen is None:  # A script is a file, and read at once.
        chosen = await asyncio.to_thread(chat_models, settings, environment)
    async with _ledger(settings, clock=clock, ids=ids, role=role) as ledger:
        if places is None:
            places = await asyncio.to_thread(git_places, environment, clock=clock, roots=roots)
        app = wire(
            ledger,
            models=chosen,
            places=places,
            others=NeighbouringLedgers(settings.db.parent),
            clock=clock,
            settings=settings,
            signatures=Ed25519Signatures(),
            embedders=embedders,
        )
        try:
            yield app
        finally:
            await app.turns.aclose()
            await embedders.aclose()
            if models is None and isinstance(chosen, Models):
                await chosen.aclose()


@asynccontextmanager
async def log_of(settings: Settings, *, role: str) -> AsyncGenerator[LedgerService, None]:
    """Open what verifies the ledger as its file lies there: it is not opened, and no event is written.

    Raises:
        LedgerUnavailableError: there is no file.

    """
    ledger = await lying_at(
        settings.db, clock=SystemClock(), ids=SystemIds(), role=role, may_note=not settings.read_only
    )
    try:
        yield LedgerService(ledger, Ed25519Signatures())
    finally:
        await ledger.aclose()


def _ledger(
    settings: Settings, *, clock: Clock, ids: IdSource, role: str
) -> AbstractAsyncContextManager[Ledger]:
    if settings.read_only:
        return open_read_only(settings.db, clock=clock, ids=ids, role=role)
    return open_ledger(
        settings.db,
        clock=clock,
        ids=ids,
        role=role,
        housekeeping=(note_place, close_abandoned),
        settings=WriterSettings(lease_wait_s=settings.lease_wait_s, lease_ttl_s=settings.lease_ttl_s),
    )


def chat_models(settings: Settings, environment: Mapping[str, str]) -> Models:
    """Return the models that the settings and the environment name."""
    return Models(
        ProviderSettings(
            timeout_s=settings.provider_timeout_s, retries=settings.provider_retries, env=environment
        ),
        default=settings.model,
    )


def git_places(
    environment: Mapping[str, str], *, clock: Clock, roots: tuple[Path, ...] | None = None
) -> GitPlaces:
    """Return what finds the place of a call; with `roots`, only below those directories."""
    here = ""
    with suppress(OSError):  # The directory may have been deleted under us.
        here = os.getcwd()
    return GitPlaces(environment, here, clock=clock.monotonic, roots=roots)
