"""One search result, whatever its provider calls the fields."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from observers.salvage import CUT_OFF
from observers.search.dates import iso_date
from observers.search.urls import is_web_url

__all__ = ["Field", "Rows", "field_of", "normalise", "plain_text", "plain_value", "url_of"]

MAX_EXTRA_DEPTH = 8


class Field:
    """The columns of a row that providers name in many ways."""

    TITLE = "title"
    URL = "url"
    SOURCE = "source"
    DATE = "date"
    SNIPPET = "snippet"
    POSITION = "position"


_NAMES: Mapping[str, tuple[str, ...]] = {  # the better names come first
    Field.TITLE: ("title", "name", "headline", "webtitle", "heading", "producttitle", "question"),
    Field.URL: (
        "url",
        "link",
        "href",
        "weburl",
        "pageurl",
        "articleurl",
        "firsturl",
        "productlink",
        "producturl",
        "sharelink",
        "permalink",
        "canonicalurl",
        "bookingurl",
        "googlemapslink",
        "website",
        "uri",
        "sourceurl",
        "storyurl",
    ),
    Field.SOURCE: (
        "source",
        "sourcename",
        "publisher",
        "publication",
        "provider",
        "sitename",
        "site",
        "media",
        "channel",
        "domain",
        "displaylink",
        "profile",
        "metaurl",
        "companyname",
        "publicationinfo",
        "author",
        "authors",
    ),
    Field.DATE: (
        "publishedat",
        "publishedtime",
        "publisheddate",
        "publishdate",
        "datepublished",
        "pageage",
        "isodate",
        "pubdate",
        "webpublicationdate",
        "published",
        "seendate",
        "date",
        "createdat",
        "timestamp",
        "age",
        "year",
    ),
    Field.SNIPPET: (
        "snippet",
        "description",
        "excerpt",
        "excerpts",
        "snippets",
        "highlights",
        "summary",
        "abstract",
        "content",
        "body",
        "text",
        "caption",
    ),
    Field.POSITION: ("position", "rank", "rankabsolute", "rankgroup"),
}
_FIELDS = {name: (column, rank) for column, names in _NAMES.items() for rank, name in enumerate(names)}
_IMAGE_URLS = ("imageurl", "image", "original", "originalurl", "src", "thumbnailurl", "thumbnail")
_NAME_KEYS = ("name", "title", "hostname", "displayName", "summary", "main", "label", "host", "netloc")
_CACHE: dict[str, tuple[str, int] | None] = {}
_CACHE_LIMIT = 4096

_ELEMENTS = (
    "a abbr address article aside b bdi bdo big blockquote br button caption center cite code col dd del "
    "details dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hr i iframe img "
    "input ins kbd label li link main mark math meta nav nobr ol p picture pre q s samp script section "
    "small source span strike strong style sub summary sup svg table tbody td tfoot th thead time tr tt u "
    "ul var video wbr"
).replace(" ", "|")
_TAG = re.compile(rf"<!--.*?-->|</?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>", re.IGNORECASE | re.DOTALL)
_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2002-\u200a\u202f\u205f\u3000]+")
_BREAKS = re.compile(r" ?\n[ \n]*")


@dataclass(slots=True)
class Rows:
    """The rows of one list of results and how many of its items could not be one."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    rejected: int = 0


def field_of(key: str) -> tuple[str, int] | None:
    """The column a provider's field belongs to and how good a name for it this is (0 is best)."""
    try:
        return _CACHE[key]
    except KeyError:
        found = _FIELDS.get(key.replace("_", "").replace("-", "").replace(" ", "").lower())
        if len(_CACHE) < _CACHE_LIMIT:
            _CACHE[key] = found
        return found


def url_of(item: Mapping[str, Any], *, images: bool = False) -> str | None:
    """The address of a result, or None when it has none that can be one."""
    best: tuple[int, str] | None = None
    for key, value in item.items():
        found = field_of(key)
        if found and found[0] is Field.URL and (best is None or found[1] < best[0]) and is_web_url(value):
            best = (found[1], value)
    if best is not None:
        return best[1]
    if CUT_OFF not in item and is_web_url(item.get("id")):
        return str(item["id"])
    if images:
        folded = {key.replace("_", "").lower(): value for key, value in item.items()}
        return next((folded[key] for key in _IMAGE_URLS if is_web_url(folded.get(key))), None)
    return None


def normalise(items: list[Any], kind: str, now: datetime) -> Rows:
    """Make rows of the items of one list, in order; an item that cannot be one is counted and passed over."""
    result = Rows()
    for number, given in enumerate(items, start=1):
        item = {"url": given} if isinstance(given, str) and is_web_url(given) else given
        if not isinstance(item, dict):
            result.rejected += 1
            continue
        try:
            found = list(_expand(item, number, kind, now))
        except (ValueError, TypeError, RecursionError):
            found = []
        if found:
            result.rows += found
        elif CUT_OFF not in item:
            result.rejected += 1
    return result


