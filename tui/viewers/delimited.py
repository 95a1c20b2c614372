"""CSV and TSV as a table."""

from __future__ import annotations

import csv
import io

from core.text import clean_line
from tui.viewers.registry import Sample, View, Viewer
from tui.viewers.table_body import TableBody
from tui.viewers.text_body import TextBody

__all__ = ["VIEWER"]

_MOST_ROWS = 50_000
_CELL = 200


def _view(sample: Sample) -> View:
    kind = "TSV" if sample.suffix == ".tsv" else "CSV"
    text = sample.data.decode("utf-8-sig", "replace").replace("\0", "\ufffd")
    raw = TextBody(sample.text)
    if not text.strip():
        return View(kind, raw, notice="This file is empty.")
    delimiter = "\t" if kind == "TSV" else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append([clean_line(cell, _CELL) for cell in row])
            if len(rows) > _MOST_ROWS:
                break
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if not sample.complete and len(rows) > 1:
        rows.pop()
    header = rows[0]
    width = max(len(row) for row in rows[:1000])
    header += [""] * (width - len(header))
    count = len(rows) - 1
    return View(
        kind,
        raw,
        TableBody(header, rows[1:]),
        (
            f"{'at least ' if not sample.complete else ''}{count:,} row{'' if count == 1 else 's'}",
            f"{width} columns",
        ),
    )


def _delimiter(text: str) -> str:
    line = text.split("\n", 1)[0]
    return max(",;\t|", key=line.count)


VIEWER = Viewer("CSV", lambda sample: sample.suffix in {".csv", ".tsv"}, _view)
