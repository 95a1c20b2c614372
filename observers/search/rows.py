"""Rows of search results, whatever the provider calls the fields."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url, repaired_url
from ua_tui.observers.search.bulk_rows import Plan, rows_of_columns
from ua_tui.observers.search.dates.parse import inferred_date, iso_date
from ua_tui.observers.search.keys import FIELDS, IMAGE_URLS, NAME_KEYS, Field, fold
from ua_tui.observers.search.sanitise import one_line, plain_text, plain_value, without_controls

_CACHED = 4096
_SPECIAL = frozenset({"highlight", "stories", CUT_OFF})
# The name of an entry in a service's database, such as `places/…`.
_RESOURCE = re.compile(r"(?:projects|places|folders|organizations|locations)/\S+")
_MANY = 8
# Solr's fields have their type in the name, such as `title_s`.
_TYPE_OF_FIELD = re.compile(r"_(?:s|ss|t|txt|dt|tdt)$")
_LONGEST_CITATION = 300
_CITATIONS = ("publicationinfo", "publication")
_BETWEEN_PARTS = re.compile(" [-\u2013\u2014] ")
_JOURNAL = re.compile(r"(?:(.+?)[,\s]+)?((?:1[5-9]|20)\d\d)")
_TEXTS = ("rendered", "text", "#text")


class DerivedUrl(str):
    """The address of an item that was derived from an identifier, and not given by the provider."""

    __slots__ = ()


@dataclass(slots=True)
class Rows:
    """The rows of one list of results, and the number of items that are not results."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    rejected: int = 0


@lru_cache(maxsize=_CACHED)
def field_of(key: str) -> tuple[str, int] | None:
    """The column of a provider's field, and the rank of this name for it (0 is the best)."""
    return FIELDS.get(fold(_TYPE_OF_FIELD.sub("", key))) or FIELDS.get(fold(key))


def url_of(item: Mapping[str, Any], *, images: bool = False) -> str | None:
    """The URL of a result, or None if it has no valid one."""
    return _url(item, _plan_of(item), images)


