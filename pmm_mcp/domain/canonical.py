"""The one way a record is turned into bytes: RFC 8785 (JCS), for the subset of JSON the ledger uses."""

from collections.abc import Mapping
from typing import Any

import orjson


def canonical(value: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of a record: keys sorted, no spaces, UTF-8.

    Equal to RFC 8785 for what records hold: ASCII keys, strings, integers within ±(2⁵³−1), booleans,
    lists and objects. There are no floats and no nulls.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
