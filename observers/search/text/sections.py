"""The sections of results in a text: elements, tables of Markdown, or else blocks of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.text.blocks import Section, read_blocks
from ua_tui.observers.search.text.lines import column_of, link_in

_MAX_TEXT = 4 << 20
_NAMES = "item|entry|result|document|search_result|search-result|web_page|webpage|hit"
_OPENING = re.compile(rf"<(?:{_NAMES})(?=[\s>])", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{_NAMES})>", re.IGNORECASE)
_PART = re.compile(r"<([a-z][\w:-]{0,40})\b([^<>]{0,2000})>([^<]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b([a-z][\w:-]{0,40})=(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_AUTHOR = re.compile(r"<author>\s*<name>([^<]*)</name>", re.IGNORECASE)


def sections_in_text(text: str) -> list[Section]:
    """The sections of results in a text, one per vertical; items have `title`, `url` and other fields."""
    if len(text) > _MAX_TEXT:
        return []
    found = list(_elements_in(text)) or list(_rows_in(text))
    return [Section(None, found, 0, bare=False)] if found else read_blocks(text)


def _elements_in(text: str) -> Iterator[dict[str, Any]]:
    """The results of a text that are elements with an address: what is before each closing tag."""
    for whole in _CLOSING.split(text)[:-1] if "</" in text else ():
        openings = list(_OPENING.finditer(whole))
        if openings and is_web_url((item := _element(whole[openings[-1].start() :])).get("url")):
            yield item


def _element(text: str) -> dict[str, Any]:
    item: dict[str, Any] = {}
    # The name of an author would else be taken for that of the result.
    for number, (name, attributes, text_after) in enumerate(_PART.findall(_AUTHOR.sub(r"<author>\1", text))):
        own = {
            key.lower(): (double or single).strip() for key, double, single in _ATTRIBUTE.findall(attributes)
        }
        if number == 0:
            item |= {column_of(key) or key: unescape(value) for key, value in own.items()}
        column = "snippet" if number == 0 else column_of(name) or name
        value = text_after.strip()
        if column == "url":
            value = own.get("href", value).replace("&amp;", "&")
        if column == "author" and column in item:
            item[column] += f", {value}"
        elif value:
            item.setdefault(column, value)
    if not is_web_url(item.get("url")):
        item["url"] = next((item[key] for key in ("source", "result_id") if is_web_url(item.get(key))), None)
    return item


def _rows_in(text: str) -> Iterator[dict[str, Any]]:
    """The rows of the tables of Markdown in a text that have a column of addresses or links."""
    names: list[str] = []
    for line in text.splitlines() if "://" in text else ():
        if not line.lstrip().startswith("|"):
            names = []
            continue
        cells = [
            cell.strip().replace("\0", "|")
            for cell in line.replace("\\|", "\0").strip().strip("|").split("|")
        ]
        if not names:
            names = [column_of(cell) or cell.strip("* ").lower() for cell in cells]
            continue
        item: dict[str, Any] = {}
        for column, cell in zip(names, cells, strict=False):
            if link := link_in(cell):
                item = link | item
            elif cell and not (column == "url" and "url" in item):
                item[column] = cell.strip("<>") if column == "url" else cell
        if is_web_url(item.get("url")):
            yield item