def _expand(item: dict[str, Any], number: int, kind: str, now: datetime) -> Iterator[dict[str, Any]]:
    """The rows of one item: itself, or for a cluster its leading story and the others behind it."""
    highlight, stories = item.get("highlight"), item.get("stories")
    url = url_of(item, images=kind == "images")
    if url is not None:
        yield _row(item, url, number, now)
    elif isinstance(highlight, dict) and (url := url_of(highlight)):
        position = _position(item.get("position"))
        yield _row(highlight, url, number, now) | {"position": number if position is None else position}
    if not isinstance(stories, list) or len(stories) == 0:
        return
    cluster = _position(item.get("position"))
    for place, story in enumerate(stories, start=1):
        if isinstance(story, dict) and (url := url_of(story)):
            row = _row(story, url, place, now)
            row["extra"]["cluster"] = number if cluster is None else cluster
            yield row | {"kind": "story"}


def _row(item: dict[str, Any], url: str, number: int, now: datetime) -> dict[str, Any]:
    columns: dict[str, list[tuple[int, str, Any]]] = {}
    extra: dict[str, Any] = {}
    cut = item.get(CUT_OFF)
    for key, value in item.items():
        if value is None or key in ("highlight", "stories", CUT_OFF) or key == cut:
            continue
        found = field_of(key)
        if found is None:
            extra[key] = value if isinstance(value, int | str) else plain_value(value)
        elif found[0] is not Field.URL or value != url:
            columns.setdefault(found[0], []).append((found[1], key, value))
    row: dict[str, Any] = {
        "position": number,
        "title": _pick(columns.get(Field.TITLE), extra, _title),
        "url": url,
        "source": _pick(columns.get(Field.SOURCE), extra, _name),
        "date": None,
        "snippet": _pick(columns.get(Field.SNIPPET), extra, _snippet),
    }
    if dates := columns.get(Field.DATE):
        row["date"] = _pick_date(dates, extra, now)
    if positions := columns.get(Field.POSITION):
        place = _pick(positions, extra, _position)
        row["position"] = number if place is None else place
    for _, key, value in columns.get(Field.URL, ()):
        extra[key] = plain_value(value)
    if extra.get("id") == url:
        del extra["id"]
    row["extra"] = extra
    if cut is not None:
        row["truncated"] = True
    return row


def _pick(candidates: list[tuple[int, str, Any]] | None, extra: dict[str, Any], read: Any) -> Any:
    """Read a column from its best-named field; the fields that were not used stay in `extra`."""
    if not candidates:
        return None
    if len(candidates) > 1:
        candidates.sort(key=lambda candidate: candidate[0])
    chosen = None
    for _, key, value in candidates:
        if chosen is None:
            chosen = read(value)
            if chosen is not None:
                if isinstance(value, dict | list):
                    extra[key] = plain_value(value)
                continue
        extra[key] = plain_value(value)
    return chosen


def _pick_date(candidates: list[tuple[int, str, Any]], extra: dict[str, Any], now: datetime) -> str | None:
    """Read the date from the best-named field that can be read; every original that says it otherwise is kept."""
    candidates.sort(key=lambda candidate: candidate[0])
    chosen: str | None = None
    for _, key, value in candidates:
        if chosen is None:
            chosen = iso_date(value, now)
            if chosen is not None and chosen == value:
                continue
        extra[f"{key}_original" if key == "date" else key] = plain_value(value)
    return chosen


def _title(value: Any) -> str | None:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        return _name(value)
    if not isinstance(value, str):
        return None
    return " ".join(plain_text(value).split()) or None


def _snippet(value: Any) -> str | None:
    if isinstance(value, list):
        value = " … ".join(part for part in value if isinstance(part, str))
    return (plain_text(value) or None) if isinstance(value, str) else None


def _name(value: Any) -> str | None:
    match value:
        case str():
            return " ".join(plain_text(value).split()) or None
        case dict():
            return next(
                (
                    name
                    for key in _NAME_KEYS
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


def plain_text(text: str) -> str:
    """The text without HTML tags and entities; line breaks stay, other runs of blanks become one space."""
    if "<" in text:
        text = _TAG.sub(_gap, text)
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii() or "\n" in text or "  " in text or "\t" in text or "\r" in text:
        text = _BREAKS.sub("\n", _SPACES.sub(" ", text))
        text = _without_surrogates(text)
    return text.strip()


def _gap(tag: re.Match[str]) -> str:
    """Inline tags vanish, tags that break a line leave one."""
    return "\n" if re.match(r"</?(?:br|p|div|li|tr|h\d)\b", tag.group(), re.IGNORECASE) else ""


def _without_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_value(value: Any, depth: int = 0) -> Any:
    """A copy of a provider's value that any strict JSON writer accepts: finite numbers, sound text, bounded depth."""
    match value:
        case str():
            return value if value.isascii() else _without_surrogates(value)
        case bool() | int() | None:
            return value
        case float():
            return value if value - value == 0 else None
        case dict():
            if depth >= MAX_EXTRA_DEPTH:
                return "…"
            return {
                plain_value(str(key)): plain_value(item, depth + 1)
                for key, item in value.items()
                if key != CUT_OFF
            }
        case list() | tuple():
            return "…" if depth >= MAX_EXTRA_DEPTH else [plain_value(item, depth + 1) for item in value]
        case _:
            return str(value)