def url_keys_of(item: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys under which an item may have the URL of a result, the best first."""
    return _plan_of(item).url


def normalise(items: list[Any], kind: str, now: datetime, *, named: bool = False) -> Rows:
    """Make rows of the items of one list, in order; items that are not results are counted and skipped.

    An item without an address is a result when it has a title and a text, and in a list that is one of results by
    its name (`named`) when it has a title and something else; its URL is None.
    """
    ready = _alike(items, now) if len(items) >= _MANY else [None] * len(items)
    if all(ready):
        return Rows([row for row in ready if row])
    result = Rows()
    rows, images = result.rows, kind == "images"
    for number, (original, row) in enumerate(zip(items, ready, strict=True), start=1):
        if row is not None:
            rows.append(row)
            continue
        item = {"url": original} if isinstance(original, str) and is_web_url(original) else original
        if not isinstance(item, dict):
            result.rejected += 1
            continue
        before = len(rows)
        try:
            plan = _plan_of(item)
            url = _url(item, plan, images) or _repaired(item, plan)
            if url is not None:
                rows.append(_row(item, plan, url, number, now))
            elif not plan.special and len(item) > 1:
                rows += _unaddressed(item, plan, number, now, named)
            if plan.special:
                rows += _cluster(item, number, now, led=url is not None)
        except (ValueError, TypeError, RecursionError):
            del rows[before:]
        if len(rows) == before and CUT_OFF not in item:
            result.rejected += 1
    return result


def _unaddressed(
    item: dict[str, Any], plan: Plan, number: int, now: datetime, named: bool
) -> list[dict[str, Any]]:
    if not plan.title or not (named or plan.snippet):
        return []
    row = _row(item, plan, None, number, now)
    has_text = row["snippet"] or (
        named and (row["source"] or row["date"] or any(row["extra"].get(key) for key in plan.extra))
    )
    return [row] if row["title"] and has_text else []


def _alike(items: list[Any], now: datetime) -> list[dict[str, Any] | None]:
    """The rows of those items that have the keys of many others, each in its place; None for the others."""
    groups = _by_keys(items)
    rows: list[dict[str, Any] | None] = [None] * len(items)
    for numbers in groups:
        if len(numbers) >= _MANY:
            whole = len(numbers) == len(items)
            alike = items if whole else [items[number - 1] for number in numbers]
            with suppress(ValueError, TypeError, RecursionError):
                built = rows_of_columns(alike, numbers, _plan_of(alike[0]), now)
                if whole:
                    return built
                for number, row in zip(numbers, built, strict=True):
                    rows[number - 1] = row
    return rows


def _by_keys(items: list[Any]) -> Collection[Sequence[int]]:
    """The numbers of those items that are objects with the same keys in the same order."""
    if set(map(type, items)) == {dict} and list(map(tuple, items)).count(tuple(items[0])) == len(items):
        return [range(1, len(items) + 1)]
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, item in enumerate(items, start=1):
        if type(item) is dict:
            groups.setdefault(tuple(item), []).append(number)
    return groups.values()


def _plan_of(item: Mapping[str, Any]) -> Plan:
    return _plan_of_keys(tuple(item))


@lru_cache(maxsize=_CACHED)
def _plan_of_keys(keys: tuple[str, ...]) -> Plan:
    columns: dict[str, list[tuple[int, str]]] = {}
    extra: list[str] = []
    for key in keys:
        if key in ("highlight", "stories", CUT_OFF):
            continue
        found = field_of(key)
        if found is None:
            extra.append(key)
        else:
            columns.setdefault(found[0], []).append((found[1], key))

    def of(column: str) -> tuple[str, ...]:
        ranked = sorted(columns.get(column, ()), key=lambda candidate: candidate[0])
        return tuple(key for _, key in ranked)

    citation = next((key for key in keys if fold(key) in _CITATIONS), None)
    return Plan(
        url=of(Field.URL),
        title=of(Field.TITLE),
        source=of(Field.SOURCE),
        date=of(Field.DATE),
        snippet=of(Field.SNIPPET),
        position=of(Field.POSITION),
        extra=tuple(extra),
        special=not _SPECIAL.isdisjoint(keys),
        citation=citation,
    )


def _url(item: Mapping[str, Any], plan: Plan, images: bool) -> str | None:
    cut = item.get(CUT_OFF)
    for key in plan.url:
        if key != cut and is_web_url(value := item[key]):
            return str(value)
    if is_web_url(value := item.get("id")) and CUT_OFF not in item:
        return str(value)
    if images:
        folded = {key.replace("_", "").lower(): value for key, value in item.items() if key != cut}
        return next((folded[key] for key in IMAGE_URLS if is_web_url(folded.get(key))), None)
    return None


def _repaired(item: Mapping[str, Any], plan: Plan) -> str | None:
    if CUT_OFF in item:
        return None
    return next((url for key in plan.url if (url := repaired_url(item[key])) is not None), None)


def _cluster(item: dict[str, Any], number: int, now: datetime, *, led: bool) -> Iterator[dict[str, Any]]:
    """The rows of a cluster: its leading story, unless that is the item itself, and the other stories."""
    highlight, stories = item.get("highlight"), item.get("stories")
    place = _position(item.get("position"))
    cluster = number if place is None else place
    if not led and isinstance(highlight, dict) and (url := url_of(highlight)):
        yield _row(highlight, _plan_of(highlight), url, number, now) | {"position": cluster}
    for nth, story in enumerate(stories if isinstance(stories, list) else (), start=1):
        if isinstance(story, dict) and (url := url_of(story)):
            row = _row(story, _plan_of(story), url, nth, now)
            row["extra"]["cluster"] = cluster
            yield row | {"kind": "story"}


def _row(item: dict[str, Any], plan: Plan, url: str | None, number: int, now: datetime) -> dict[str, Any]:
    cut = item.get(CUT_OFF)
    if cut is not None and cut not in plan.snippet:
        # A field that was cut in two says something else than the whole; half a text is only shorter.
        item = {key: None if key == cut else value for key, value in item.items()}
    extra: dict[str, Any] = {}
    for key in plan.extra:
        _keep(extra, key, item[key])
    place = _pick(item, plan.position, extra, _position) if plan.position else None
    row: dict[str, Any] = {
        "position": number if place is None else place,
        "title": _pick(item, plan.title, extra, _title),
        "url": url,
        "source": _pick(item, plan.source, extra, _name),
        "date": _pick_date(item, plan.date, extra, now) if plan.date else None,
        "snippet": _pick(item, plan.snippet, extra, _snippet),
        "extra": extra,
    }
    if row["date"] is None and (day := _inferred(item, plan.date, now)):
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


def _cite(row: dict[str, Any], key: str, citation: Any) -> None:
    """Take the journal and the year of a row from a line such as `A Ash, B Elm - Journal, 2019 - site.example`."""
    line = citation.get("summary") if isinstance(citation, dict) else citation
    words = line[:_LONGEST_CITATION].split() if isinstance(line, str) else []
    parts = _BETWEEN_PARTS.split(" ".join(words))
    for part in parts[1:]:
        if (found := _JOURNAL.fullmatch(part)) is not None:
            journal = found[1] or (parts[-1] if part is not parts[-1] else None)
            row["source"] = one_line(journal) if journal else row["source"]
            row["date"] = row["date"] or found[2]
            _keep(row["extra"], key, citation)
            return


def set_missing_sources(rows: list[dict[str, Any]], forms: list[str]) -> None:
    """Name the host of those rows that have no other source; `forms` are the normal forms of their URLs."""
    for row, form in zip(rows, forms, strict=True):
        if row["source"] is None:
            host = form.split("/", 1)[0]
            row["source"] = host.split("?", 1)[0] if "?" in host else host


def remove_controls(rows: list[dict[str, Any]]) -> None:
    """Remove from the texts of rows what steers a terminal or changes the direction of text."""
    for row in rows:
        for column in ("title", "source", "snippet"):
            row[column] = without_controls(row[column])


def _pick(item: dict[str, Any], keys: tuple[str, ...], extra: dict[str, Any], read: Any) -> Any:
    """Read a column from the field with the best name; the other fields go to `extra`."""
    chosen = None
    for key in keys:
        value = item[key]
        if value is None:
            continue
        if chosen is None:
            chosen = read(value)
            if chosen is not None and not isinstance(value, dict | list):
                continue
        _keep(extra, key, value)
    return chosen


def _pick_date(
    item: dict[str, Any], keys: tuple[str, ...], extra: dict[str, Any], now: datetime
) -> str | None:
    """Read the date from the best field that can be parsed; originals in another form go to `extra`."""
    chosen: str | None = None
    for key in keys:
        value = item[key]
        if value is None:
            continue
        if chosen is None:
            chosen = iso_date(value, now)
            if chosen is not None and chosen == value:
                continue
        _keep(extra, f"{key}_original" if key == "date" else key, value)
    return chosen


def _inferred(item: dict[str, Any], keys: tuple[str, ...], now: datetime) -> str | None:
    """The first day without a year among some fields, in the year that is most likely."""
    return next((day for key in keys if (day := inferred_date(item[key], now)) is not None), None)


def _keep(extra: dict[str, Any], key: str, value: Any) -> None:
    if (plain := plain_value(value)) is not None:
        extra[key] = plain


def _title(value: Any) -> str | None:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        return _name(value)
    return one_line(value) if isinstance(value, str) and not is_resource_name(value) else None


def is_resource_name(value: object) -> bool:
    """Whether a text only identifies an entry in a service, such as `places/ChIJ…`, and names nothing."""
    return isinstance(value, str) and _RESOURCE.fullmatch(value) is not None


def _snippet(value: Any) -> str | None:
    if isinstance(value, list):
        value = " … ".join(part for part in value if isinstance(part, str))
    elif isinstance(value, dict):
        value = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), None)
    return (plain_text(value) or None) if isinstance(value, str) else None


def _name(value: Any) -> str | None:
    match value:
        case str():
            return one_line(value)
        case dict():
            return next(
                (
                    name
                    for key in NAME_KEYS
                    if isinstance(value.get(key), str) and (name := _name(value[key]))
                ),
                None,
            )
        case list():
            names = [name for part in value[:8] if isinstance(part, str | dict) and (name := _name(part))]
            return ", ".join(names) or None
        case _:
            return None


def _position(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**9:
        return int(value)
    return value if isinstance(value, int) and abs(value) < 10**9 else None
