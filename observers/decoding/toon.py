"""Decodes TOON (Token-Oriented Object Notation) within a text, as far as it goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from ua_tui.observers.decoding.lenient import JSON
from ua_tui.observers.decoding.truncated_json import CUT_OFF

_DEEPEST = 32
_MAX_TEXT = 16 << 20
_MOST_LINES = 200_000
_HEADER = re.compile(
    r'(?P<key>"(?:[^"\\\n]|\\.)*+"|[\w.-]*+)\[#?(?P<count>\d{1,9})(?P<marks>[\t|,:]{0,2})\]'
    r"(?:\{(?P<fields>[^\n]{1,2000}?)\})?:(?:[ \t]*(?P<inline>\S.*))?"
)
_FIELD = re.compile(r'(?P<key>"(?:[^"\\\n]|\\.)*+"|[\w.-]++):(?: +(?P<value>.*)|$)')
_LIST = re.compile(
    r'^[ ]*(?:- )?(?:"(?:[^"\\\n]|\\.)*+"|[\w.-]*+)\[#?\d{1,9}[\t|,:]{0,2}\](?:\{[^\n]{1,2000}?\}:[ ]*$|:[ ]*\n[ ]*- )',
    re.MULTILINE,
)
_OPENED = re.compile(r'\s*+"')
_QUOTED = re.compile(r'\s*+"[^"\\]*+(?:\\.[^"\\]*+)*+"')
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_NAMES = {"true": True, "false": False, "null": None}
_GROUP = re.compile(r"[{},\t|]|[^{},\t|]+")


@dataclass(frozen=True, slots=True)
class ToonDocument:
    """A document of a text: its value, the text around it, and whether less is there than it declares."""

    value: Any
    prose: str
    truncated: bool


class _Line(NamedTuple):
    indent: int
    text: str


def has_toon(text: str) -> bool:
    """Whether a text has the header of a table or list, such as `results[3]{title,url}:`."""
    return "]" in text and _LIST.search(text) is not None


def find_toon(text: str) -> ToonDocument | None:
    """The document that contains the first table or list of a text, or None when the text has none."""
    found = _LIST.search(text) if "]" in text and len(text) <= _MAX_TEXT else None
    if found is None or text.count("\n") > _MOST_LINES:
        return None
    lines = text.splitlines()
    header = text.count("\n", 0, found.start())
    first = header
    while first > 0 and _FIELD.fullmatch(lines[first - 1].strip()):
        first -= 1
    reader = _Reader([_Line(len(line) - len(line.lstrip(" ")), line.strip(" \r")) for line in lines[first:]])
    try:
        value = reader.read()
    except RecursionError:
        return None
    prose = "\n".join((*lines[:first], *lines[first + reader.at :]))
    return ToonDocument(value, prose.strip(), reader.truncated) if value else None


class _Reader:
    """Reads lines in order; what is indented deeper belongs to what is above it."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self.at = 0
        self.truncated = False

    def read(self) -> Any:
        """The object or list that the lines begin with."""
        base = self._lines[0].indent
        root = _HEADER.fullmatch(self._lines[0].text)
        if root is not None and not root["key"]:
            self.at = 1
            return self._array(root, base, 0)
        return self._object(base, 0)

    def _skip_blank(self) -> _Line | None:
        """The next line with text, or None at the end."""
        while self.at < len(self._lines) and not self._lines[self.at].text:
            self.at += 1
        return self._lines[self.at] if self.at < len(self._lines) else None

    def _object(self, indent: int, depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        while (line := self._skip_blank()) is not None and line.indent >= indent and depth < _DEEPEST:
            if header := _HEADER.fullmatch(line.text):
                self.at += 1
                value[_key(header["key"])] = self._array(header, line.indent, depth + 1)
            elif field := _FIELD.fullmatch(line.text):
                self.at += 1
                value[_key(field["key"])] = (
                    self._inner(line.indent, depth + 1) if field["value"] is None else _scalar(field["value"])
                )
            else:
                break
        return value

    def _inner(self, indent: int, depth: int) -> dict[str, Any]:
        following = self._skip_blank()
        return self._object(following.indent, depth) if following and following.indent > indent else {}

    def _array(self, header: re.Match[str], indent: int, depth: int) -> list[Any]:
        mark = header["marks"].replace(":", "") or ","
        if header["inline"]:
            return [_scalar(cell) for cell in _cells(header["inline"], mark)[0]]
        count = int(header["count"])
        if header["fields"]:
            items: list[Any] = self._table(header, mark, indent, count)
        else:
            items = self._list(indent, depth)
        self.truncated = self.truncated or len(items) < count
        return items

    def _table(self, header: re.Match[str], mark: str, indent: int, count: int) -> list[dict[str, Any]]:
        paths = _paths(header["fields"])
        keyed = ":" in header["marks"]
        rows: list[dict[str, Any]] = []
        following = self._skip_blank()
        # Some write the rows without the indentation.
        flat = following is not None and following.indent <= indent
        while (line := self._skip_blank()) is not None and (
            len(rows) < count if flat else line.indent > indent
        ):
            text = line.text
            row: dict[str, Any] = {}
            if keyed:
                name, _, text = text.partition(":")
                row["key"] = _key(name.strip())
            cells, is_open = _cells(text, mark)
            if flat and len(cells) < 2 <= len(paths):
                break
            self.at += 1
            if len(cells) > len(paths):
                cells[len(paths) - 1 :] = [mark.join(cells[len(paths) - 1 :])]
            for path, cell in zip(paths, cells, strict=False):
                _assign(row, path, _scalar(cell))
            if is_open or len(cells) < len(paths):
                row[CUT_OFF] = paths[len(cells) - 1][0]
                self.truncated = True
            rows.append(row)
        return rows

    def _list(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while (line := self._skip_blank()) is not None and line.indent >= indent and depth < _DEEPEST:
            if not (line.text.startswith("- ") or line.text == "-"):
                break
            text = line.text[1:].strip()
            header = _HEADER.fullmatch(text)
            if header is not None and not header["key"]:
                self.at += 1
                items.append(self._array(header, line.indent, depth + 1))
            elif header is not None or _FIELD.fullmatch(text):
                self._lines[self.at] = _Line(line.indent + 2, text)
                items.append(self._object(line.indent + 1, depth + 1))
            else:
                self.at += 1
                items.append(_scalar(text) if text else {})
        return items


def _key(text: str) -> str:
    return str(_scalar(text)) if text.startswith('"') else text


def _scalar(cell: str) -> Any:
    """A value: a quoted text, a number, a truth value, null, or the text as it is."""
    cell = cell.strip()
    if cell.startswith('"'):
        try:
            return JSON.decode(cell)
        except ValueError:
            return cell.strip('"')
    if cell in _NAMES:
        return _NAMES[cell]
    if _NUMBER.fullmatch(cell):
        return float(cell) if "." in cell else int(cell)
    return cell


def _cells(row: str, mark: str) -> tuple[list[str], bool]:
    """The cells of a row, and whether the last one is a quoted text without its end."""
    cells: list[str] = []
    start = 0
    while True:
        after = start
        if _OPENED.match(row, start):
            quoted = _QUOTED.match(row, start)
            if quoted is None:
                return [*cells, row[start:]], True
            after = quoted.end()
        end = row.find(mark, after)
        if end < 0:
            return [*cells, row[start:]], False
        cells.append(row[start:end])
        start = end + 1


def _paths(fields: str) -> list[tuple[str, ...]]:
    """The fields of a table's header: a name each, or the names of a group and of the field in it."""
    paths: list[tuple[str, ...]] = []
    outer: list[str] = []
    name = ""
    for part in _GROUP.findall(fields):
        if part == "{":
            outer.append(name)
            name = ""
        elif part in "},\t|":
            if name:
                paths.append((*outer, name))
            name = ""
            if part == "}" and outer:
                outer.pop()
        else:
            name = _key(part.strip())
    return [*paths, (*outer, name)] if name else paths


def _assign(row: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = row.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        row = inner
    row[path[-1]] = value
