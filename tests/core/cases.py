"""Tables of cases, which lie as JSON beside the test that reads them: one case a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def cases_of(test: str) -> dict[str, Any]:
    """The tables of a test file, which is given as `__file__`."""
    tables: dict[str, Any] = json.loads(Path(test).with_suffix(".json").read_text("utf-8"))
    return tables
