"""What a provider shows beside its results: the panel about the subject, and further searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from ua_tui.observers.decoding.urls import normal_forms
from ua_tui.observers.search.rows import normalise, set_missing_sources, url_of
from ua_tui.observers.search.sanitise import one_line, without_controls

_COLUMNS = ("title", "url", "source", "date", "snippet", "extra")
_MOST_RELATED = 30
_LONGEST = 200
_LISTS = ("value", "items", "results", "list")
_WORDS = ("query", "text", "q", "displayText", "name", "title", "value")


def panel_in(key: str, value: Any) -> Mapping[str, Any] | None:
    """The panel that a provider gives under a folded key of `keys.PANELS`, or None."""
    match value:
        case {"value": [dict() as panel, *_]} | {"results": [dict() as panel, *_]}:
            return panel
        case [dict() as panel, *_] if key == "infoboxes":
            return panel
        case dict() if key != "entities":
            return value
        case _:
            return None


def panel_of(panel: Mapping[str, Any], now: datetime) -> dict[str, Any] | None:
    """A panel in the columns of a row without a position; None if it has no title or nothing else."""
    source = panel.get("source")
    if url_of(panel) is None and isinstance(source, dict) and (url := url_of(source)) is not None:
        panel = {"url": url, **panel}
    rows = normalise([dict(panel)], "web", now, named=True).rows
    if not rows or rows[0]["title"] is None:
        return None
    if (url := rows[0]["url"]) is not None:
        set_missing_sources(rows, normal_forms([url]))
    return {column: rows[0][column] for column in _COLUMNS}


def related_in(value: Any) -> list[str]:
    """The further searches that a provider suggests, each on one line and once."""
    lines = (without_controls(one_line(words)) for words in _words_in(value))
    return list(islice(dict.fromkeys(line[:_LONGEST] for line in lines if line), _MOST_RELATED))


def _words_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    for item in value if isinstance(value, list) else ():
        words = item
        if isinstance(item, dict) and "question" not in item:
            words = next((item[key] for key in _WORDS if isinstance(item.get(key), str)), None)
        if isinstance(words, str):
            yield words
