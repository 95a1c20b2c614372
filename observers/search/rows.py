"""Rows of search results, whatever the provider calls the fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from ua_tui.core.json_values import JsonObject, list_in, object_in, text_in
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.dates import inferred_date, iso_date
from ua_tui.observers.search.items import Plan, is_resource_name, plan_of, url_of
from ua_tui.observers.search.keys import CLUSTERS, NAME_KEYS, listed
from ua_tui.observers.search.sanitise import NO_VALUE, one_line, plain_text, plain_value

_BETWEEN_PARTS = re.compile(" [-\u2013\u2014] ")
_JOURNAL = re.compile(r"(?:(.+?)[,\s]+)?((?:1[5-9]|20)\d\d)")


class DerivedUrl(str):
    """The address of an item that was derived from an identifier, and not given by the provider."""

    __slots__ = ()


Row = JsonObject


def normalise(items: list[Any], kind: str, now: datetime, *, named: bool = False) -> tuple[list[Row], int]:
    """Make rows of the items of one list, in order; items that are not results are counted and skipped.

    An item without an address is a result when it has a title and a text, and in a list that is one of results by
    its name (`named`) when it has a title and something else; its URL is None.
    """
    rows: list[Row] = []
    rejected = 0
    for number, item in enumerate(items, start=1):
        try:
            found = list(_rows_of(item, number, kind, now, named))
        except (ValueError, TypeError, RecursionError):
            found = []
        rows += found
        if not found and not (isinstance(item, dict) and CUT_OFF in item):
            rejected += 1
    return rows, rejected


def _rows_of(item: Any, number: int, kind: str, now: datetime, named: bool) -> Iterator[Row]:
    """The row of an item, or those of a cluster: its leading story, unless it is one itself, and the other stories."""
    if isinstance(item, str) and is_web_url(item):
        item = {"url": item}
    if not isinstance(item, dict):
        return
    plan = plan_of(item)
    url = url_of(item)
    is_cluster = not CLUSTERS.isdisjoint(item)
    if url is not None:
        yield _row(item, plan, url, number, now)
    elif not is_cluster and CUT_OFF not in item and plan.title and (named or plan.snippet):
        row = _row(item, plan, None, number, now)
        is_more = named and (row["source"] or row["date"] or any(row["extra"].get(key) for key in plan.extra))
        if row["title"] and (row["snippet"] or is_more):
            yield row
    if is_cluster:
        highlight = object_in(item, "highlight")
        place = _position(item.get("position"))
        cluster = number if place is None else place
        if url is None and (address := url_of(highlight)):
            yield _row(highlight, plan_of(highlight), address, number, now) | {"position": cluster}
        for nth, story in enumerate(list_in(item, "stories"), start=1):
            if isinstance(story, dict) and (address := url_of(story)):
                row = _row(story, plan_of(story), address, nth, now)
                row["extra"]["cluster"] = cluster
                yield row | {"kind": "story"}


def _row(item: JsonObject, plan: Plan, url: str | None, number: int, now: datetime) -> Row:
    cut = item.get(CUT_OFF)
    if cut is not None and cut not in plan.snippet:
        # A field that was cut in two says something else than the whole; half a text is only shorter.
        item = {key: None if key == cut else value for key, value in item.items()}
    extra: JsonObject = {}
    for key in plan.extra:
        _keep(extra, key, item[key])
    place = _pick(item, plan.position, extra, _position)
    row: Row = {
        "position": number if place is None else place,
        "title": _pick(item, plan.title, extra, _title),
        "url": url,
        "source": _pick(item, plan.source, extra, _name),
        "date": _pick(item, plan.date, extra, partial(iso_date, now=now), is_date=True),
        "snippet": _pick(item, plan.snippet, extra, _snippet),
        "extra": extra,
    }
    days = (inferred_date(item[key], now) for key in plan.date) if row["date"] is None else ()
    if (day := next(filter(None, days), None)) is not None:
        row |= {"date": day, "date_inferred": True}
    if plan.citation is not None:
        _cite(row, plan.citation, item[plan.citation])
    for key in plan.url:
        if item[key] != url:
            _keep(extra, key, item[key])
    if url is not None and extra.get("id") == url:
        del extra["id"]
    if cut is not None:
        row["truncated"] = True
    if any(isinstance(item[key], DerivedUrl) for key in plan.url):
        row["derived"] = True
    return row


def _cite(row: Row, key: str, citation: Any) -> None:
    """Take the journal and the year of a row from a line such as `A Ash, B Elm - Journal, 2019 - site.example`."""
    line = citation.get("summary") if isinstance(citation, dict) else citation
    words = line[:300].split() if isinstance(line, str) else []
    parts = _BETWEEN_PARTS.split(" ".join(words))
    for part in parts[1:]:
        if (found := _JOURNAL.fullmatch(part)) is not None:
            journal = found[1] or (parts[-1] if part is not parts[-1] else None)
            row["source"] = one_line(journal) if journal else row["source"]
            row["date"] = row["date"] or found[2]
            _keep(row["extra"], key, citation)
            return


def set_missing_sources(rows: list[Row], forms: list[str]) -> None:
    """Name the host of those rows that have no other source; `forms` are the normal forms of their URLs."""
    for row, form in zip(rows, forms, strict=True):
        if row["source"] is None:
            host = form.split("/", 1)[0]
            row["source"] = host.split("?", 1)[0] if "?" in host else host


def _pick(
    item: JsonObject, keys: tuple[str, ...], extra: JsonObject, read: Any, is_date: bool = False
) -> Any:
    """Read a column from the best field that can be read; other fields, and dates in another form, go to `extra`."""
    chosen = None
    for key in keys:
        value = item[key]
        if value is None:
            continue
        is_first = chosen is None and (chosen := read(value)) is not None
        if is_first and (chosen == value if is_date else not isinstance(value, dict | list)):
            continue
        _keep(extra, f"{key}_original" if key == "date" else key, value)
    return chosen


def _keep(extra: JsonObject, key: str, value: Any) -> None:
    if (plain := plain_value(value)) is not None:
        extra[key] = plain


def _title(value: Any) -> str | None:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        return _name(value)
    return one_line(value) if isinstance(value, str) and not is_resource_name(value) else None


def _snippet(value: Any) -> str | None:
    match value:
        case str():
            return None if (plain := plain_text(value)) in NO_VALUE else plain
        case {"fragments": [*parts]}:
            return _snippet("".join(text_in(part, "text") for part in parts))
        case dict():
            return next(
                (text for key in listed("texts") if (text := _snippet(value.get(key))) is not None), None
            )
        case list():
            return _snippet(" … ".join(part for part in value if isinstance(part, str)))
        case _:
            return None


def _name(value: Any) -> str | None:
    match value:
        case str():
            return one_line(value)
        case dict():
            return next(filter(None, (one_line(text_in(value, key)) for key in NAME_KEYS)), None)
        case list():
            names = [name for part in value[:8] if isinstance(part, str | dict) and (name := _name(part))]
            return ", ".join(names) or None
        case _:
            return None


def _position(value: Any) -> int | None:
    text = str(value).removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
