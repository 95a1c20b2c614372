"""Addresses of results that have only an identifier, in the forms that the providers document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from ua_tui.core.json_values import JsonMapping, JsonObject, table_of
from ua_tui.core.text import is_encodable, words_of
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url, repaired_url
from ua_tui.observers.search.items import columns_of, lift, plan_of, url_of, with_address, with_inner_text
from ua_tui.observers.search.keys import fold, word_set
from ua_tui.observers.search.rows import DerivedUrl
from ua_tui.observers.search.sanitise import one_line
from ua_tui.observers.search.scope import Scope

_SAFE = "/:;,()@!*'~.-_"
_GROUPS_OF_IDS = word_set("id ids externalids inlinelinks versions resourceid")
_LISTS_OF_IDS = word_set("articleids identifier identifiers industryidentifiers dois")
_DEEPEST = 3
_LANGUAGES = ("language", "lang", "language_code", "lang_code")
_CODE = re.compile(r"([a-z]{2})(?:[-_][A-Z]{2})?")
_WIKIS = word_set(
    "ar bg ca cs da de el en es et eu fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr sv th tr "
    "uk vi zh"
)
_OTHER_WIKIS = word_set("wikidata wiktionary wikivoyage wikisource wikiquote wikinews commons fandom")


class _Form(NamedTuple):
    """An address that a provider documents for its identifiers; `addresses.toml` describes the parts."""

    names: frozenset[str]
    pattern: re.Pattern[str]
    address: str
    of: frozenset[str]
    beside: frozenset[str]
    lacks: frozenset[str]


_FORMS = [
    _Form(
        word_set(form["names"]),
        re.compile(form["pattern"], re.IGNORECASE),
        form["address"],
        *(word_set(form.get(name, "")) for name in ("of", "beside", "lacks")),
    )
    for form in table_of(__file__, "addresses.toml")["forms"]
]


def with_addresses(items: list[Any], scope: Scope) -> list[Any]:
    """The items of a list of a search, each with an address if it has one in another form.

    An address without a scheme or with spaces is repaired. An item that has only an identifier gets the address
    that its provider documents for it, as a `DerivedUrl`.
    """
    words = frozenset(words_of(scope.name) + words_of(scope.tool) + words_of(scope.engine))
    if str(scope.arguments.get("site") or "stackoverflow").removesuffix(".com") != "stackoverflow":
        words -= {"stackoverflow", "overflow"}
    if "wikidata" in words:
        # The title of an item is its number; its label says what it is.
        items = [
            item | {"title": item["label"]} if isinstance(item, dict) and item.get("label") else item
            for item in items
        ]
    return [_addressed(item, words, scope) if isinstance(item, dict) else item for item in items]


def _addressed(item: JsonObject, words: frozenset[str], scope: Scope) -> JsonObject:
    if not item or CUT_OFF in item or url_of(item) is not None:
        return item
    if (found := _repaired(item)) is not None or lift(item) is not None:
        return found or item
    inner = with_inner_text(item)
    row = item if inner is None else inner
    if inner is not None and (found := _repaired(inner) or lift(inner)) is not None:
        return found
    if columns_of(row).isdisjoint(("title", "snippet")):
        return item
    if (derived := _derived(row, words, scope)) is not None:
        return with_address(row, DerivedUrl(derived))
    if is_web_url(item.get("source")):
        return {key: value for key, value in item.items() if key != "source"} | {"url": item["source"]}
    return item


def _repaired(item: JsonMapping, depth: int = 0) -> JsonObject | None:
    """A copy of an item whose address was in another form: without a scheme, with spaces, or in a list; or None."""
    for key in plan_of(item).url:
        if (url := _url_in(item[key])) is not None:
            return {**item, key: url}
    match list(item.items()):
        case [(key, dict() as inner)] if (
            depth < _DEEPEST and (found := _repaired(inner, depth + 1)) is not None
        ):
            return {key: found}
        case _:
            return None


def _url_in(value: Any) -> str | None:
    """The address in the value of a field for one, repaired; None if it is something else."""
    match value:
        case [dict() as first, *_]:
            return url_of(first) or repaired_url(first.get("value"))
        case [str() as first, *_]:
            return repaired_url(first)
        case _:
            return repaired_url(value)


def _derived(item: JsonMapping, words: frozenset[str], scope: Scope) -> str | None:
    """The address that the provider of an item documents for its identifier, or None."""
    found: dict[str, str] = {}
    for name, value in _identifiers(item):
        if 0 < len(value) <= 300 and is_encodable(value):
            found.setdefault(name, value)
    found["osm"] = f"{found.get('osmtype')}/{found.get('osmid')}"
    fields = set(map(fold, item))
    forms = [form for form in _FORMS if form.lacks.isdisjoint(fields)]
    own = [form for form in forms if not form.of.isdisjoint(words)]
    others = [form for form in forms if not form.of or not form.beside.isdisjoint(fields)]
    for form in (*own, *others):
        for name in form.names & found.keys():
            if (matched := form.pattern.fullmatch(found[name])) is not None:
                return form.address.format(*(quote(part, safe=_SAFE) for part in matched.groups()))
    return _of_wikipedia(found, words, scope)


def _identifiers(item: JsonMapping, depth: int = 0) -> Iterator[tuple[str, str]]:
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
                for part in value[:20]:
                    if isinstance(part, dict):
                        kind = part.get("idtype") or part.get("type") or name
                        yield (
                            fold(kind),
                            str(part.get("value") or part.get("identifier") or part.get("id") or ""),
                        )


def _of_wikipedia(found: Mapping[str, str], words: frozenset[str], scope: Scope) -> str | None:
    """The address of a page of Wikipedia, if an argument says its language or nothing does."""
    language = next((value for name in _LANGUAGES if (value := scope.arguments.get(name))), "en")
    code = _CODE.fullmatch(language) if isinstance(language, str) else None
    is_known = code is not None and code[1] in _WIKIS and words.isdisjoint(_WIKIS)
    if code is None or not is_known or "wikipedia" not in words or not _OTHER_WIKIS.isdisjoint(words):
        return None
    number, page = found.get("pageid", ""), one_line(found.get("key") or found.get("title", ""))
    if number.isascii() and number.isdigit():
        return f"https://{code[1]}.wikipedia.org/?curid={number}"
    return (
        f"https://{code[1]}.wikipedia.org/wiki/{quote(page.replace(' ', '_'), safe=_SAFE)}" if page else None
    )
