"""RSS, Atom and JSON feeds as lists of entries: title, link, date and summary; runs in a worker process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from ua_tui.core.json_values import objects_in, text_in, value_in
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.articles import day_in
from ua_tui.core.toolkit.extract import Extracted, to_markdown

MAX_ENTRIES = 200
# Before the first element: white space, the XML declaration, instructions, comments and a document type.
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^<>\[]*(?:\[.*?\]\s*)?>)*+<(?:rss|feed|rdf:rdf)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_JSON_FEED = re.compile(rb"https?:\\?/\\?/jsonfeed\.org\\?/version\\?/", re.IGNORECASE)
_LINK_TEXT = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_SUMMARIES = ("summary", "content_text", "content_html")
_SPECIAL = str.maketrans({"[": "(", "]": ")"})


class _Entry(msgspec.Struct, frozen=True):
    title: str
    link: str
    date: str | None
    summary: str


def is_feed(body: bytes, media_type: str) -> bool:
    """Whether a body begins as an RSS or Atom feed does, whatever type it was sent with."""
    may_be = "xml" in media_type or media_type in {"text/html", "text/plain", ""}
    return may_be and _ROOT.match(body[:4096]) is not None


def is_json_feed(body: bytes) -> bool:
    """Whether a JSON document is a feed."""
    return _JSON_FEED.search(body[:2048]) is not None


def xml_feed(text: str, url: str) -> Extracted | None:
    """Read an RSS (0.9 to 2.0) or Atom feed; None if the document is something else or has no entry.

    Entities are not resolved and nothing is loaded; what is damaged is skipped.
    """
    from lxml import etree  # type: ignore[import-untyped]  # ships no types

    parser = etree.XMLParser(
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
    )
    try:
        root = etree.fromstring(text.lstrip("\ufeff \t\r\n").encode("utf-8", "replace"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None or _local(root) not in {"rss", "feed", "rdf"}:
        return None
    channel = next((each for each in root if _local(each) == "channel"), root)
    entries = [
        _xml_entry(each, url)
        for parent in ([channel, root] if channel is not root else [root])
        for each in parent
        if _local(each) in {"item", "entry"}
    ]
    return _article(
        _line(_text(channel, "title")), _text(channel, "subtitle", "description", "tagline"), entries
    )


def json_feed(text: str, url: str) -> Extracted | None:
    """Read a JSON feed; None if the document is something else or has no entry."""
    try:
        feed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    entries = [
        _Entry(
            _line(text_in(item, "title")),
            _link(text_in(item, "url") or text_in(item, "external_url"), url),
            day_in(text_in(item, "date_published") or text_in(item, "date_modified")),
            next(filter(None, (text_in(item, name) for name in _SUMMARIES)), ""),
        )
        for item in objects_in(feed, "items")
    ]
    title, about = (str(value_in(feed, name) or "") for name in ("title", "description"))
    return _article(_line(title), about, entries)


def _xml_entry(item: Any, url: str) -> _Entry:
    links = [each for each in item if _local(each) == "link"]
    targets = (each.get("href") for each in links if each.get("rel", "alternate") == "alternate")
    link = next(filter(None, targets), "")
    link = link or next((t for each in links if (t := "".join(_pieces(each)).strip())), "")
    if not link:
        guid = _text(item, "guid", "id")
        enclosure = next((each.get("url") for each in item if _local(each) == "enclosure"), None)
        link = guid if guid.startswith("http") else enclosure or ""
    return _Entry(
        _line(_text(item, "title")),
        _link(link, url),
        day_in(_text(item, "pubdate", "published", "date", "issued", "updated", "modified")),
        _text(item, "description", "summary", "subtitle", "encoded", "content"),
    )


def _text(parent: Any, *names: str) -> str:
    """The text of the first element with one of these names, in the order of the names; groups are searched, too."""
    for name in names:
        for each in (*parent, *(inner for group in parent if _local(group) == "group" for inner in group)):
            if _local(each) == name and (text := "".join(_pieces(each)).strip()):
                return text
    return ""


def _pieces(element: Any) -> Iterator[str]:
    # A reference to an entity is a node of its own, whose text is the reference.
    for node in element.iter():
        if isinstance(node.tag, str) and node.text:
            yield node.text
        if node is not element and node.tail:
            yield node.tail


def _local(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def _line(text: str) -> str:
    return clean_line(_LINK_TEXT.sub(r"\1", to_markdown(text)), 300).translate(_SPECIAL).strip()


def _link(link: str, url: str) -> str:
    try:
        found = urljoin(url, link.strip())
        is_web = urlsplit(found).scheme in {"http", "https"}
    except ValueError:
        return ""
    return quote(found, safe="%/:?#@!$&'*+,;=~-._") if link and is_web else ""


def _article(title: str, about: str, entries: list[_Entry]) -> Extracted | None:
    if not entries:
        return None
    lines = [_summary(about), ""] if about else []
    for entry in entries[:MAX_ENTRIES]:
        name = entry.title or clean_line(_summary(entry.summary), 80) or entry.link or "(without a title)"
        shown = f"[{name}]({entry.link})" if entry.link else name
        summary = _summary(entry.summary)
        date = f" ({entry.date})" if entry.date else ""
        lines.append(f"- {shown}{date}{f': {summary}' if summary and summary != name else ''}")
    if len(entries) > MAX_ENTRIES:
        lines += ["", f"(The list ends here: {len(entries) - MAX_ENTRIES} more entries.)"]
    dates = [entry.date for entry in entries if entry.date]
    return Extracted("\n".join(lines), title or None, date=max(dates, default=None))


def _summary(text: str) -> str:
    return clean_line(" ".join(_LINK_TEXT.sub(r"\1", to_markdown(text)).split()), 600)
