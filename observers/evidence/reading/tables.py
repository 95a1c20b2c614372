"""Tables: the headers of their cells, and the cells of a line that are separated by "|"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ua_tui.observers.evidence.figures.headers import header_unit
from ua_tui.observers.evidence.reading.drafts import Draft, Place
from ua_tui.observers.evidence.report import Cell

_FIGURE = re.compile(r"\W{0,3}\d")
_LONGEST_HEADER = 200
_CELL = re.compile(r"(?:[^|\\]|\\.|\\$)*+")
_DELIMITER = re.compile(r"[ \t]{0,9}\|?(?:[ \t]{0,9}:?-{1,200}:?[ \t]{0,9}(?:\||$))+[ \t]{0,9}$")
_MOST_CELLS = 100


def cells_of_drafts(drafts: Sequence[Draft], figures: Mapping[int, int]) -> dict[int, Cell]:
    """The cells of the drafts that are in tables, by `id`; `figures` has the figure that each table is in."""
    tables: dict[int, list[tuple[Place, Draft]]] = {}
    captions: dict[int, str] = {}
    of_figures: dict[int, str] = {}
    for draft in drafts:
        if draft.is_hidden:
            continue
        if draft.place is not None:
            tables.setdefault(draft.place.table, []).append((draft.place, draft))
        elif draft.caption_of:
            captions.setdefault(draft.caption_of, draft.text[:_LONGEST_HEADER])
        elif draft.kind == "caption" and draft.figure:
            of_figures.setdefault(draft.figure, draft.text[:_LONGEST_HEADER])
    found: dict[int, Cell] = {}
    for number, (table, cells) in enumerate(tables.items()):
        caption = captions.get(table) or of_figures.get(figures.get(table, 0), "")
        found |= _table(number, cells, caption)
    return found


def _table(number: int, cells: Sequence[tuple[Place, Draft]], caption: str) -> dict[int, Cell]:
    rows: dict[int, list[tuple[Place, str]]] = {}
    for place, draft in cells:
        rows.setdefault(place.row, []).append((place, draft.text[:_LONGEST_HEADER]))
    headers = _header_rows(rows)
    columns: dict[int, list[str]] = {}
    for row in sorted(headers):
        for place, text in rows[row]:
            for column in range(place.column, place.column + place.columns):
                columns.setdefault(column, []).append(text)
    firsts = _row_headers(rows, headers)
    # "Mio. CHF" above the names of the rows is of all columns.
    corner = " ".join(columns.get(0, ()))
    caption = caption or (corner if header_unit(corner) == corner else "")
    found: dict[int, Cell] = {}
    for place, draft in cells:
        is_header = place.row in headers or place.is_header
        first = firsts.get(place.row)
        has_first = first is not None and not is_header and place.column > first[0].column
        found[id(draft)] = Cell(
            table=number,
            row=place.row,
            column=place.column,
            row_header=first[1] if has_first and first is not None else "",
            column_header=""
            if place.row in headers
            else " ".join(dict.fromkeys(columns.get(place.column, ()))),
            caption=caption,
            is_header=is_header,
        )
    return found


def _header_rows(rows: Mapping[int, Sequence[tuple[Place, str]]]) -> set[int]:
    """The rows that are headers: marked ones, else the first row if it has words and the others have figures."""
    marked = {row for row, cells in rows.items() if any(place.in_head for place, _ in cells)}
    for row in sorted(rows):
        if not (row in marked or all(place.is_header for place, _ in rows[row])):
            break
        marked.add(row)
    if marked:
        return marked
    first = min(rows)
    if len(rows) < 2 or any(_FIGURE.match(text) for _, text in rows[first]):
        return set()
    others: Iterable[str] = (text for row, cells in rows.items() if row != first for _, text in cells)
    return {first} if any(_FIGURE.match(text) for text in others) else set()


def _row_headers(
    rows: Mapping[int, Sequence[tuple[Place, str]]], headers: set[int]
) -> dict[int, tuple[Place, str]]:
    """The first cell of each row, also of those that a cell above reaches into."""
    found: dict[int, tuple[Place, str]] = {}
    for row in sorted(rows):
        if row in headers:
            continue
        first = next(((place, text) for place, text in rows[row] if place.is_header), rows[row][0])
        if first[0].column == 0 or first[0].is_header:
            for each in range(row, row + first[0].rows):
                found.setdefault(each, first)
    return found


def is_delimiter_row(line: str) -> bool:
    """Whether a line is the one below the header of a table, such as "|---|---:|"."""
    return (
        "-" in line and ("|" in line or ":" in line) and _DELIMITER.match(line[:2_000].rstrip()) is not None
    )


def cells_of(source: str, start: int, end: int) -> list[tuple[int, int]]:
    """The ranges of the cells in a line, without the spaces around them; `end` is before the end of the line."""
    start, end = _trimmed(source, start, end)
    if start < end and source[start] == "|":
        start += 1
    cells: list[tuple[int, int]] = []
    while start < end and len(cells) < _MOST_CELLS:
        found = _CELL.match(source, start, end)
        stop = found.end() if found else end
        cells.append(_trimmed(source, start, stop))
        start = stop + 1
    return cells


def _trimmed(source: str, start: int, end: int) -> tuple[int, int]:
    piece = source[start:end]
    left = start + len(piece) - len(piece.lstrip(" \t"))
    return left, max(left, start + len(piece.rstrip()))
