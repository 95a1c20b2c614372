"""The sections of results in a text: each format of texts is tried in turn."""

from __future__ import annotations

from ua_tui.observers.search.text.blocks import Section, read_blocks
from ua_tui.observers.search.text.elements import elements_in
from ua_tui.observers.search.text.html_lists import as_markdown, is_html_list
from ua_tui.observers.search.text.snippets import tuples_in
from ua_tui.observers.search.text.tables import tables_in

_MAX_TEXT = 4 << 20


def sections_in_text(text: str) -> list[Section]:
    """The sections of results in a text, one per vertical; items have `title`, `url` and other fields."""
    if len(text) > _MAX_TEXT:
        return []
    found = elements_in(text)
    if not found and is_html_list(text):
        text = as_markdown(text)
    found = found or tuples_in(text) or tables_in(text)
    if found:
        return [Section(None, found, 0, bare=False)]
    return read_blocks(text)
