"""What providers write before the fields of a result, in many languages: `Title: …`, `链接：…`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url

_COLUMNS: dict[str, str] = tomllib.loads(Path(__file__).with_name("labels.toml").read_text(encoding="utf-8"))
_LABELS = {
    label: column for column, labels in _COLUMNS.items() for label in " ".join(labels.split()).split(", ")
}

_LONGEST_LABEL = 24
_FURTHEST = 64
_MARKS = re.compile(r"[^\w\[<>|]{0,12}(?:(?:\[?\d{1,3}[\]).:]|【\d{1,3}】)\s{0,4})?[^\w\[<>|]{0,12}")
_AFTER = re.compile(r"\**[ \t]*")
_COLON = re.compile("[:：]")
_SEPARATOR = re.compile("[|;,·•｜；，、]")


def column_of(name: str) -> str | None:
    """The column of a field or of a column of a table, or None if its name is unknown."""
    return _LABELS.get(name.strip().strip("*_ ").replace("_", " ").casefold())


def without_marks(line: str) -> str:
    """A line without the bullets, numbers and symbols before its text."""
    found = _MARKS.match(line)
    return line[found.end() :] if found else line


def label_in(line: str) -> tuple[str, str] | None:
    """The label that a line begins with, and its value."""
    if ":" not in (begin := line[:_FURTHEST]) and "：" not in begin:
        return None
    marks = _MARKS.match(line)
    start = marks.end() if marks else 0
    colon = _COLON.search(line, start, start + _LONGEST_LABEL + 4)
    if colon is None:
        return None
    column = _LABELS.get(line[start : colon.start()].strip("* \t").casefold())
    after = _AFTER.match(line, colon.end())
    return (column, line[after.end() if after else colon.end() :].strip()) if column else None


def labels_on_one_line(line: str) -> dict[str, Any] | None:
    """The fields of a result whose labels are all on one line, or None if the line is something else.

    Labels are separated by marks such as `|`, or before the text of a result by spaces alone.
    """
    found: dict[str, tuple[int, int]] = {}
    marks = _MARKS.match(line)
    start = marks.end() if marks else 0
    for colon in _COLON.finditer(line, start):
        if line.startswith("//", colon.end()):
            continue
        part = line[max(start, colon.start() - _LONGEST_LABEL) : colon.start()].rstrip("* ")
        column, place = _label_at_end(part, alone=not found, apart="snippet" in found)
        if column is None:
            if not found:
                return None
            continue
        if column not in found:
            found[column] = (max(start, colon.start() - _LONGEST_LABEL) + place, colon.end())
        start = colon.end()
    ends = [*(begin for begin, _ in list(found.values())[1:]), len(line)]
    item = {
        column: line[value:end].strip(" \t*|;,·•-｜；，、")
        for (column, (_, value)), end in zip(found.items(), ends, strict=True)
    }
    address = str(item.get("url", "")).strip("<>").split(maxsplit=1)[:1]
    if not address or not is_web_url(address[0]) or not ("title" in item or "snippet" in item):
        return None
    return item | {"url": address[0]}


def _label_at_end(part: str, *, alone: bool, apart: bool) -> tuple[str | None, int]:
    """The column whose label a text ends with, and where the label begins.

    `alone` says that the text has to be nothing else, `apart` that a mark has to be before the label.
    """
    marks = list(_SEPARATOR.finditer(part))
    begin = marks[-1].end() if marks else 0
    words = part[begin:]
    places = [begin + len(words) - len(words.lstrip("* -"))]
    if not alone and not apart:
        places += [begin + at + 1 for at, character in enumerate(words) if character == " "]
    elif apart and not marks:
        return None, 0
    for place in places:
        if column := _LABELS.get(part[place:].strip("* ").casefold()):
            return column, place
    return None, 0
