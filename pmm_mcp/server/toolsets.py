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
        "governance",
        (
            Listed("pmm_knowledge_raise", "knowledge", APPENDS),
            Listed("pmm_knowledge_policy", "knowledge", READS),
            Listed("pmm_withdraw", "governance", APPENDS),
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
