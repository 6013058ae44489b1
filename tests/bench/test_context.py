"""Guidance through the service and through a client, against one query to the same FTS5 index."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from mcp import Client

from pmm_mcp.bootstrap import App
from pmm_mcp.config import Settings
from pmm_mcp.retrieval.grammar import parse
from pmm_mcp.services.context import ContextInput
from tests.bench.beliefs import believe
from tests.bench.conftest import Board
from tests.bench.ledgers import CALL, DOCUMENTS, Words, copy_of, ledger_of
from tests.bench.minds import app_on
from tests.bench.peers import OURS, Peer, environment
from tests.bench.report import Row
from tests.bench.timing import MILLI, Subject, side_by_side
