"""Finds the text of a page in its data: JSON-LD (schema.org), and the state that scripts build the page from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ua_tui.core.toolkit.articles import count_words
from ua_tui.core.toolkit.extract import Extracted

_STATE = re.compile(
    r"\s*(?:window|self|globalThis)\s*(?:\.\s*\w{2,60}|\[\s*[\"']\w{2,60}[\"']\s*\])\s*=\s*(?=[{\[])"
)
_HTML = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|strong|em|b|i|a|span|table)\b[^<>]*>", re.IGNORECASE)
_BODIES = re.compile(
    r"^(?:article_?)?(?:body|content|description|text|html|markdown|paragraphs|story|transcript)"
    r"(?:_?(?:html|text|raw|markdown|blocks|rich))?$",
    re.IGNORECASE,
)
# Words in the names of those parts of a state that are about the site and not about the page.
_SITE_PARTS = frozenset((
    "ad", "ads", "advert", "adverts", "advertisement", "advertising", "banner", "banners", "comment", "comments",
    "config", "configuration", "consent", "cookie", "cookies", "css", "footer", "header", "headers", "i18n",
    "locale", "locales", "menu", "menus", "messages", "nav", "navi", "navigation", "recommended", "related",
    "recommendations", "script", "scripts", "seo", "settings", "style", "styles", "translation", "translations",
))  # fmt: skip
_WORD_OF_A_NAME = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
# What a page of schema.org can be about; its other objects are about the site, persons and what readers wrote.
_ABOUT_THE_PAGE = re.compile(
    r"(?:Article|Posting|Report|Event|Product|Episode|Course|Book|Movie|Recipe|HowTo|Dataset|Question|Answer|FAQPage|"
    r"VideoObject|AudioObject|SoftwareApplication|CreativeWork)$"
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SENTENCE = re.compile(r"[^\W\d_][\s,;:]+[^\W\d_]|[぀-ヿ㐀-䶿一-鿿가-힣]{8}")
_FEWEST_CHARACTERS = 40
_FEWEST_WORDS = 30
_CODE = re.compile(r"[{}<>]|=>|\bfunction\b|^\s*(?:https?:|data:|/)\S*\s*$")
_MOST_VALUES = 200_000
_MOST_DEPTH = 60


def article_in_data(tree: Any, fewest: int, *, states: bool) -> Extracted | None:
    """Return the text that a page holds as data, if it has at least `fewest` words.

    `tree` is the page as lxml parsed it. The state of its scripts counts if `states` is set: it also has texts that
    belong to the site.
    """
    linked, built = _data(tree)
    for found in (_from_linked_data(linked), _from_states(built) if states else None):
        if found is not None and count_words(found.text) >= fewest:
            return found
    return None


def description_in_data(tree: Any, fewest: int) -> Extracted | None:
    """Return the description of what a page is about, by its JSON-LD, if it has at least `fewest` words."""
    for found in _walk(_data(tree)[0]):
        if _is_about_the_page(found) and isinstance(description := found.get("description"), str):
            text = to_markdown(description)
            return _with_properties(text, found) if count_words(text) >= fewest else None
    return None


def _data(tree: Any) -> tuple[list[Any], list[Any]]:
    """The values of a page's JSON-LD, and those of the state of its scripts."""
    linked: list[Any] = []
    built: list[Any] = []
    for script in tree.iter("script"):
        kind = (script.get("type") or "").partition(";")[0].strip().lower()
        source = (script.text or "").strip()
        if kind == "application/ld+json":
            linked += _decoded(source)
        elif kind == "application/json" or script.get("id") == "__NEXT_DATA__":
            built += _decoded(source)
        elif begin := _STATE.match(source):
            built += _decoded(source[begin.end() :])
    return linked, built


def to_markdown(text: str) -> str:
    """Return a text of data as Markdown: HTML in it is converted."""
    if not _HTML.search(text):
        return text.strip()
    from html_to_markdown import ConversionOptions, convert

    options = ConversionOptions(extract_metadata=False, skip_images=True)
    return (convert(text, options).content or "").strip()


def _decoded(source: str) -> list[Any]:
    """The value at the beginning of a text, as a list of one; empty if there is none."""
    source = source.removeprefix("<!--").removeprefix("//<![CDATA[").removeprefix("<![CDATA[").lstrip()
    try:
        # It need not end there: a statement may follow.
        return [json.JSONDecoder(strict=False).raw_decode(source)[0]]
    except (ValueError, RecursionError):
        return []


