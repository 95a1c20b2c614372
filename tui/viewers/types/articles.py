"""Articles as pages, and the corpus as a list of articles."""

from __future__ import annotations

from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.articles.page import article_body, article_in
from ua_tui.tui.viewers.articles.results import articles_in, articles_table
from ua_tui.tui.viewers.bodies.json_text import complete_json, style_json_line
from ua_tui.tui.viewers.bodies.json_values import members_of
from ua_tui.tui.viewers.bodies.markdown import RENDERED_CHARACTERS
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import Declined, Sample, View, Viewer

_MAX_BYTES = 16 * 1024 * 1024
_PREVIEWED = 1024 * 1024
_MARKS = (b'"reader_result"', b'"articles"', b'"content"')


def _view(sample: Sample) -> View:
    data = sample.data.removeprefix(b"\xef\xbb\xbf")
    value = members_of(data if sample.complete else complete_json(data), ("articles",))
    raw = TextBody(sample.beginning, style=style_json_line)
    hits = articles_in(value)
    if value is not None and hits is not None:
        count = quantity(len(hits), "article")
        more = [] if sample.complete else [(f"… The first {count}; the file has more.", "warn")]
        facts = (count if sample.complete else f"at least {count}",)
        return View("Articles", raw, articles_table(value, hits, *more), facts, all_rendered=sample.complete)
    article = article_in(value)
    if article is None:
        raise Declined
    is_cut = len(article.text) > RENDERED_CHARACTERS
    notice = "Too long to render: only the beginning is shown. Press m for all of it." if is_cut else None
    length = (quantity(article.words, "word"),) if article.words else ()
    return View(
        "Article",
        raw,
        PageBody(article_body(article)),
        length,
        notice,
        all_rendered=sample.complete and not is_cut,
    )


def _accepts(sample: Sample) -> bool:
    return sample.suffix == ".json" and any(mark in sample.data for mark in _MARKS)


# Search results are asked first: some have a list of articles, too.
VIEWER = Viewer("article", _accepts, _view, priority=59, limit=_MAX_BYTES, preview_limit=_PREVIEWED)
