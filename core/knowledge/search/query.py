"""Reads what a person or the agent types into a search: words, "phrases", -exclusions and filters.

Every text is a valid query. A filter with a value that cannot be read is left out, and a notice says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ua_tui.core.knowledge.index.chunks import storable
from ua_tui.core.knowledge.records import KINDS, Kind
from ua_tui.core.knowledge.search.candidates import Filters
from ua_tui.core.knowledge.search.dates import AGO, parse_date, time_words
from ua_tui.core.knowledge.search.tokens import indexed
from ua_tui.core.text import clean

FILTERS = ("site", "kind", "session", "tool", "since", "until", "published")
"""The words that are filters before a colon; any other word with a colon is an ordinary term."""
MOST_TERMS = 100
"""Terms of a query; further ones are left out."""
MOST_VALUES = 16
"""Values of a filter, and terms that must be missing."""

_MOST_CHARACTERS = 4_000
_MOST_WORDS = 30
"""Words of a phrase, of which each Chinese or Japanese character is one."""
_TOKEN = re.compile(
    rf'(?P<minus>-(?!-))?(?:(?P<name>{"|".join(FILTERS)}):)?(?:"(?P<quoted>[^"]*)(?:"|\Z)|(?P<word>[^\s"]*))',
    re.IGNORECASE,
)
_NO_VALUE = "“{}:” has no value."
_HIRAGANA = re.compile("[぀-ゟ]+")
_SCRIPTS = re.compile("[぀-ゟ]+|[゠-ヿ]+|[㐀-䶿一-鿿]+|[^぀-ヿ㐀-䶿一-鿿]+")
_ESCAPED = str.maketrans({"%": r"\%", "_": r"\_", "\\": "\\\\"})
QUOTES = '"“”„‟«»'
"""What begins and ends a phrase, whichever stands first."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A word of a query, or several that must follow each other."""

    text: str
    phrase: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What to search for.

    Attributes:
        terms: the words and phrases, in their order.
        without: words and phrases that a document must not have.
        filters: the conditions that a document must meet.
        is_timed: whether the time was given by words.
        unfinished: whether the text ends in a word or an open phrase that the person may still be typing.
        notices: sentences about parts that were left out.
        wrong: those of them that are about filters that cannot be read.
    """

    terms: tuple[Typed, ...] = ()
    without: tuple[Typed, ...] = ()
    filters: Filters = ()
    is_timed: bool = False
    unfinished: bool = False
    notices: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """The parts of a query while it is read."""

    now: datetime
    terms: list[Typed] = field(default_factory=list)
    without: list[Typed] = field(default_factory=list)
    filters: dict[str, list[str]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, token: re.Match[str]) -> None:
        name, quoted, word = token["name"], token["quoted"], token["word"]
        text = (quoted if quoted is not None else word).strip()[:200]
        if name and token["minus"]:
            self.wrong.append(f"“-{name}:” is not a filter. A minus only excludes words.")
            return
        if not text:
            self.wrong += [_NO_VALUE.format(name)] if name else []
            return
        words = indexed(text).split()
        if len(words) > _MOST_WORDS:
            text = " ".join(words[:_MOST_WORDS])
        if name:
            self.filters.setdefault(name.lower(), []).append(text)
            return
        if token["minus"]:
            self.without.append(Typed(text, quoted is not None))
        elif quoted is not None:
            self.terms.append(Typed(text, phrase=True))
        else:
            self.terms += map(Typed, _parts(text))

    def values(self, name: str) -> list[str]:
        """The values of a filter; commas separate them."""
        values = [value.strip() for text in self.filters.get(name, []) for value in text.split(",")]
        found = list(dict.fromkeys(filter(None, values)))
        if values and not found:
            self.wrong.append(_NO_VALUE.format(name))
        if len(found) > MOST_VALUES:
            self.notices.append(f"only the first {MOST_VALUES} values of “{name}:” are used.")
        return found[:MOST_VALUES]

    def conditions(self) -> Filters:
        """What the filters ask of a document."""
        pairs: list[tuple[str, Iterable[object]]] = [
            ("kind", self._kinds()),
            ("site", map(_site, self.values("site"))),
            ("session_like", map(_containing, self.values("session"))),
            ("tool_like", map(_containing, self.values("tool"))),
            ("since", self._moment("since")),
            ("until", self._moment("until")),
        ]
        for value in self.filters.get("published", []):
            pairs += self._published(value)
        return _given(pairs)

    def _kinds(self) -> Iterator[Kind]:
        """The kinds that a person means by their names, the beginnings of these, or their plurals."""
        for value in self.values("kind"):
            name = value.lower().removesuffix("s") or "s"
            # What lists call a run.
            name = "workbench" if name == "sandbox" else name
            if (kind := next((kind for kind in KINDS if kind.startswith(name)), None)) is not None:
                yield kind
            else:
                self.wrong.append(f"“kind:{value}” is not a kind. The kinds are {', '.join(KINDS)}.")

    def _moment(self, name: str) -> list[float]:
        """The moment of the last filter with this name, if it can be read."""
        found = None
        for value in self.filters.get(name, []):
            found = parse_date(value, self.now, end=name == "until")
            if found is None:
                self.wrong.append(
                    f"“{name}:{value}” is not a date. Examples: {self.now:%Y-%m-%d}, 30d, 2w, 3mo, today."
                )
        return [] if found is None else [found]

    def _published(self, value: str) -> list[tuple[str, list[str]]]:
        """The range of days of `published:`: two days with two full stops between them, or one of both."""
        first, dots, last = value.partition("..")
        if not dots and not AGO.fullmatch(first):
            last = first
        moments = [parse_date(first, self.now), parse_date(last, self.now, end=True)]
        if [moment is not None for moment in moments] == [bool(first), bool(last)] != [False, False]:
            days = [moment and _day(moment, self.now) for moment in moments]
            return [("published_since", [days[0] or ""]), ("published_until", [days[1] or "9"])]
        self.wrong.append(
            f"“published:{value}” is not a range of days. Examples: {self.now:%Y-%m}.., 2025..2026-03, 30d."
        )
        return []


def timed(query: SearchQuery, now: datetime) -> SearchQuery | None:
    """The query with words for a time, such as "last week", as a filter and not as words; None if it has none.

    A notice says what was understood. Words in quotation marks stay words, as all do if there is a filter for the time.
    """
    if any(name in ("since", "until") for name, _ in query.filters):
        return None
    found = time_words(["" if each.phrase else each.text for each in query.terms], now)
    if found is None:
        return None
    place, since, until = found
    words = " ".join(each.text for each in query.terms[place])
    last = f"to {_day(until, now)} " if until else ""
    notice = (
        f"only what was found from {_day(since, now)} {last}is shown: put “{words}” in quotation marks to search "
        "for the words."
    )
    terms = (*query.terms[: place.start], *query.terms[place.stop :])
    return replace(
        query, terms=terms, is_timed=True, notices=(*query.notices, notice),
        filters=_given([*query.filters, ("since", [since]), ("until", [until] * bool(until))]),
        unfinished=query.unfinished and terms[-1:] == query.terms[-1:],
    )  # fmt: skip


def _day(moment: float, now: datetime) -> str:
    return f"{datetime.fromtimestamp(moment, now.tzinfo):%Y-%m-%d}"


def _parts(text: str) -> list[str]:
    """The words of a text without spaces, which change where the script does; Hiragana alone are mostly endings."""
    if text.isascii():
        return [text]
    parts = _SCRIPTS.findall(text)
    return [part for part in parts if not _HIRAGANA.fullmatch(part)] or parts


def parse_query(text: str, now: datetime) -> SearchQuery:
    """Read a query; `now` is the time, with its zone, from which days are counted."""
    text = clean(text[:_MOST_CHARACTERS]).translate(dict.fromkeys(map(ord, QUOTES), '"'))
    reading = _Reading(now)
    for token in _TOKEN.finditer(text):
        reading.add(token)
    terms = tuple(reading.terms)
    if len(terms) > MOST_TERMS:
        reading.notices.append(f"only the first {MOST_TERMS} words are searched.")
    return SearchQuery(
        terms=terms[:MOST_TERMS],
        without=tuple(reading.without[:MOST_VALUES]),
        filters=reading.conditions(),
        unfinished=0 < len(terms) <= MOST_TERMS and text.endswith(terms[-1].text),
        notices=tuple(dict.fromkeys((*reading.wrong, *reading.notices))),
        wrong=tuple(reading.wrong),
    )


def conditions(**wanted: Any) -> Filters:
    """Give the conditions on documents that do not come from a query; of an empty value there is none.

    `wanted` are names of `[where]` in `statements.toml` with a value or a list: `kind` and `site`, `session` and
    `without_session` (folders of sessions), `demo`, `since` (seconds since the epoch) and `source` (canonical).
    """
    lists = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in wanted.items()}
    return _given(
        (
            name,
            [_site(each) if name == "site" else _stored(each) for each in values if each not in (None, "")],
        )
        for name, values in lists.items()
    )


def _stored(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else value


def _given(pairs: Iterable[tuple[str, Iterable[object]]]) -> Filters:
    """The conditions that have any value."""
    return [(name, values) for name, choices in pairs if (values := [*dict.fromkeys(choices)])]


def _site(text: str) -> str:
    """The pattern for a host, a part of one, or an address, as it is in a host between full stops."""
    host = text.lower().split("//")[-1].split("/")[0]
    return _containing(f".{host.removeprefix('www.').strip('.')}.")


def _containing(text: str) -> str:
    """The pattern of LIKE for what contains a text."""
    return f"%{storable(text).translate(_ESCAPED)}%"
