"""What a line of a text is: a labelled field, a link, an address, a title, or the heading of a vertical."""

from __future__ import annotations

import re
from typing import Any

from ua_tui.core.json_values import table_of
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.keys import KINDS, NO_ADDRESS, fold

_DATA: dict[str, Any] = table_of(__file__, "labels.toml")
ONLY_LINKS = frozenset(" ".join(_DATA["only_links"].split()).split(", "))
"""The texts of links that only lead to the page of the result they belong to."""
PAGE = "page"
"""The column of an address with an unknown label: the one of a result that has no other."""
_LABELS = {
    label: column
    for column, labels in _DATA["columns"].items()
    for label in " ".join(labels.split()).split(", ")
}
# Bullets, symbols and a number before the text of a line.
_MARKS = r"[^\w\[<>|]{0,12}(?:(?:\[?\d{1,3}[\]).:]|【\d{1,3}】)\s{0,4})?[^\w\[<>|]{0,12}"
_ITEM = r"(?:[-*•]|\[?\^?\d{1,3}[\]).:]{1,2}) +"
_LABEL = re.compile(rf"{_MARKS}(?P<label>[^:：]{{1,28}})[:：]\**[ \t]*(?P<value>.*)")
_TITLE = re.compile(
    r"[ \t]{0,12}(?:(?:#{1,4} +|[=-]{2,6} +)?\*{0,3}(?:(?:result|source) {0,2})?"
    r"(?:#?\[?\d{1,3}[\]).:]{1,2}\*{0,3} +|【\d{1,3}】\s{0,4}|\d{1,3}[：、．]\s{0,4})|#{1,4} +|\*\*(?=.+\*\*$))"
    r"(?P<title>\S.*)",
    re.IGNORECASE,
)
_LINK = re.compile(
    rf"[ \t]{{0,12}}(?:#{{1,4}} +(?:[\w ]{{1,30}} from )?)?(?:{_ITEM})?\*{{0,3}}"
    r"\[(?P<title>(?:[^\[\]]|\[[^\[\]]*\])+)\]"
    r"\(<?(?P<url>https?://[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?[^)]*\)\*{0,3}(?: \(\d+ \w+\))?"
    r"(?: ?[-–—:|] ?(?P<snippet>.+))?$"
)
# `- Title - https://a.example/ - text`, `1. Title (https://a.example/)`, `1. Title — [host](https://a.example/)`
_ONE_LINE = re.compile(
    rf"[ \t]{{0,12}}(?:#{{1,4}} +)?{_ITEM}(?P<title>[^\s\[].{{0,500}}?) ?"
    r"(?:[-–—:|→(<] ?|(?:[-–—:|] ?)?\[[^\[\]]{1,200}\]\()(?P<url>https?://[^\s<>]+)>?(?:\s?[-–—:|]\s?(?P<snippet>\S.*)|\s*)$"
)
_ADDRESS = re.compile(r"[^\w\[]{0,12}(?:\[?\d{1,3}[\]).:]{0,2} +)?<?(?P<url>https?://[^\s<>]+)>?$")
# A rule, or only the number of the result below it, such as `Result 2:`.
_DIVIDER = re.compile(
    r"\s*(?:([-=_*])\1{2,}|[#*=\s-]{0,8}(?:search )?result #?\d{1,3}(?:\*{0,2}[:：]\*{0,2}| ?[=-]{2,}))$",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"\W*(?P<name>[a-z]+(?: and forums)?)(?: search)?(?: results)?(?: \(\d+[^)]*\))?\s*:?\W*$", re.IGNORECASE
)


def column_of(name: str) -> str | None:
    """The column of a field or of a column of a table, or None if its name is unknown."""
    return _LABELS.get(name.strip("*_ \t").replace("_", " ").casefold())


def label_in(line: str) -> tuple[str, str] | None:
    """The column of the label that a line begins with, and its value; `PAGE` is one with an address alone."""
    found = _LABEL.match(line)
    if found is None:
        return None
    value, column = found["value"].strip(), column_of(found["label"])
    if column is None and "://" in value:
        link = link_in(value)
        url = link["url"] if link else value.strip("<>")
        is_page = is_web_url(url) and not any(part in fold(found["label"]) for part in NO_ADDRESS)
        return (PAGE, url) if is_page else None
    return (column, value) if column else None


def is_divider(line: str) -> bool:
    """Whether a line only divides the text."""
    return line.startswith("REMINDER") or _DIVIDER.match(line) is not None


def heading_in(line: str) -> str | None:
    """The kind of results that a line announces, such as `NEWS RESULTS:`, or None."""
    found = _SECTION.match(line) if len(line) <= 60 else None
    return KINDS.get(fold(found["name"])) if found else None


def link_in(line: str) -> dict[str, str] | None:
    """The title and the address of a link or item on a line of its own, with the text that follows it."""
    found = _LINK.match(line) or _ONE_LINE.match(line)
    if found is None:
        return None
    url = found["url"].rstrip("*|")
    while url.endswith(")") and url.count(")") > url.count("("):
        url = url[:-1]
    item = {"title": found["title"].strip("* "), "url": url}
    return item | ({"snippet": found["snippet"]} if found["snippet"] else {})


def address_in(line: str) -> str | None:
    """The address that a line holds besides marks and a number, or None."""
    found = _ADDRESS.match(line)
    return found["url"].rstrip("*_`") if found else None


def title_in(line: str) -> str | None:
    """The title in a line with a number before it, or in a heading."""
    found = _TITLE.match(line)
    return found["title"].strip("*#=- ") if found else None


def plain_title(line: str) -> str:
    """A line of text as a title, without the bullets, numbers and symbols around it."""
    found = re.match(_MARKS, line)
    return line[found.end() if found else 0 :].strip("* ") or line.strip()
