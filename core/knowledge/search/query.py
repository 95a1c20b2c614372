"""Reads what a person or the agent types into a search: words, "phrases", -exclusions and filters.

Every text is a valid query. A filter with a value that cannot be read is left out, and a notice says so.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ua_tui.core.knowledge.index.segments import indexed
from ua_tui.core.knowledge.records import KINDS, Kind
from ua_tui.core.text import clean

FILTERS = ("site", "kind", "session", "tool", "since", "until")
"""The words that are filters before a colon; any other word with a colon is an ordinary term."""
MOST_TERMS = 16
"""Terms of a query, and values of a filter; further ones are left out."""

_MOST_CHARACTERS = 4_000
_MOST_WORDS = 30
"""Words of a phrase, of which each Chinese or Japanese character is one."""
_TOKEN = re.compile(
    rf'(?P<minus>-(?!-))?(?:(?P<name>{"|".join(FILTERS)}):)?(?:"(?P<quoted>[^"]*)(?:"|\Z)|(?P<word>[^\s"]*))',
    re.IGNORECASE,
)
_HIRAGANA = re.compile("[぀-ゟ]+")
_SCRIPTS = re.compile("[぀-ゟ]+|[゠-ヿ]+|[㐀-䶿一-鿿]+|[^぀-ヿ㐀-䶿一-鿿]+")
_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"'))
_AGO = re.compile(r"(\d{1,4})(h|d|w|mo|y)", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_KIND_NAMES: dict[str, Kind] = {"row": "search_row", "page": "article", "log": "workbench", "image": "file"}


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query, or several that must follow each other."""

    text: str
    phrase: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What to search for.

    Attributes:
        terms: the words and phrases, in their order.
        without: words and phrases that a document must not have.
        kinds, sites, sessions, tools: filters; a document must match one value of each that is not empty.
        since, until: the first and the last moment at which it was found or made, in seconds since the epoch.
        unfinished: whether the text ends in a word or an open phrase that the person may still be typing.
        notices: sentences about parts that were left out.
    """

    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    kinds: tuple[Kind, ...] = ()
    sites: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    unfinished: bool = False
    notices: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """The parts of a query while it is read."""

    now: datetime
    terms: list[Term] = field(default_factory=list)
    without: list[Term] = field(default_factory=list)
    filters: dict[str, list[str]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def add(self, token: re.Match[str]) -> None:
        name, quoted, word = token["name"], token["quoted"], token["word"]
        text = (quoted if quoted is not None else word).strip()[:200]
        if not text:
            return
        words = indexed(text).split()
        if len(words) > _MOST_WORDS:
            text = " ".join(words[:_MOST_WORDS])
        if name and not token["minus"]:
            self.filters.setdefault(name.lower(), []).append(text)
            return
        if name:
            text = f"{name}:{text}"
        if token["minus"]:
            self.without.append(Term(text, quoted is not None))
        elif quoted is not None:
            self.terms.append(Term(text, phrase=True))
        else:
            self.terms += map(Term, _parts(text))

    def values(self, name: str) -> list[str]:
        """The values of a filter; commas separate them."""
        values = [value.strip() for text in self.filters.get(name, []) for value in text.split(",")]
        found = list(dict.fromkeys(filter(None, values)))
        if len(found) > MOST_TERMS:
            self.notices.append(f"Only the first {MOST_TERMS} values of “{name}:” are used.")
        return found[:MOST_TERMS]

    def kinds(self) -> tuple[Kind, ...]:
        found: list[Kind] = []
        for value in self.values("kind"):
            kind = _kind(value)
            if kind is None:
                self.notices.append(f"There is no kind “{value}”. The kinds are {', '.join(KINDS)}.")
            else:
                found.append(kind)
        return tuple(dict.fromkeys(found))

    def moment(self, name: str) -> float | None:
        found = None
        for value in self.filters.get(name, []):
            found = parse_date(value, self.now, end=name == "until")
            if found is None:
                self.notices.append(
                    f"“{name}:{value}” is not a date. Examples: {self.now:%Y-%m-%d}, 30d, 2w, 3mo, today."
                )
        return found


def _parts(text: str) -> list[str]:
    """The words of a text without spaces, which change where the script does; Hiragana alone are mostly endings."""
    if text.isascii():
        return [text]
    parts = _SCRIPTS.findall(text)
    return [part for part in parts if not _HIRAGANA.fullmatch(part)] or parts


def parse_query(text: str, now: datetime) -> SearchQuery:
    """Read a query; `now` is the time, with its zone, from which days are counted."""
    text = clean(text[:_MOST_CHARACTERS]).translate(_QUOTES)
    reading = _Reading(now)
    for token in _TOKEN.finditer(text):
        reading.add(token)
    last = reading.terms[-1:]
    # Of words that are equal the last one stays, which may be unfinished.
    terms = tuple(dict.fromkeys(reversed(reading.terms)))[::-1]
    if len(terms) > MOST_TERMS:
        reading.notices.append(f"Only the first {MOST_TERMS} words are searched.")
    return SearchQuery(
        terms=terms[:MOST_TERMS],
        without=tuple(reading.without[:MOST_TERMS]),
        kinds=reading.kinds(),
        sites=tuple(reading.values("site")),
        sessions=tuple(reading.values("session")),
        tools=tuple(reading.values("tool")),
        since=reading.moment("since"),
        until=reading.moment("until"),
        unfinished=bool(last) and len(terms) <= MOST_TERMS and text.endswith(last[0].text),
        notices=tuple(dict.fromkeys(reading.notices)),
    )


def parse_date(text: str, now: datetime, *, end: bool = False) -> float | None:
    """Read a day (2026-11-03), a month, a year, a time ago (12h, 30d, 2w, 3mo, 1y), today or yesterday.

    Returns:
        The first moment of it, or with `end` the last one, in seconds since the epoch; None if it is not a date.
    """
    text = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if ago := _AGO.fullmatch(text):
            return _before(now, int(ago[1]), ago[2]).timestamp()
        if text in ("today", "yesterday"):
            first = midnight - timedelta(days=text == "yesterday")
            return ((first + timedelta(days=1)).timestamp() - 1) if end else first.timestamp()
        if found := _DAY.fullmatch(text):
            month, day = (int(part) if part else None for part in found.groups()[1:])
            first = midnight.replace(year=int(found[1]), month=month or 1, day=day or 1)
            if not end:
                return first.timestamp()
            last = first.replace(month=month or 12)
            last = last.replace(day=day or monthrange(last.year, last.month)[1])
            return (last + timedelta(days=1)).timestamp() - 1
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _before(now: datetime, count: int, unit: str) -> datetime:
    if unit in _HOURS:
        return now - timedelta(hours=count * _HOURS[unit])
    months = now.year * 12 + now.month - 1 - count * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    return now.replace(year=year, month=month, day=min(now.day, monthrange(year, month)[1]))


def _kind(value: str) -> Kind | None:
    """The kind that a person means: its name, the beginning of it, the plural, or a common word for it."""
    value = value.lower()
    for name in (value, value.removesuffix("s")):
        if name in _KIND_NAMES:
            return _KIND_NAMES[name]
        found = [kind for kind in KINDS if name and kind.startswith(name)]
        if found:
            return found[0]
    return None
