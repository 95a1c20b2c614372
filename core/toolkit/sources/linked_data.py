"""Finds the text of a page in its JSON-LD (schema.org)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ua_tui.core.toolkit.articles import count_words, day_in
from ua_tui.core.toolkit.extract import Extracted, to_markdown

# What a page of schema.org can be about; its other objects are about the site, persons and what readers wrote.
_ABOUT_THE_PAGE = (
    "Article", "Posting", "Report", "Event", "Product", "Episode", "Course", "Book", "Movie", "Recipe", "HowTo",
    "Dataset", "Question", "Answer", "FAQPage", "VideoObject", "AudioObject", "SoftwareApplication", "CreativeWork",
)  # fmt: skip

_MOST_LINES = 1_000
# The characters from which a text of the state of a page may be one of its sentences.
_SENTENCE = 60
# How Next.js sends the state of a page, piece by piece, and the texts in it.
_PUSHED = re.compile(r"self\.__next_f\.push\((\[.*\])\)", re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.){60,}"')


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


def recipe_in_data(tree: Any) -> list[tuple[str, list[str]]]:
    """Return the ingredients and the steps of a recipe, each with its heading."""
    for found in _about_the_page(tree):
        parts = (
            ("Ingredients", [*_texts(found.get("recipeIngredient"))]),
            ("Instructions", [*_texts(found.get("recipeInstructions"))]),
        )
        if any(lines for _, lines in parts):
            return [(heading, lines[:_MOST_LINES]) for heading, lines in parts if lines]
    return []


def _texts(value: Any, depth: int = 4) -> Iterator[str]:
    """The texts of a list of texts, steps, and sections with steps."""
    match value:
        case str():
            yield from (line for each in to_markdown(value).splitlines() if (line := each.strip(" -*")))
        case [*items] if depth:
            for item in items:
                yield from _texts(item, depth - 1)
        case {"text": str(text)}:
            yield from _texts(text)
        case {"itemListElement": items} if depth:
            yield from _texts(items, depth - 1)


def text_of_state(tree: Any, fewest: int) -> Extracted | None:
    """Return the sentences in the data from which the scripts of a page write it, if they have `fewest` words."""
    found: dict[str, None] = {}
    parts: list[str] = []
    for script in tree.iter("script"):
        source = (script.text or "").strip()
        pushed = _PUSHED.match(source)
        if pushed is not None:
            # The pieces of one text, which are cut anywhere.
            value = _decoded(pushed[1])
            parts += [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
        elif (script.get("type") or "").partition(";")[0].strip().lower() == "application/json":
            found |= _sentences(_decoded(source))
    for text in _QUOTED.findall("".join(parts)):
        found |= _sentences(_decoded(text))
    text = "\n\n".join(found)
    return Extracted(text) if count_words(text) >= fewest else None


def _sentences(value: Any) -> dict[str, None]:
    """The texts among values that have words, in their order."""
    texts = (each for each in _walk(value) if isinstance(each, str) and len(each) >= _SENTENCE)
    said = (each for each in texts if len(each.split()) * 12 > len(each))
    return dict.fromkeys(map(to_markdown, islice(said, _MOST_LINES)))


def _about_the_page(tree: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a page's data that say what it is about, in the order of the document."""
    for script in tree.iter("script"):
        if (script.get("type") or "").partition(";")[0].strip().lower() == "application/ld+json":
            for found in _walk(_decoded((script.text or "").strip())):
                kinds = found.get("@type") if isinstance(found, dict) else None
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


def _walk(value: Any) -> Iterator[Any]:
    """A value and all that is in it, in the order of the document."""
    stack, left = [value], 200_000
    while stack and left:
        left -= 1
        found = stack.pop()
        yield found
        if isinstance(found, dict | list):
            stack += reversed(list(found.values()) if isinstance(found, dict) else found)


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
