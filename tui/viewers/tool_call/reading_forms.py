"""Results of tools in a form to read: search results as tables, pages that were read as a page or as a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from ua_tui.core.events.codec import from_json
from ua_tui.core.events.types import ToolCallStarted
from ua_tui.core.observation import ToolCall
from ua_tui.core.toolkit.articles import Article
from ua_tui.tui.viewers.articles.page import article_body, article_in
from ua_tui.tui.viewers.articles.results import articles_in, articles_table, hits_in, results_table
from ua_tui.tui.viewers.document import Body

_KNOWLEDGE = "mcp__local_toolkit__knowledge_"
_LONGEST = 256 * 1024
"""Longer results are parsed by the observers' process only; their files are shown as tables."""


def reading_forms(started: ToolCallStarted, text: str) -> list[Body]:
    """Return the bodies to read a result with; empty if it has no such form, or is too long to be searched for it.

    Takes as long as an observer of the result does: call it in a thread.
    """
    if len(text) > _LONGEST:
        return []
    if started.name.startswith(_KNOWLEDGE):
        return _knowledge_forms(started, from_json(text))
    from ua_tui.observers.search.tool_names import Policy, policy_of_call

    call = ToolCall(tool_use_id=started.tool_use_id, name=started.name, input=started.input)
    forms = _page_forms(call, text)
    if text.lstrip()[:1] not in ("{", "["):
        return forms
    from ua_tui.observers.decoding.decode import decode_text

    decoded = decode_text(text)
    if not forms:
        forms = [form for value in decoded.values if (form := _article_form(value)) is not None]
        if forms:
            return forms
    return forms if policy_of_call(call) is Policy.NEVER else forms + _search_forms(call, decoded)


def _knowledge_forms(started: ToolCallStarted, value: Any) -> list[Body]:
    """What the knowledge base answered: documents as a table, the text of one as a page."""
    match value:
        case {"hits": [_, *_] as hits}:
            rows = [
                {**each, "snippet": each.get("passage"), "date": each.get("date") or each.get("fetched_at")}
                for each in hits
                if isinstance(each, dict)
            ]
            found = {"type": "knowledge", "query": started.input.get("query"), "results": rows}
            listed = hits_in(found)
            return [results_table(found, listed)] if listed else []
        case {"text": str(text), "title": str(title), **rest}:
            address = rest.get("url")
            return [
                article_body(Article(title=title, url=address if isinstance(address, str) else "", text=text))
            ]
        case _:
            return []


def _page_forms(call: ToolCall, text: str) -> list[Body]:
    """The pages that a tool read, as they are saved: one as a page, several as a list."""
    from ua_tui.observers.pages.reading import CRAWLER, interest_in, read_pages

    if call.name.endswith(f"__{CRAWLER}") or not interest_in(call):
        return []
    readings = read_pages(call, [text], None, None, datetime.now(UTC))
    pages = [
        Article(
            title=page.title,
            url=page.url,
            author=page.author,
            site=page.source,
            date=page.date,
            words=page.words,
            text=page.content,
        )
        for reading in readings
        for page in reading.pages
    ]
    if len(pages) == 1:
        return [article_body(pages[0])]
    found = {"articles": [{**msgspec.structs.asdict(page), "content": page.text} for page in pages]}
    hits = articles_in(found)
    return [articles_table(found, hits)] if hits else []


def _article_form(value: Any) -> Body | None:
    if not isinstance(value, dict):
        return None
    if (hits := articles_in(value)) is not None:
        return articles_table(value, hits)
    article = article_in(value)
    return article_body(article) if article is not None else None


def _search_forms(call: ToolCall, decoded: Any) -> list[Body]:
    from ua_tui.observers.search.lists import recognise

    forms: list[Body] = []
    for page in recognise(call, decoded, datetime.now(UTC)).pages:
        scope = page.scope
        found = {
            "type": page.kind,
            "tool": scope.tool,
            "query": scope.query,
            "answer": scope.answer,
            "error": scope.error if not page.rows else None,
            "truncated": decoded.truncated,
            "preview": scope.preview,
            "results": page.rows,
        }
        hits = hits_in(found)
        if hits:
            forms.append(results_table(found, hits))
    return forms
