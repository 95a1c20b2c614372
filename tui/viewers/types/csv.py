"""CSV and TSV as a table; the lines of a long file are split into cells on demand."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Sequence

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.bodies.table import Table, TableColumn, cell_of
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import LARGE_LIMIT, Sample, View, Viewer

_MAX_COLUMNS = 2_000
_MAX_RECORD = 1024 * 1024
_WINDOW = 2 * _MAX_RECORD
_MAX_SHOWN = 64 * 1024
_QUOTED = re.compile(r'["\r\n]')
_LINE = re.compile(rb"[^\r\n][^\n]*\n?")
_RECORD = re.compile(rb'[^"\n]*+(?:"[^"]*+"[^"\n]*+)*+\n?')


class Lines:
    """The records after the head: the start of each is known, its cells are parsed on demand."""

    def __init__(self, data: bytes, delimiter: str, starts: Sequence[int]) -> None:
        self._data = data
        self._delimiter = delimiter
        self._starts = starts

    def __len__(self) -> int:
        """Return the number of records."""
        return max(0, len(self._starts) - 1)

    def __getitem__(self, number: int) -> Sequence[str]:
        """Return the cells of a record; only the first cells of a very long record."""
        start, end = self._starts[number], self._starts[number + 1]
        return _parsed(self._data[start : min(end, start + _MAX_SHOWN)], self._delimiter)

    def whole(self, number: int) -> Sequence[str]:
        """Return the cells of a record as they are in the file."""
        return _parsed(self._data[self._starts[number] : self._starts[number + 1]], self._delimiter)

    def holds(self, number: int, wanted: bytes) -> bool:
        """Whether a record contains these bytes in lower case; quicker than parsing its cells."""
        return wanted in self._data[self._starts[number] : self._starts[number + 1]].lower()


class DelimitedTable(Table):
    """A table over lines; ASCII text is searched without splitting lines into cells."""

    lines: Lines

    def whole_row(self, number: int) -> Sequence[str]:
        """Return the cells of a record as they are in the file."""
        return self.lines.whole(number)

    def holds(self, number: int, wanted: str) -> bool:
        """Whether a cell of a record contains a casefolded text."""
        if wanted.isascii() and '"' not in wanted and not self.lines.holds(number, wanted.encode()):
            return False
        return super().holds(number, wanted)


def _parsed(piece: bytes, delimiter: str) -> list[str]:
    text = piece.decode("utf-8", "replace").replace("\0", "\ufffd").strip("\r\n")
    if text and _QUOTED.search(text) is None:
        return text.split(delimiter, _MAX_COLUMNS)[:_MAX_COLUMNS]
    try:
        return next(csv.reader(io.StringIO(text), delimiter=delimiter), [])[:_MAX_COLUMNS]
    except csv.Error:
        return [text]


def record_starts(data: bytes) -> array[int]:
    """Return where every record begins, and where the last one ends; line breaks in quotes do not end a record.

    Raises:
        Stopped: the result is no longer needed.
    """
    starts = array("q")
    at = 0
    while at < len(data):
        check_stopped()
        if b'"' not in data[at : at + _MAX_RECORD]:
            end = data.rfind(b"\n", at, at + _MAX_RECORD) + 1 or min(len(data), at + _MAX_RECORD)
            starts.extend(match.start() for match in _LINE.finditer(data, at, end))
            at = end
            continue
        window = min(len(data), at + _WINDOW)
        for match in _RECORD.finditer(data, at, window):
            is_too_long = match.end() - match.start() > _MAX_RECORD
            if is_too_long or (data[match.end() - 1 : match.end()] != b"\n" and match.end() < len(data)):
                if not is_too_long and match.start() > at and window < len(data):
                    # The window may end in the middle of it.
                    at = match.start()
                    break
                # An unclosed quote must not include the rest of the file.
                starts.append(match.start())
                at = data.find(b"\n", match.start()) + 1 or len(data)
                break
            if match.end() - match.start() > 2 or match.group().strip(b"\r\n"):
                starts.append(match.start())
        else:
            at = window
    starts.append(len(data))
    return starts


def _view(sample: Sample) -> View:
    kind = "TSV" if sample.suffix == ".tsv" else "CSV"
    raw = TextBody(sample.beginning)
    data = sample.data.removeprefix(b"\xef\xbb\xbf")
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        data = data.decode("utf-16", "replace").encode()
    if not data or data.isspace():
        return View(kind, raw, notice="This file is empty.")
    delimiter = "\t" if kind == "TSV" else _delimiter(data)
    starts = record_starts(data)
    if not sample.complete and len(starts) > 2:
        starts.pop()
    header = _parsed(data[starts[0] : min(starts[1], starts[0] + _MAX_SHOWN)], delimiter)
    # A copy of millions of numbers would block every other thread.
    lines = Lines(data, delimiter, memoryview(starts)[1:])
    width = max([len(header), *(len(lines[number]) for number in range(min(len(lines), 200)))])
    columns = [TableColumn(cell_of(header, i)) for i in range(min(width, _MAX_COLUMNS))]
    table = DelimitedTable(columns, lines)
    table.lines = lines
    facts = (
        f"{'' if sample.complete else 'at least '}{quantity(len(lines), 'row')}",
        f"{'at least ' if width >= _MAX_COLUMNS else ''}{quantity(width, 'column')}",
    )
    return View(kind, raw, table, facts, all_rendered=sample.complete)


def _delimiter(data: bytes) -> str:
    line = data[: (64 * 1024)].split(b"\n", 1)[0].decode("utf-8", "replace")
    return max(",;\t|", key=line.count)


VIEWER = Viewer("CSV", lambda sample: sample.suffix in {".csv", ".tsv"}, _view, limit=LARGE_LIMIT)
