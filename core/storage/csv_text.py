"""CSV that a spreadsheet opens without taking a text for a formula."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any

from ua_tui.core.text import clean

# Signs of full width count in East Asia. A spreadsheet that is set to semicolons cuts the text at these, at tabs and,
# as it does not see the quotation marks, at line breaks; the lists of Markdown stay as they are.
_FORMULA = re.compile(r"(?<![^;\t])(?=[-+=@－＋＝＠])|\A(?=[\t\r])|(?<=\n)(?=[=@＝＠])")


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV with the line break of Unix."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def spreadsheet_cell(value: Any) -> str | int | float:
    """Return a cell; an apostrophe is before what a spreadsheet would take for a formula."""
    if value is None or isinstance(value, bool | int | float):
        return "" if value is None else value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = "; ".join(value)
    text = clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    try:
        float(text)
    except ValueError:
        return _FORMULA.sub("'", text)
    return text
