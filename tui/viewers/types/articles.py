"""Articles and search results of a JSON file: as a table, or a single article as a page."""

from __future__ import annotations

from typing import Any

import msgspec

from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.articles.page import article_body, article_in, text_in
from ua_tui.tui.viewers.articles.results import LISTS, articles_in, articles_table, hits_in, results_table
from ua_tui.tui.viewers.bodies.json_text import style_json_line
from ua_tui.tui.viewers.bodies.markdown import RENDERED_CHARACTERS
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.bodies.table import Table
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import FULL_LIMIT, Declined, Sample, View, Viewer

_MARKS = (b'"reader_result"', b'"articles"', b'"content"')


def _members(sample: Sample) -> dict[str, Any] | None:
    if not sample.complete:
        raise Declined
    value = msgspec.json.decode(sample.data.removeprefix(b"\xef\xbb\xbf"))
    return value if isinstance(value, dict) else None


def _table(sample: Sample, kind: str, count: str, table: Table, title: str = "") -> View:
    raw = TextBody(sample.beginning, style=style_json_line)
    return View(kind, raw, table, (count,), all_rendered=True, title=title)


def _view_search_results(sample: Sample) -> View:
    value = _members(sample)
    hits = hits_in(value)
    if value is None or hits is None:
        raise Declined
    count = quantity(len(hits), "result")
    return _table(sample, "Search results", count, results_table(value, hits), text_in(value, "query"))


def _view_article(sample: Sample) -> View:
    value = _members(sample)
    hits = articles_in(value)
    if value is not None and hits is not None:
        count = quantity(len(hits), "article")
        return _table(sample, "Articles", count, articles_table(value, hits))
    article = article_in(value)
    if article is None:
        raise Declined
    is_cut = len(article.text) > RENDERED_CHARACTERS
    notice = "Too long to render: only the beginning is shown. Press m for all of it." if is_cut else None
    length = (quantity(article.words, "word"),) if article.words else ()
    return View(
        "Article",
        TextBody(sample.beginning, style=style_json_line),
        PageBody(article_body(article)),
        length,
        notice,
        all_rendered=not is_cut,
        title=article.title or "",
    )


SEARCH_RESULTS = Viewer(
    "search results",
    lambda sample: sample.suffix == ".json" and any(f'"{key}"'.encode() in sample.data for key in LISTS),
    _view_search_results,
    # Before articles: some search results have a list of articles, too.
    priority=60,
    limit=4 * FULL_LIMIT,
    preview_limit=FULL_LIMIT // 4,
)
ARTICLES = Viewer(
    "article",
    lambda sample: sample.suffix == ".json" and any(mark in sample.data for mark in _MARKS),
    _view_article,
    priority=59,
    limit=4 * FULL_LIMIT,
    preview_limit=FULL_LIMIT // 4,
)
