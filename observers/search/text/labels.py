"""What providers write before the fields of a result, in many languages: `Title: …`, `链接：…`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

_DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("labels.toml").read_text(encoding="utf-8"))
ONLY_LINKS = frozenset(" ".join(_DATA["only_links"].split()).split(", "))
"""The texts of links that only lead to the page of the result they belong to."""
_LABELS = {
    label: column
    for column, labels in _DATA["columns"].items()
    for label in " ".join(labels.split()).split(", ")
}

_LONGEST_LABEL = 24
_FURTHEST = 64
_MARKS = re.compile(r"[^\w\[<>|]{0,12}(?:(?:\[?\d{1,3}[\]).:]|【\d{1,3}】)\s{0,4})?[^\w\[<>|]{0,12}")
_AFTER = re.compile(r"\**[ \t]*")
_COLON = re.compile("[:：]")
_LINKED = re.compile(r"\[(?P<title>.*)\]\(<?(?P<url>https?://\S+?)>?\)")
_IN_QUOTES = {"'": re.compile(r"'(?:[^']|'')*+'"), '"': re.compile(r'"(?:[^"\\]|\\.)*+"')}
_QUOTED_IN = {"'": re.compile(r"'(')"), '"': re.compile(r'\\(["\\/])')}
_NO_VALUE = ("", "N/A", "None", "null")


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


def scalar(value: str) -> str:
    """A YAML value without its quotes or block indicator."""
    if value in (">", ">-", "|", "|-"):
        return ""
    if len(value) > 1 and value[0] in _IN_QUOTES and _IN_QUOTES[value[0]].fullmatch(value):
        return _QUOTED_IN[value[0]].sub(lambda found: found[1], value[1:-1])
    return value


def is_open(value: str) -> bool:
    """Whether a text begins with a quote that is not closed."""
    return value[0] in _IN_QUOTES and _IN_QUOTES[value[0]].match(value) is None


def linked(value: str) -> tuple[str, str] | None:
    """The title and the address of a value that is a link in Markdown and nothing else."""
    found = _LINKED.fullmatch(value)
    return (found["title"], found["url"]) if found else None


def cleaned(item: dict[str, Any]) -> dict[str, Any]:
    """The fields of a result that have a value, without a rule under its snippet."""
    if str(item.get("snippet", "")).endswith(("---", "===")):
        item["snippet"] = item["snippet"].rstrip("-=").rstrip()
    return {key: value for key, value in item.items() if value not in _NO_VALUE}
