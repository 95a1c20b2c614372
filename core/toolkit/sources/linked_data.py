"""Finds the text of a page in its JSON-LD (schema.org)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ua_tui.core.toolkit.articles import count_words, day_in
from ua_tui.core.toolkit.extract import Extracted, to_markdown

# What a page of schema.org can be about; its other objects are about the site, persons and what readers wrote.
_ABOUT_THE_PAGE = (
    "Article", "Posting", "Report", "Event", "Product", "Episode", "Course", "Book", "Movie", "Recipe", "HowTo",
    "Dataset", "Question", "Answer", "FAQPage", "VideoObject", "AudioObject", "SoftwareApplication", "CreativeWork",
)  # fmt: skip


def article_in_data(tree: Any, fewest: int) -> Extracted | None:
    """Return the longest text about a page in its data, if it has at least `fewest` words.

    `tree` is the page as lxml parsed it.
    """
    best: Extracted | None = None
    for found in _about_the_page(tree):
        text = next(
            (to_markdown(v) for name in ("articleBody", "text") if isinstance(v := found.get(name), str)), ""
        )
        if text and (best is None or len(text) > len(best.text)):
            best = _with_properties(text, found)
    return best if best is not None and count_words(best.text) >= fewest else None


def description_in_data(tree: Any, fewest: int) -> Extracted | None:
    """Return the description of what a page is about, if it has at least `fewest` words."""
    for found in _about_the_page(tree):
        if isinstance(description := found.get("description"), str):
            text = to_markdown(description)
            return _with_properties(text, found) if count_words(text) >= fewest else None
    return None


def _about_the_page(tree: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a page's data that say what it is about, in the order of the document."""
    for script in tree.iter("script"):
        if (script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json":
            for found in _walk(_decoded((script.text or "").strip())):
                kinds = found.get("@type")
                if any(
                    isinstance(kind, str) and kind.endswith(_ABOUT_THE_PAGE)
                    for kind in (kinds if isinstance(kinds, list) else [kinds])
                ):
                    yield found


def _decoded(source: str) -> Any:
    """The value at the beginning of a text; None if there is none."""
    source = source.removeprefix("<!--").removeprefix("//<![CDATA[").removeprefix("<![CDATA[").lstrip()
    try:
        # It need not end there: a statement may follow.
        return json.JSONDecoder(strict=False).raw_decode(source)[0]
    except (ValueError, RecursionError):
        return None


def _walk(value: Any) -> Iterator[Mapping[str, Any]]:
    stack, left = [value], 200_000
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


def _with_properties(text: str, found: Mapping[str, Any]) -> Extracted:
    title = next(
        (v for name in ("headline", "name") if isinstance(v := found.get(name), str) and v.strip()), None
    )
    date = day_in(str(found.get("datePublished"))) or day_in(str(found.get("datePosted")))
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
