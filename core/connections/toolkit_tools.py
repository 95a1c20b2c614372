"""The local toolkit's name and the descriptions of its tools, without importing them.

Like `toolkit.py`, this module imports nothing slow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from ua_tui.core.json_values import JsonMapping, JsonObject

SERVER = "local_toolkit"
PROGRAM = "ua_tui.core.toolkit"


@cache
def toolkit_tools() -> Mapping[str, Sequence[JsonMapping]]:
    """What `tools/list` says of the tools that there `always` are, for `knowledge` and for a `sandbox`.

    `toolkit.json` is generated from the tools, so that nothing of them is imported to list them.
    """
    with open(__file__.rpartition("_")[0] + ".json", encoding="utf-8") as file:
        found: dict[str, list[JsonObject]] = json.load(file)
    return found
