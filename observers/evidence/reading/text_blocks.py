"""Reads plain text: paragraphs between blank lines, lists, tables of "|", and headings where they are clear."""

from __future__ import annotations

import re

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.observers.evidence.reading.elements import COST_OF_LINE, Flow
from ua_tui.observers.evidence.reading.entries import is_list_of_sources
from ua_tui.observers.evidence.reading.tables import cells_of, is_delimiter_row

_LINE = re.compile(r"[^\r\n]*")
_BREAK = re.compile(r"\r\n?|\n")
_ITEM = re.compile(
    r"[ \t]{0,40}(?:(?:[-*•‣▪◦–]|(\d{1,3})[.)])[ \t]{1,9}|\[\^?(\d{1,3})\]:?[ \t]{0,9}|\((\d{1,3})\)[ \t]{1,9})(?=\S)"
)
_UNDERLINE = re.compile(r"[ \t]{0,40}(?:={3,}|-{3,}|~{3,}|\*{3,}|_{3,})[ \t]*$")
_NUMBERED = re.compile(r"(?:\d{1,2}\.){1,4}\d{0,2}[ \t]+\S|[IVX]{1,5}\.[ \t]+\S")
_QUOTED = re.compile(r"[ \t]{0,3}>[ \t]?")
_LONGEST_HEADING = 100
_MOST_LINES = 1_000
"""Lines without a blank one between them that are read at once."""
_CHECKED = 256

Line = tuple[int, int]


def read_text(source: str, end: int, flow: Flow, stop: Stop = NEVER) -> None:
    """Read a text into the elements of a document.

    Raises:
        Stopped: the flag was set.
    """
    lines: list[Line] = []
    at, number = 0, 0
    while at < end and not flow.is_full:
        number += 1
        if not number % _CHECKED:
            stop.check()
        flow.spend(COST_OF_LINE)
        found = _LINE.match(source, at, end)
        assert found is not None
        is_blank = not source[at : found.end()].strip()
        if is_blank or len(lines) >= _MOST_LINES:
            _group(source, lines, flow)
            lines = []
        if not is_blank:
            lines.append(found.span())
        line_break = _BREAK.match(source, found.end(), end)
        at = line_break.end() if line_break else found.end() + 1
    _group(source, lines, flow)


def _group(source: str, lines: list[Line], flow: Flow) -> None:
    """Read lines without a blank one between them."""
    at = 0
    while at < len(lines) and (heading := _heading_at(source, lines, at)):
        level, count = heading
        _element(source, f"h{level}", lines[at : at + 1], flow)
        at += count
    rest = lines[at:] if at else lines
    if not rest:
        return
    if len(rest) > 1 and "|" in source[slice(*rest[0])] and is_delimiter_row(source[slice(*rest[1])]):
        _table(source, rest, flow)
    elif all(_QUOTED.match(source, *line) for line in rest):
        flow.start("blockquote", {}, rest[0][0])
        _element(source, "p", [(_after(_QUOTED, source, line), line[1]) for line in rest], flow)
        flow.end("blockquote", rest[-1][1])
    else:
        _paragraphs(source, rest, flow)


def _paragraphs(source: str, lines: list[Line], flow: Flow) -> None:
    """Read lines as paragraphs and items."""
    part: list[Line] = []
    label: str | None = None
    for line in lines:
        if flow.is_full:
            break
        if _UNDERLINE.match(source, *line):
            _part(source, part, label, flow)
            part, label = [], None
        elif item := _ITEM.match(source, *line):
            _part(source, part, label, flow)
            part, label = [(item.end(), line[1])], item[1] or item[2] or item[3] or ""
        else:
            part.append(line)
    _part(source, part, label, flow)


def _part(source: str, lines: list[Line], label: str | None, flow: Flow) -> None:
    if not lines:
        return
    if label is None:
        _element(source, "p", lines, flow)
        return
    flow.start("ul", {}, lines[0][0])
    flow.start("li", {"value": label}, lines[0][0])
    _element(source, "p", lines, flow)
    flow.end("ul", lines[-1][1])


def _element(source: str, name: str, lines: list[Line], flow: Flow) -> None:
    flow.start(name, {}, lines[0][0])
    for start, end in lines:
        flow.text(start, end, has_entities=False)
        flow.space(max(end - 1, start))
    flow.end(name, lines[-1][1])


def _table(source: str, lines: list[Line], flow: Flow) -> None:
    flow.start("table", {}, lines[0][0])
    for number, line in enumerate(lines):
        if flow.is_full:
            break
        if number == 1:
            continue
        flow.start("tr", {}, line[0])
        for start, end in cells_of(source, *line):
            flow.start("td" if number else "th", {}, start)
            flow.text(start, end, has_entities=False)
            flow.end("td" if number else "th", end)
    flow.end("table", lines[-1][1])


def _heading_at(source: str, lines: list[Line], at: int) -> tuple[int, int] | None:
    """The level of the heading at a line, and the number of its lines; None if it is none."""
    text = source[slice(*lines[at])].strip()
    if len(text) > _LONGEST_HEADING or not any(each.isalpha() for each in text):
        return None
    following = lines[at + 1] if at + 1 < len(lines) else None
    if following and _UNDERLINE.match(source, *following) and not _ITEM.match(source, *lines[at]):
        return (1 if source[slice(*following)].strip()[0] == "=" else 2), 2
    if _is_capital(text) or is_list_of_sources(text):
        return 2, 1
    if (
        following is None
        and not at
        and _NUMBERED.match(text)
        and text[-1] not in ".,;!?"
        and len(text.split()) <= 12
    ):
        return 2, 1
    return None


def _is_capital(text: str) -> bool:
    """Whether a line has only capital letters, and enough of them to be a heading."""
    return text.isupper() and sum(each.isalpha() for each in text) > 3 and text[-1] not in ".,;"


def _after(pattern: re.Pattern[str], source: str, line: Line) -> int:
    found = pattern.match(source, *line)
    return found.end() if found else line[0]
