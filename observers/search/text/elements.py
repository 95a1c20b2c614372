"""Results in elements in angle brackets, such as `<result>`: the fields are child elements or attributes."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.text.labels import column_of
from ua_tui.observers.search.text.values import cleaned

_RESULT = re.compile(
    r"<(item|entry|result|document|search_result|search-result|web_page|webpage|hit|source)\b([^<>]{0,2000})>",
    re.IGNORECASE,
)
_PART = re.compile(r"<([a-z][\w:-]{0,40})\b([^<>]{0,2000})>(?:([^<]*)</\1>)?", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\b([a-z][\w:-]{0,40})=(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_ENTITY = re.compile(r"&#?\w{1,8};")
_HREF = re.compile(r"\bhref=\"([^\"]+)\"")
_AUTHOR = re.compile(r"<author>\s*<name>([^<]*)</name>.{0,2000}?</author>", re.DOTALL)
_CDATA, _CDATA_END = "<![CDATA[", "]]>"


def elements_in(text: str) -> list[dict[str, Any]]:
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
    inner = _with_plain_sections(inner)
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


def _with_plain_sections(inner: str) -> str:
    """The text with CDATA sections replaced by escaped characters."""
    pieces = []
    done = 0
    while (start := inner.find(_CDATA, done)) >= 0:
        first = start + len(_CDATA)
        if (end := inner.find(_CDATA_END, first)) < 0:
            break
        pieces += [inner[done:start], inner[first:end].replace("<", "&lt;")]
        done = end + len(_CDATA_END)
    return "".join((*pieces, inner[done:]))
