"""The tools. Each family registers by being named here."""

from typing import Final

from pmm_mcp.server.families import Family
from pmm_mcp.server.tools.core import CORE
from pmm_mcp.server.tools.ledger import LEDGER

FAMILIES: Final[tuple[Family, ...]] = (CORE, LEDGER)