def _walk(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a value, in the order of the document."""
    stack, left = [value], _MOST_VALUES
    while stack and left:
        left -= 1
        match stack.pop():
            case dict() as found:
                yield found
                stack += reversed(list(found.values()))
            case list() as items:
                stack += reversed(items)
            case _:
                pass


def _from_linked_data(values: list[Any]) -> Extracted | None:
    """The longest text of an object that is about the page."""
    best: Extracted | None = None
    for found in filter(_is_about_the_page, _walk(values)):
        text = next(
            (to_markdown(v) for name in ("articleBody", "text") if isinstance(v := found.get(name), str)), ""
        )
        if text and (best is None or len(text) > len(best.text)):
            best = _with_properties(text, found)
    return best


def _is_about_the_page(found: Mapping[str, Any]) -> bool:
    kinds = found.get("@type")
    return any(
        isinstance(kind, str) and _ABOUT_THE_PAGE.search(kind) is not None
        for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _is_site_part(name: str) -> bool:
    return not _SITE_PARTS.isdisjoint(map(str.lower, _WORD_OF_A_NAME.findall(name)))


def _with_properties(text: str, found: Mapping[str, Any]) -> Extracted:
    names = ("headline", "title", "name")
    title = next((v for name in names if isinstance(v := found.get(name), str) and v.strip()), None)
    dates = ("datePublished", "publishedAt", "published_at", "datePosted", "publishDate", "date")
    date = next((m[0] for name in dates if (m := _DAY.match(str(found.get(name) or "")))), None)
    return Extracted(text, title, _named(found.get("author")), _named(found.get("publisher")), date)


def _named(value: Any) -> str | None:
    match value:
        case str():
            return value.strip() or None
        case {"name": str(name)}:
            return name.strip() or None
        case [first, *rest]:
            names = [_named(each) for each in (first, *rest[:9])]
            return "; ".join(filter(None, names)) or None
        case _:
            return None


def _from_states(values: list[Any]) -> Extracted | None:
    """The text with the most words below a name such as `body`; if there is none, all sentences."""
    best: tuple[int, str, Mapping[str, Any]] = (0, "", {})
    for found in _walk(values):
        for name, value in found.items():
            if _BODIES.match(name):
                text = "\n\n".join(_paragraphs(value))
                best = max(best, (count_words(text), text, found), key=lambda each: each[0])
    if best[0] < _FEWEST_WORDS:
        text = "\n\n".join(_paragraphs(values))
        return Extracted(text) if text else None
    return _with_properties(best[1], best[2])


def _paragraphs(value: Any) -> list[str]:
    """The sentences in a value, each once, in the order of the document; the pieces of a rich text are joined."""
    found: dict[str, None] = {}
    stack: list[tuple[Any, int]] = [(value, 0)]
    left = _MOST_VALUES
    while stack and left:
        left -= 1
        each, depth = stack.pop()
        if depth > _MOST_DEPTH:
            continue
        match each:
            case str() if _is_prose(text := to_markdown(each)):
                found[text] = None
            case list():
                stack += [(item, depth + 1) for item in reversed(each)]
            case dict():
                if (line := _rich_text(each)) is not None:
                    if line.strip():
                        found[line.strip()] = None
                    continue
                children = [item for name, item in each.items() if not _is_site_part(name)]
                stack += [(item, depth + 1) for item in reversed(children)]
            case _:
                pass
    return list(found)


def _rich_text(node: Mapping[str, Any]) -> str | None:
    """The text of a block of a rich text (ProseMirror, Slate, Portable Text, Contentful); None for other objects."""
    children = node.get("children") or node.get("content")
    if not isinstance(children, list) or not children:
        return None
    pieces = [_leaf(child) for child in children]
    return None if any(piece is None for piece in pieces) else "".join(piece or "" for piece in pieces)


def _leaf(node: Any) -> str | None:
    match node:
        case {"text": str(text)} | {"value": str(text)}:
            return text
        case {"children": [*inner]} | {"content": [*inner]} if str(
            node.get("type") or node.get("nodeType")
        ) in {
            "link",
            "a",
            "hyperlink",
            "entry-hyperlink",
        }:
            return "".join(_leaf(each) or "" for each in inner[:100])
        case {"type": "hardBreak" | "hard_break" | "br"}:
            return "\n"
        case _:
            return None


def _is_prose(text: str) -> bool:
    return (
        len(text) >= _FEWEST_CHARACTERS
        and _SENTENCE.search(text) is not None
        and not _CODE.search(text[:2_000])
    )
