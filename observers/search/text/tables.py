"""Results in tables: of Markdown, and of values separated by commas, semicolons, tabs or bars below their names."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.text.labels import column_of, linked

_CELLS = re.compile(r"(?<!\\)\|")
_MARKS = (",", "\t", ";", "|")
_LONGEST_HEADER = 400
_LONGEST_NAME = 40
_FENCE = "```"


def tables_in(text: str) -> list[dict[str, Any]]:
    """The rows of all tables of a text that have a column of addresses or links."""
    if "://" not in text:
        return []
    lines = text.splitlines(keepends=True)
    return list(_markdown(lines)) or list(_separated(lines))


def _markdown(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    names: list[str] = []
    for line in lines:
        if not line.lstrip().startswith("|"):
            names = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELLS.split(line.strip().strip("|"))]
        if not names:
            names = [cell.strip("* ").lower() for cell in cells]
            continue
        yield from _row(names, cells)


def _separated(lines: list[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=1):
        # The lines of most texts are looked at no further: rows with an address follow a header.
        if not any("://" in following for following in lines[number : number + 2]):
            continue
        if (header := _header(line)) is None:
            continue
        names, mark = header
        rows = csv.reader(_until_the_end(lines[number:]), delimiter=mark, skipinitialspace=True)
        with suppress(csv.Error):
            for cells in rows:
                if len(cells) > 1:
                    yield from _row(names, cells)
        return


def _header(line: str) -> tuple[list[str], str] | None:
    """The names of the columns and what separates them, if a line is the header of a table of results."""
    if len(line) > _LONGEST_HEADER or "://" in line:
        return None
    for mark in _MARKS:
        names = line.split(mark)
        if len(names) < 2 or max(map(len, names)) > _LONGEST_NAME:
            continue
        names = [name.strip().strip('"').lower() for name in names]
        columns = [column_of(name) for name in names]
        if "url" in columns and ("title" in columns or "snippet" in columns):
            return names, mark
    return None


def _until_the_end(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a table; the end of a block of code ends it."""
    for line in lines:
        if line.startswith(_FENCE):
            return
        yield line


def _row(names: list[str], cells: list[str]) -> Iterator[dict[str, Any]]:
    """The result in a row, if it has an address."""
    item: dict[str, Any] = {}
    text_of_link = None
    for name, cell in zip(names, cells, strict=False):
        column = column_of(name) or name
        link = linked(cell)
        if link:
            text_of_link = text_of_link or link[0]
            item.setdefault("url", link[1])
        value = link[0] if link else cell.strip()
        if value and column and not (column == "url" and "url" in item):
            item[column] = value.strip("<>") if column == "url" else value
    if is_web_url(item.get("url")):
        yield item if "title" in item or not text_of_link else {"title": text_of_link} | item
