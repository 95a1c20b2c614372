"""JSON results of tools in a form to read: search results as tables, articles as a page or as a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from core.events.types import ToolCallStarted
from core.observation import ToolCall
from tui.viewers.articles.page import article_body, article_in
from tui.viewers.articles.results import articles_in, articles_table, hits_in, results_table
from tui.viewers.document import Body

__all__ = ["reading_forms"]

_LONGEST = 256 * 1024
"""Longer results are parsed by the observers' process only; their files are shown as tables."""


def reading_forms(started: ToolCallStarted, text: str) -> list[Body]:
    """Return the bodies to read a JSON result with; empty if it has no such form, or is too long to be searched for it.

    Takes as long as an observer of the result does: call it in a thread.
    """
    if len(text) > _LONGEST:
        return []
    from observers.decoding.decode import decode_text
    from observers.search.tool_names import Policy, policy_of_call

    decoded = decode_text(text)
    forms = [form for value in decoded.values if (form := _article_form(value)) is not None]
    call = ToolCall(tool_use_id=started.tool_use_id, name=started.name, input=started.input)
    if forms or policy_of_call(call) is Policy.NEVER:
        return forms
    return _search_forms(call, decoded)


def _article_form(value: Any) -> Body | None:
    if not isinstance(value, dict):
        return None
    if (hits := articles_in(value)) is not None:
        return articles_table(value, hits)
    article = article_in(value)
    return article_body(article) if article is not None else None


def _search_forms(call: ToolCall, decoded: Any) -> list[Body]:
    from observers.search.detect import recognise
    from observers.search.rows import normalise

    forms: list[Body] = []
    for page in recognise(call, decoded):
        rows = normalise(page.items, page.kind, datetime.now(UTC), named=page.named).rows
        scope = page.scope
        found = {
            "type": page.kind,
            "tool": scope.tool,
            "query": scope.query,
            "answer": scope.answer,
            "error": scope.error if not rows else None,
            "truncated": decoded.truncated,
            "preview": scope.preview,
            "results": rows,
        }
        hits = hits_in(found)
        if hits:
            forms.append(results_table(found, hits))
    return forms
