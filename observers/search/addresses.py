"""Addresses of results that have only an identifier, in the forms that the providers document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
    """An address that a provider documents for its identifiers.

    `names` are the folded fields that have the identifier, `pattern` its form and `address` where it goes.
    `of` are words of which the tool's name must have one, unless the item has a field of `beside`; without them the
    identifier cannot be mistaken. An item with a field of `lacks` is something else that the identifier belongs to.
    The forms of the tool's own provider come first.
    """

    names: frozenset[str]
    pattern: re.Pattern[str]
    address: str
    of: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()


def _form(
    names: str, pattern: str, address: str, *, of: str = "", beside: str = "", lacks: str = ""
) -> _Form:
    form = re.compile(pattern, re.IGNORECASE)
    return _Form(word_set(names), form, address, word_set(of), word_set(beside), word_set(lacks))


_ARXIV = r"(?:arxiv:)?(\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[a-z]{2})?/\d{7}(?:v\d+)?)"
_VIDEO = r"(?=.*[a-z_-])([\w-]{11})"
_FORMS = (
    _form("doi dois id", r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?(10\.\d{4,9}/\S+)", "https://doi.org/{}"),
    _form("arxivid arxiv eprint", _ARXIV, "https://arxiv.org/abs/{}"),
    _form("id entryid paperid arxivid", _ARXIV, "https://arxiv.org/abs/{}", of="arxiv"),
    _form("pmid pubmedid", r"(\d{1,9})", "https://pubmed.ncbi.nlm.nih.gov/{}/"),
    _form("pmid uid id pubmed", r"(\d{1,9})", "https://pubmed.ncbi.nlm.nih.gov/{}/", of="pubmed medline"),
    _form("pmcid pmc", r"(?:PMC)?(\d{1,9})", "https://pmc.ncbi.nlm.nih.gov/articles/PMC{}/"),
    _form("openalexid openalex", r"(?:https?://openalex\.org/)?([a-z]\d{2,12})", "https://openalex.org/{}"),
    _form("id", r"([a-z]\d{2,12})", "https://openalex.org/{}", of="openalex", beside="authorships"),
    _form("paperid", r"([0-9a-f]{40})", "https://www.semanticscholar.org/paper/{}"),
    _form("corpusid", r"(\d{1,12})", "https://api.semanticscholar.org/CorpusID:{}"),
    _form("clusterid", r"(\d{4,22})", "https://scholar.google.com/scholar?cluster={}", of="scholar"),
    _form("patentid", r"(patent/[\w-]+(?:/[a-z]{2})?)", "https://patents.google.com/{}"),
    _form("nctid", r"(NCT\d{8})", "https://clinicaltrials.gov/study/{}"),
    _form(
        "orcid orcidid", r"(?:https?://orcid\.org/)?((?:\d{4}-){3}\d{3}[\dX])", "https://orcid.org/{}",
        lacks="title author authors abstract",
    ),
    _form("key", r"/((?:works|books|authors)/OL\d+[A-Z])", "https://openlibrary.org/{}"),
    _form(
        "isbn isbn13 isbn10", r"(\d{9}[\dX]|97[89]\d{10})", "https://openlibrary.org/isbn/{}",
        of="book books openlibrary", lacks="price industryidentifiers",
    ),
    _form(
        "videoid", _VIDEO, "https://www.youtube.com/watch?v={}", of="youtube yt", beside="channelid channeltitle"
    ),
    _form("playlistid", r"([A-Z]{2}[\w-]{3,60})", "https://www.youtube.com/playlist?list={}", of="youtube yt"),
    _form("channelid", r"(UC[\w-]{22})", "https://www.youtube.com/channel/{}", of="youtube yt"),
    _form("id", _VIDEO, "https://www.youtube.com/watch?v={}", of="youtube yt"),
    _form(
        "objectid id", r"(\d{1,10})", "https://news.ycombinator.com/item?id={}", of="hn hackernews hacker",
        beside="storytext storytitle",
    ),
    _form("questionid", r"(\d{1,10})", "https://stackoverflow.com/questions/{}", of="stackoverflow overflow"),
    _form("permalink", r"(?:https?://[a-z.]*reddit\.com)?/(r/\w+/comments/\S+)", "https://www.reddit.com/{}"),
    _form("id qid title", r"([QPL]\d+)", "https://www.wikidata.org/entity/{}", of="wikidata"),
    _form("fullname", r"([\w.-]+/[\w.-]+)", "https://github.com/{}", of="github", beside="stargazerscount"),
    _form(
        "id", r"(\d{15,20})", "https://x.com/i/web/status/{}", of="twitter tweets tweet", lacks="name username"
    ),
    _form("imdbid", r"(tt\d{7,9})", "https://www.imdb.com/title/{}/"),
    _form("uri", r"at://(did:[^/\s]+)/app\.bsky\.feed\.post/(\w+)", "https://bsky.app/profile/{}/post/{}"),
    _form("datacid", r"(\d{5,20})", "https://maps.google.com/?cid={}"),
    _form("cid", r"(\d{5,20})", "https://maps.google.com/?cid={}", of="maps places place local"),
)  # fmt: skip
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
