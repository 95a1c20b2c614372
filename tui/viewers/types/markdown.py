"""Rendered Markdown; front matter is shown above it. The file of a crawled article is shown as a page."""

from __future__ import annotations

import re

from textual.content import Span

from ua_tui.core.events.units import quantity
from ua_tui.core.toolkit.articles import decode_article
from ua_tui.tui.viewers.articles.page import article_body
from ua_tui.tui.viewers.bodies.markdown import RENDERED_CHARACTERS, MarkdownBody
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Sample, View, Viewer
from ua_tui.tui.viewers.document import Body, JoinedBody

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def split_front_matter(text: str) -> tuple[str, str]:
    """Split text into the front matter, without its fences and empty if there is none, and the rest."""
    match = _FRONT_MATTER.match(text[:16_384])
    return ("", text) if match is None else (match[1], text[match.end() :])


def _view(sample: Sample) -> View:
    raw = TextBody(sample.text)
    if not sample.data.strip():
        return View("Markdown", raw, notice="This file is empty.")
    if len(sample.text) > RENDERED_CHARACTERS:
        return View("Markdown", raw, notice="Too long to render; shown as source.")
    article = decode_article(sample.text)
    if article is not None:
        count = (quantity(article.words, "word"),) if article.words else ()
        return View("Article", raw, PageBody(article_body(article)), count, title=article.title or "")
    front, text = split_front_matter(sample.text)
    body: Body = MarkdownBody(text)
    if front.strip():
        facts_above = TextBody(
            front + "\n\n",
            style=lambda _, line: [Span(0, line.index(":") + 1, "dim")] if ":" in line else [],
        )
        body = JoinedBody((facts_above, body))
    facts = (quantity(len(text.split()), "word"),) if sample.complete else ()
    return View("Markdown", raw, PageBody(body), facts)


VIEWER = Viewer("Markdown", lambda sample: sample.suffix in {".md", ".markdown", ".mdown"}, _view)
