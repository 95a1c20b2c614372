"""The sections of results in a text: each format of texts is tried in turn."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.text.blocks import Section, read_blocks
from ua_tui.observers.search.text.labels import cleaned, column_of
from ua_tui.observers.search.text.tables import tables_in

_MAX_TEXT = 4 << 20
_MAX_HTML = 1 << 20
_RESULT = re.compile(
    r"<(item|entry|result|document|search_result|search-result|web_page|webpage|hit|source)\b([^<>]{0,2000})>",
    re.IGNORECASE,
)
_PART = re.compile(r"<([a-z][\w:-]{0,40})\b([^<>]{0,2000})>(?:([^<]*)</\1>)?", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b([a-z][\w:-]{0,40})=(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_ENTITY = re.compile(r"&#?\w{1,8};")
_HREF = re.compile(r"\bhref=\"([^\"]+)\"")
_AUTHOR = re.compile(r"<author>\s*<name>([^<]*)</name>.{0,2000}?</author>", re.DOTALL)
_LINK = re.compile(r"<a\s[^<>]{0,2000}\bhref\s*=", re.IGNORECASE)
_PLACE = re.compile(r"<(?:li|div|p|td|h[1-6]|article|section|dt|br)\b", re.IGNORECASE)
_PAGE = re.compile(r"<(?:!doctype|html|body|head|nav|form)\b", re.IGNORECASE)


def sections_in_text(text: str) -> list[Section]:
    """The sections of results in a text, one per vertical; items have `title`, `url` and other fields."""
    if len(text) > _MAX_TEXT:
        return []
    found = _elements_in(text)
    if not found and _is_html_list(text):
        text = _as_markdown(text)
    found = found or _tuples_in(text) or tables_in(text)
    if found:
        return [Section(None, found, 0, bare=False)]
    return read_blocks(text)


def _elements_in(text: str) -> list[dict[str, Any]]:
    """The results of a text that are elements with an address."""
    items = []
    done = 0
    # Those of each name are looked at once, however they are nested.
    done_of: dict[str, int] = {}
    for found in _RESULT.finditer(text) if "</" in text or "/>" in text else ():
        name = found[1].lower()
        if found.start() < max(done, done_of.get(name, 0)):
            continue
        end = found.end() if found[2].endswith("/") else text.find(f"</{found[1]}>", found.end())
        done_of[name] = end if end >= 0 else len(text)
        if end >= 0 and is_web_url((item := _element(found[2], text[found.end() : end])).get("url")):
            items.append(cleaned(item))
            done = end
    return items


def _element(attributes: str, inner: str) -> dict[str, Any]:
    item: dict[str, Any] = {}
    # The name of an author would else be taken for that of the result.
    if authors := ", ".join(name.strip() for name in _AUTHOR.findall(inner)):
        inner = _AUTHOR.sub("", inner)
    for name, own, text in _PART.findall(inner):
        address = _HREF.search(own)
        column, value = column_of(name) or name, (address[1] if address else text).strip()
        # Snippets keep their entities here: escaped HTML is cleaned later.
        value = _ENTITY.sub(lambda entity: unescape(entity[0]), value) if column == "url" else value
        item.setdefault(column, value)
    for name, double, single in _ATTRIBUTE.findall(attributes):
        item.setdefault(column_of(name) or name, unescape(double or single).strip())
    if "<" not in inner and (text := inner.strip()):
        item.setdefault("snippet", text)
    if authors:
        item.setdefault("author", authors)
    if not is_web_url(item.get("url")):
        item["url"] = next((item[key] for key in ("source", "result_id") if is_web_url(item.get(key))), None)
    return item


def _is_html_list(text: str) -> bool:
    """Whether a text has links or tables in elements of HTML and is no page with menus."""
    return (
        ("</a" in text or "</td" in text)
        and len(text) <= _MAX_HTML
        and ("</td" in text or _LINK.search(text) is not None)
        and _PAGE.search(text) is None
    )


def _as_markdown(text: str) -> str:
    """The text with Markdown in place of its HTML; where no element divides it, its lines do."""
    if _PLACE.search(text) is None:
        text = text.replace("\n", "<br>")
    from html_to_markdown import ConversionOptions, convert

    return convert(text, ConversionOptions(extract_metadata=False)).content or ""


def _tuples_in(text: str) -> list[dict[str, Any]]:
    """The results of a text that has the snippet of each before its title and its address."""
    items = []
    for part in text.split("snippet: ")[1:]:
        snippet, _, rest = part.partition(", title: ")
        title, _, rest = rest.partition(", link: ")
        url = rest.split(maxsplit=1)[0].rstrip(",[]") if rest.strip() else ""
        if is_web_url(url):
            items.append({"title": title, "url": url, "snippet": snippet})
    return items
