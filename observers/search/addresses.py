"""Addresses of results that have only an identifier, in the forms that the providers document."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ua_tui.core.text import is_encodable, words_of
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url, repaired_url
from ua_tui.observers.search.items import columns_of, lift, plan_of, url_of, with_address, with_inner_text
from ua_tui.observers.search.keys import Field, fold, word_set
from ua_tui.observers.search.rows import DerivedUrl
from ua_tui.observers.search.sanitise import one_line
from ua_tui.observers.search.scope import Scope

_SAFE = "/:;,()@!*'~.-_"
_GROUPS_OF_IDS = word_set("id ids externalids inlinelinks versions resourceid")
_LISTS_OF_IDS = word_set("articleids identifier identifiers industryidentifiers dois")
_MOST_IDS = 20
_LONGEST = 300
_DEEPEST = 3
_PLACE = re.compile(r"ChIJ[\w-]{8,60}")
_LANGUAGES = ("language", "lang", "language_code", "lang_code")
_CODE = re.compile(r"([a-z]{2})(?:[-_][A-Z]{2})?")
_WIKIS = word_set(
    "ar bg ca cs da de el en es et eu fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr sv th tr "
    "uk vi zh"
)
_BESIDE_WIKIPEDIA = re.compile(r"(?<![a-z])(?:([a-z]{2})[-_])?wikipedia(?:[-_]([a-z]{2})(?![a-z]))?")
_OTHER_WIKIS = word_set("wikidata wiktionary wikivoyage wikisource wikiquote wikinews commons fandom")
_WIKI_HOST = re.compile(
    r"(?:https?://)?([a-z-]+(?:\.m)?\.(?:wikipedia|wiktionary|wikivoyage|wikisource)\.org)\b.*"
)
_HOSTS_OF_WIKIS = word_set("wiki server host domain site project")


class _Form(NamedTuple):
    """An address that a provider documents for its identifiers; `addresses.toml` describes the parts."""

    names: frozenset[str]
    pattern: re.Pattern[str]
    address: str
    of: frozenset[str]
    beside: frozenset[str]
    lacks: frozenset[str]


def _form(names: str, pattern: str, address: str, of: str = "", beside: str = "", lacks: str = "") -> _Form:
    form = re.compile(pattern, re.IGNORECASE)
    return _Form(word_set(names), form, address, word_set(of), word_set(beside), word_set(lacks))


_FORMS = [
    _form(**form)
    for form in tomllib.loads(Path(__file__).with_name("addresses.toml").read_text(encoding="utf-8"))["forms"]
]
_STACK_OVERFLOW = ("stackoverflow", "stackoverflow.com")


def with_addresses(items: list[Any], scope: Scope) -> list[Any]:
    """The items of a list of a search, each with an address if it has one in another form.

    An address without a scheme or with spaces is repaired. An item that has only an identifier gets the address
    that its provider documents for it, as a `DerivedUrl`.
    """
    words = frozenset(words_of(scope.name) + words_of(scope.tool) + words_of(scope.engine))
    if "wikidata" in words:
        items = [_without_number_as_title(item) if isinstance(item, dict) else item for item in items]
    if (scope.arguments.get("site") or _STACK_OVERFLOW[0]) not in _STACK_OVERFLOW:
        words -= {"stackoverflow", "overflow"}
    return [_addressed(item, words, scope) if isinstance(item, dict) else item for item in items]


def _without_number_as_title(item: dict[str, Any]) -> dict[str, Any]:
    """An item of Wikidata without its number as its title, if it has a label."""
    if not item.get("label") or item.get("title") != item.get("id"):
        return item
    return {key: value for key, value in item.items() if key != "title"}


def _addressed(item: dict[str, Any], words: frozenset[str], scope: Scope) -> dict[str, Any]:
    if not item or CUT_OFF in item or url_of(item) is not None:
        return item
    for key in plan_of(item).url:
        if (url := repaired_url(item[key])) is not None:
            return item | {key: url}
    if lift(item) is not None:
        return item
    row = with_inner_text(item) or item
    if columns_of(row).isdisjoint((Field.TITLE, Field.SNIPPET)):
        return item
    if (derived := _derived(row, words, scope)) is not None:
        return with_address(row, DerivedUrl(derived))
    if is_web_url(item.get("source")):
        return {key: value for key, value in item.items() if key != "source"} | {"url": item["source"]}
    return item


def _derived(item: Mapping[str, Any], words: frozenset[str], scope: Scope) -> str | None:
    """The address that the provider of an item documents for its identifier, or None."""
    found: dict[str, str] = {}
    for name, value in _identifiers(item):
        if 0 < len(value) <= _LONGEST and is_encodable(value):
            found.setdefault(name, value)
    fields = set(map(fold, item))
    forms = [form for form in _FORMS if form.lacks.isdisjoint(fields)]
    own = [form for form in forms if not form.of.isdisjoint(words)]
    others = [form for form in forms if not form.of or not form.beside.isdisjoint(fields)]
    for form in (*own, *others):
        for name in form.names & found.keys():
            if (matched := form.pattern.fullmatch(found[name])) is not None:
                return form.address.format(*(quote(part, safe=_SAFE) for part in matched.groups()))
    return _of_a_wiki(found, words, scope) or _on_a_map(item, found)


def _identifiers(item: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """The folded names and the values of the fields that may be identifiers, also of those in groups."""
    for key, value in item.items() if depth < _DEEPEST else ():
        name = fold(key)
        match value:
            case bool() | None:
                pass
            case str() | int():
                yield name, str(value).strip()
            case dict() if name in _GROUPS_OF_IDS:
                yield from _identifiers(value, depth + 1)
            case [str() as first, *_]:
                yield name, first.strip()
            case [dict(), *_] if name in _LISTS_OF_IDS:
                for part in value[:_MOST_IDS]:
                    if isinstance(part, dict):
                        kind = part.get("idtype") or part.get("type") or name
                        yield (
                            fold(kind),
                            str(part.get("value") or part.get("identifier") or part.get("id") or ""),
                        )
            case _:
                pass


def _of_a_wiki(found: Mapping[str, str], words: frozenset[str], scope: Scope) -> str | None:
    """The address of a page of MediaWiki, if its wiki is known for certain."""
    host = next(
        (known[1] for name in _HOSTS_OF_WIKIS & found.keys() if (known := _WIKI_HOST.fullmatch(found[name]))),
        None,
    )
    title = found.get("key", "")
    if host is None:
        if "wikipedia" not in words or not _OTHER_WIKIS.isdisjoint(words):
            return None
        if (language := _language(scope)) is None:
            return None
        host, title = f"{language}.wikipedia.org", title or found.get("title", "")
    if (number := found.get("pageid", "")) and number.isascii() and number.isdigit():
        return f"https://{host}/?curid={number}"
    page = one_line(title)
    return f"https://{host}/wiki/{quote(page.replace(' ', '_'), safe=_SAFE)}" if page else None


def _language(scope: Scope) -> str | None:
    """The language of the Wikipedia that was searched, from an argument or the name; None if that is unknown."""
    for name in _LANGUAGES:
        if value := scope.arguments.get(name):
            code = _CODE.fullmatch(value) if isinstance(value, str) else None
            return code[1] if code and code[1] in _WIKIS else None
    beside = (word for pair in _BESIDE_WIKIPEDIA.findall(scope.name.lower()) for word in pair)
    named = _WIKIS & {*beside, *words_of(scope.name.rpartition("__")[0])}
    return next(iter(named), "en") if len(named) < 2 else None


def _on_a_map(item: Mapping[str, Any], found: Mapping[str, str]) -> str | None:
    """The address of a place on a map."""
    kind, number = found.get("osmtype"), found.get("osmid", "")
    if kind in ("node", "way", "relation") and number.isascii() and number.isdigit():
        return f"https://www.openstreetmap.org/{kind}/{number}"
    if _PLACE.fullmatch(place := found.get("placeid") or found.get("id", "")) is None:
        return None
    name = quote(found.get("title") or found.get("name") or "place", safe="")
    return f"https://www.google.com/maps/search/?api=1&query={name}&query_place_id={place}"
