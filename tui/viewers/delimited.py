"""CSV and TSV as a table; the lines of a long file are split into cells only when they are looked at."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence

from core.text import clean_line
from tui.viewers.registry import LARGE_LIMIT, Sample, View, Viewer
from tui.viewers.table import Column, Table
from tui.viewers.text_body import TextBody

__all__ = ["VIEWER", "Lines"]

_CELL = 400
_MOST_COLUMNS = 2_000
_LONGEST_RECORD = 1024 * 1024
_SNIFFED = 64 * 1024


class Lines:
    """The records of delimited bytes behind the head: where each begins is known, its cells are read on demand."""

    def __init__(self, data: bytes, delimiter: str, starts: Sequence[int]) -> None:
        self._data = data
        self._delimiter = delimiter
        self._starts = starts

    def __len__(self) -> int:
        """How many records there are."""
        return max(0, len(self._starts) - 1)

    def __getitem__(self, number: int) -> list[str]:
        """The cells of a record, each on one line."""
        piece = self._data[
            self._starts[number] : min(self._starts[number + 1], self._starts[number] + _LONGEST_RECORD)
        ]
        return split_cells(piece, self._delimiter)

    def holds(self, number: int, wanted: bytes) -> bool:
        """Whether a record has these bytes of small letters; quicker than to look at its cells."""
        return wanted in self._data[self._starts[number] : self._starts[number + 1]].lower()


class DelimitedTable(Table):
    """A table over lines; what is plain ASCII is searched without splitting lines into cells."""

    lines: Lines

    def holds(self, number: int, wanted: str) -> bool:
        """Whether a record has a text, given without case, in a cell."""
        if wanted.isascii() and '"' not in wanted and not self.lines.holds(number, wanted.encode()):
            return False
        return super().holds(number, wanted)


def split_cells(piece: bytes, delimiter: str) -> list[str]:
    """The cells of one record; bytes that cannot be read as a record are one cell."""
    text = piece.decode("utf-8", "replace").replace("\0", "\ufffd").strip("\r\n")
    try:
        row = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        row = [text]
    if not row or ("\n" in text and '"' in text):
        # A reader of one "line" ends at a break inside quotes: such a record is read as a whole.
        try:
            row = next(csv.reader(text.splitlines(keepends=True), delimiter=delimiter), [])
        except csv.Error:
            row = [text]
    return [clean_line(cell.replace("\n", " "), _CELL) for cell in row]


def record_starts(data: bytes) -> array[int]:
    """Where every record begins, and where the last one ends; line breaks in quotes end none."""
    starts = array("q")
    quotes = b'"' in data
    begin = at = 0
    balanced = True
    for end in _ends(data):
        if quotes and data.count(b'"', at, end) % 2:
            balanced = not balanced
        at = end
        # A quote that is never closed must not swallow the rest of the file.
        if balanced or end - begin > _LONGEST_RECORD:
            if data[begin:end].strip(b"\r\n") if end - begin <= 2 else True:
                starts.append(begin)
            begin, balanced = end, True
    if begin < len(data):
        starts.append(begin)
    starts.append(len(data))
    return starts


def _ends(data: bytes) -> Iterator[int]:
    at = data.find(b"\n") + 1
    while at:
        yield at
        at = data.find(b"\n", at) + 1
    if not data.endswith(b"\n"):
        yield len(data)


def _view(sample: Sample) -> View:
    kind = "TSV" if sample.suffix == ".tsv" else "CSV"
    raw = TextBody(sample.beginning)
    data = sample.data.removeprefix(b"\xef\xbb\xbf")
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        data = data.decode("utf-16", "replace").encode()
    if not data.strip():
        return View(kind, raw, notice="This file is empty.")
    delimiter = "\t" if kind == "TSV" else _delimiter(data)
    starts = record_starts(data)
    if not sample.complete and len(starts) > 2:
        starts.pop()
    header = split_cells(data[starts[0] : starts[1]], delimiter)
    lines = Lines(data, delimiter, starts[1:])
    width = max([len(header), *(len(lines[number]) for number in range(min(len(lines), 200)))])
    columns = [Column(header[i] if i < len(header) else "") for i in range(min(width, _MOST_COLUMNS))]
    table = DelimitedTable(columns, lines)
    table.lines = lines
    count = len(lines)
    facts = (
        f"{'at least ' if not sample.complete else ''}{count:,} row{'' if count == 1 else 's'}",
        f"{width:,} column{'' if width == 1 else 's'}",
    )
    return View(kind, raw, table, facts, all_rendered=sample.complete)


def _delimiter(data: bytes) -> str:
    line = data[:_SNIFFED].split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(",;\t|", key=line.count)


VIEWER = Viewer("CSV", lambda sample: sample.suffix in {".csv", ".tsv"}, _view, limit=LARGE_LIMIT)
