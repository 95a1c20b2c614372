"""CSV that a spreadsheet opens without taking a text for a formula."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from ua_tui.core.text import clean

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV with the line break of Unix."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def spreadsheet_cell(value: Any) -> str | int | float:
    """Return a cell; a text that a spreadsheet would take for a formula begins with an apostrophe."""
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = "; ".join(value)
    text = clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    if text.startswith(_FORMULA):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text
