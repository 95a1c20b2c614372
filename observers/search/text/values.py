"""Values of fields as texts write them: quoted, as a link, or with a word for nothing."""

from __future__ import annotations

import re
from typing import Any

_LINKED = re.compile(r"\[(?P<title>.*)\]\(<?(?P<url>https?://\S+?)>?\)")
_IN_QUOTES = {"'": re.compile(r"'(?:[^']|'')*+'"), '"': re.compile(r'"(?:[^"\\]|\\.)*+"')}
_QUOTED_IN = {"'": re.compile(r"'(')"), '"': re.compile(r'\\(["\\/])')}
_NO_VALUE = ("", "N/A", "None", "null")


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
