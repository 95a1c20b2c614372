"""Search results written as text: labelled blocks, `Links: [...]` and lists of Markdown links."""

from __future__ import annotations

import re
from typing import Any

from observers.search.urls import is_web_url

__all__ = ["rows_in_prose"]

_MAX_PROSE = 4 << 20
_LABELS = {
    "title": "title",
    "name": "title",
    "headline": "title",
    "url": "url",
    "link": "url",
    "source url": "url",
    "href": "url",
    "description": "snippet",
    "content": "snippet",
    "summary": "snippet",
    "snippet": "snippet",
    "text": "snippet",
    "highlights": "snippet",
    "published": "date",
    "published date": "date",
    "publisheddate": "date",
    "date": "date",
    "age": "age",
    "author": "author",
    "source": "source",
    "publisher": "publisher",
    "score": "score",
    "id": "result_id",
}
_LABEL = re.compile(
    r"^[ \t]*(?:[-*•]\s+|\d{1,3}[.)]\s+)?\**("
    + "|".join(sorted(_LABELS, key=len, reverse=True))
    + r")\**\s*:\**[ \t]*(.*)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^[ \t]*(\d{1,3})[.)]\s+(?!\[)\**(.+?)\**\s*$")
_MARKDOWN = re.compile(
    r"^[ \t]*(?:[-*•]|\d{1,3}[.)])\s+\**\[(?P<title>(?:[^\[\]]|\[[^\[\]]*\])+)\]\((?P<url>https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)[^)]*\)\**"
    r"(?:\s*[-–—:]\s*(?P<snippet>.+))?$"
)
_HEADING = re.compile(r"^#{1,4}\s+(?:\d{1,3}[.)]\s+)?\[?(.+?)\]?(?:\((https?://[^\s)]+)\))?\s*$")
_BARE_URL = re.compile(r"^[ \t]*(?:[-*•]\s+|\[\d{1,3}\]:?\s*|\d{1,3}[.)]\s+)?<?(https?://\S+?)>?\s*$")


def rows_in_prose(text: str) -> list[dict[str, Any]]:
    """Items with `title`, `url` and what else is said of each; empty when the text is not a list of results."""
    if len(text) > _MAX_PROSE:
        return []
    items = _labelled(text)
    return items if items else _linked(text)


def _labelled(text: str) -> list[dict[str, Any]]:
    """Blocks of `Label: value` lines, one block a result; values may go on over the lines that follow."""
    items: list[dict[str, Any]] = []
    item: dict[str, Any] = {}
    current: str | None = None
    for line in text.splitlines():
        if match := _LABEL.match(line):
            key, value = _LABELS[match[1].lower()], match[2].strip()
            if (key in item and key in ("title", "url")) or (key == "title" and "url" in item):
                items.append(item)
                item = {}
            if key in item:
                key = f"{key}_more"
            item[key] = value
            current = key
        elif (match := _NUMBERED.match(line)) or (match := _HEADING.match(line)):
            if "url" in item:
                items.append(item)
                item = {}
            title = match[2] if match.re is _NUMBERED else match[1]
            item["title"] = title.strip()
            if match.re is _HEADING and match[2]:
                item["url"] = match[2]
            current = "title"
        elif current == "snippet" and line.strip():
            item["snippet"] = f"{item['snippet']}\n{line.strip()}".strip()
        elif not line.strip() and current != "snippet":
            current = None
    items.append(item)
    return [_cleaned(item) for item in items if is_web_url(item.get("url"))]


def _cleaned(item: dict[str, Any]) -> dict[str, Any]:
    if str(item.get("snippet", "")).endswith("---"):
        item["snippet"] = item["snippet"].rstrip("-").rstrip()
    return {key: value for key, value in item.items() if value not in ("", "N/A", "None", "null")}


def _linked(text: str) -> list[dict[str, Any]]:
    """Lists of Markdown links, or of bare URLs, one a line."""
    items: list[dict[str, Any]] = []
    for line in text.splitlines():
        if match := _MARKDOWN.match(line):
            items.append({key: value for key, value in match.groupdict().items() if value})
    if items:
        return items
    return [
        {"url": match[1]}
        for line in text.splitlines()
        if (match := _BARE_URL.match(line)) and is_web_url(match[1])
    ]
