"""The tools, as a table: each registers by being named here, in the order an agent meets it."""

from typing import Final

from pmm_mcp.server.families import APPENDS, ASKS_A_MODEL, READS, Family, Listed

FAMILIES: Final[tuple[Family, ...]] = (
    Family(
        "core",
        (
            Listed("pmm_status", "status", READS),
            Listed("pmm_turn", "turn", ASKS_A_MODEL),
            Listed("pmm_turn_begin", "turn", APPENDS),
            Listed("pmm_turn_finish", "turn", APPENDS),
            Listed("pmm_context", "context", READS),
            Listed("pmm_search", "memory", READS),
            Listed("pmm_record", "memory", APPENDS),
            Listed("pmm_get", "memory", READS),
        ),
    ),
    Family(
        "knowledge",
        (
            Listed("pmm_knowledge_distill", "knowledge", APPENDS),
            Listed("pmm_knowledge_gate", "knowledge", READS),
            Listed("pmm_knowledge_promote", "knowledge", APPENDS),
            Listed("pmm_knowledge_demote", "knowledge", APPENDS),
            Listed("pmm_knowledge_publish", "knowledge", APPENDS),
            Listed("pmm_knowledge_list", "knowledge", READS),
        ),
    ),
    Family(
        "cards",
        (
            Listed("pmm_card_create", "cards", APPENDS),
            Listed("pmm_card_link", "cards", APPENDS),
            Listed("pmm_card_retrieve", "cards", READS),
        ),
    ),
    Family(
        "adoption",
        (
            Listed("pmm_adoption_record", "adoption", APPENDS),
            Listed("pmm_adoption_report", "adoption", READS),
        ),
    ),
    Family(
        "governance",
        (
            Listed("pmm_knowledge_raise", "knowledge", APPENDS),
            Listed("pmm_knowledge_policy", "knowledge", READS),
            Listed("pmm_card_backfill", "cards", APPENDS),
            Listed("pmm_research_validate", "adoption", READS),
            Listed("pmm_research_record", "adoption", APPENDS),
            Listed("pmm_withdraw", "governance", APPENDS),
        ),
    ),
    Family(
        "facts",
        (
            Listed("pmm_fact_assert", "facts", APPENDS),
            Listed("pmm_fact_query", "facts", READS),
            Listed("pmm_fact_check", "facts", READS),
        ),
    ),
    Family(
        "ledger",
        (
            Listed("pmm_ledger_events", "ledger", READS),
            Listed("pmm_ledger_verify", "ledger", READS),
        ),
    ),
)
