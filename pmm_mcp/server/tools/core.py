"""The core toolset, in the order an agent meets it."""

from typing import Final

from pmm_mcp.server.families import APPENDS, ASKS_A_MODEL, READS, Family
from pmm_mcp.server.tools.memory import pmm_get, pmm_record, pmm_search
from pmm_mcp.server.tools.status import pmm_status
from pmm_mcp.server.tools.turn import pmm_turn, pmm_turn_begin, pmm_turn_finish

CORE: Final = Family(
    "core",
    (
        (pmm_status, READS),
        (pmm_turn, ASKS_A_MODEL),
        (pmm_turn_begin, APPENDS),
        (pmm_turn_finish, APPENDS),
        (pmm_search, READS),
        (pmm_record, APPENDS),
        (pmm_get, READS),
    ),
)
