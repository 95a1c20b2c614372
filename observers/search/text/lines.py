"""What a line of a text is: a link, an address, a title, a rule, or the heading of a vertical."""

from __future__ import annotations

import re
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.keys import KINDS, fold
from ua_tui.observers.search.text.labels import without_marks

_LONGEST_HEADING = 60
_ITEM = r"(?:[-*•]|\[?\^?\d{1,3}[\]).:]{1,2}) +"
_NUMBERED = re.compile(
    r"^[ \t]{0,12}(?:#{1,4} +|[=-]{2,6} +)?\*{0,3}(?:(?:result|source|ergebnis|résultat|resultado|结果|結果) {0,2})?"
    r"(?:#?\[?\d{1,3}[\]).:]{1,2}\*{0,3} +|【\d{1,3}】\s{0,4}|\d{1,3}[：、．]\s{0,4})(?P<title>\S.*)$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^(?:#{1,4} +|\*\*(?=.+\*\*$))(?P<title>\S.*)$")
_LINK = re.compile(
    rf"^[ \t]{{0,12}}(?:#{{1,4}} +)?(?:{_ITEM})?\*{{0,3}}\[(?P<title>(?:[^\[\]]|\[[^\[\]]*\])+)\]"
    r"\(<?(?P<url>https?://[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?[^)]*\)\*{0,3}(?: ?[-–—:|] ?(?P<snippet>.+))?$"
)
_BEGINS_ITEM = re.compile(rf"[ \t]{{0,12}}(?:#{{1,4}} +)?{_ITEM}(?=\S)")
# The host, as the text of the link whose address follows.
_LINK_TEXT = re.compile(r"(?: ?[-–—:|])? ?\[[^\[\]]{1,200}\]$")
_BEFORE_ADDRESS = re.compile(r" ?(?:[-–—:|→]\s?|\(|<)$")
_AFTER_ADDRESS = re.compile(r"[)>]?(?:\s?[-–—:|]\s?(?=\S)|\s*$)")
_BARE_URL = re.compile(r"^[^\w\[]{0,12}(?:\[?\d{1,3}[\]).:]{0,2} +)?<?(?P<url>https?://[^\s<>]+)>?$")
_NUMBERING = re.compile(
    r"[#*=\s-]{0,8}(?:search )?result #?\d{1,3}(?:\*{0,2}[:：]\*{0,2}| ?[=-]{2,})$", re.IGNORECASE
)
_RULE = re.compile(r"^\s*([-=_*])\1{2,}\s*$")
_SECTION = re.compile(
    r"^\W*(?P<name>[a-z]+(?: and forums)?)(?: search)?(?: results)?(?: \(\d+[^)]*\))?\s*:?\W*$", re.IGNORECASE
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\[?\d{1,3}[\]).:]+)\s+")


def is_rule(line: str) -> bool:
    """Whether a line only divides the text."""
    return _RULE.match(line) is not None


def is_numbering(line: str) -> bool:
    """Whether a line is only the number of the result below it, such as `Result 2:`."""
    return _NUMBERING.match(line) is not None


def is_bullet(line: str) -> bool:
    """Whether a line begins an item of a list at the margin."""
    return not line[:1].isspace() and _BULLET.match(line) is not None


def heading_in(line: str) -> str | None:
    """The kind of results that a line announces, such as `NEWS RESULTS:`, or None."""
    if len(line) > _LONGEST_HEADING or (found := _SECTION.match(line)) is None:
        return None
    return KINDS.get(fold(found["name"]))


def link_in(line: str) -> dict[str, Any] | None:
    """The title and the address of a link or item on a line of its own, with the text that follows it."""
    if found := _LINK.match(line):
        item: dict[str, Any] = {"title": found["title"].strip("* "), "url": found["url"]}
        return item | ({"snippet": found["snippet"]} if found["snippet"] else {})
    return _item_with_address(line)


def _item_with_address(line: str) -> dict[str, Any] | None:
    """An item such as `- Title - https://a.example/ - text` or `1. Title (https://a.example/)`."""
    begin = _BEGINS_ITEM.match(line)
    place = line.find("://")
    start = max(line.rfind("http:", 0, place + 1), line.rfind("https:", 0, place + 1))
    if begin is None or start <= begin.end():
        return None
    before = _BEFORE_ADDRESS.search(line, max(begin.end(), start - 4), start)
    if before is None:
        return None
    url = _without_closing(line[start:].split(maxsplit=1)[0], line[start - 1])
    after = _AFTER_ADDRESS.match(line, start + len(url))
    title = _LINK_TEXT.sub("", line[begin.end() : before.start()]).strip("* ")
    if after is None or not title or not is_web_url(url):
        return None
    snippet = line[after.end() :].strip()
    return {"title": title, "url": url} | ({"snippet": snippet} if snippet else {})


def _without_closing(url: str, opening: str) -> str:
    """An address without the bracket that closes the one before it, or marks of emphasis."""
    if opening == "<":
        return url.partition(">")[0]
    if opening == "(":
        depth = 1
        for place, character in enumerate(url):
            depth += (character == "(") - (character == ")")
            if depth == 0:
                return url[:place]
    return url.rstrip("*>|")


def address_in(line: str) -> str | None:
    """The address that a line holds besides marks and a number, or None."""
    found = _BARE_URL.match(line)
    return found["url"].rstrip("*_`") if found else None


def title_in(line: str) -> str | None:
    """The title in a line with a number before it, or in a heading."""
    found = _NUMBERED.match(line) or _HEADING.match(line)
    return found["title"] if found else None


def plain_title(line: str) -> str:
    """A line of text as a title, without the bullets and symbols around it."""
    return without_marks(_BULLET.sub("", line)).strip("* ") or line.strip()
