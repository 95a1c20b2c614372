"""Which results may be saved: those of known public searches, and rows that are recognisably public.

Results of other tools are somebody's own data: mail, customers, health, money, tickets, files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from ua_tui.core.json_values import table_of
from ua_tui.core.text import words_of
from ua_tui.observers.search.keys import fold

_VERB = re.compile(r"(?:search|find|list|get|lookup|query)(?=[a-z]{2})")
_LONGEST = 6
"""The words of the longest phrase, one of which may be spelled in two parts."""
_PLURALS = (("s", ""), ("es", ""), ("ies", "y"))
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "gov", "net", "org"))
_MAIL_ADDRESS = re.compile(r"(?:mailto:)?[^\s@<>]{1,64}@[^\s@<>]{1,253}\.[a-z]{2,24}", re.IGNORECASE)


@cache
def _listed(file: str, *tables: str) -> frozenset[str]:
    """The phrases in a file, or in some of its tables, each without its spaces."""
    found: dict[str, Any] = table_of(__file__, f"{file}.toml")
    lists = [found[table] for table in tables] or list(found.values())
    texts = [each if isinstance(each, str) else ",".join(each.values()) for each in lists]
    return frozenset("".join(phrase.split()) for phrase in ",".join(texts).split(","))


@lru_cache(maxsize=1024)
def is_public_search(name: str) -> bool:
    """Whether the name of a server and a tool is one of a known public search, and says nothing of private data."""
    words = _words(name)
    rest = _without(_listed("public_searches"), words)
    return name == "WebSearch" or (rest != words and not _has(rest, "names"))


@lru_cache(maxsize=1024)
def is_engine(name: str) -> bool:
    """Whether a name is one of a public search engine, whose tools search whatever they are called."""
    words = _words(name)
    return is_public_search(name) and _without(_listed("public_searches", "engines"), words) != words


@lru_cache(maxsize=1024)
def is_private_name(name: str) -> bool:
    """Whether a name says that what the tool returns is somebody's own data."""
    return not is_public_search(name) and _has(_words(name), "names", "unclear")


def _words(name: str) -> list[str]:
    return list(words_of(name.removeprefix("mcp__")))


def _has(words: Sequence[str], *tables: str) -> bool:
    """Whether words have a phrase of private data in them, perhaps written together with a verb (`findorders`)."""
    listed = _listed("private_data", *tables)
    return any(
        _without(listed, each) != each for each in (list(words), [_VERB.sub("", word) for word in words])
    )


def _without(phrases: frozenset[str], words: list[str]) -> list[str]:
    """Some words, with nothing in place of those that are a phrase or its plural together; the longest count first."""
    left = list(words)
    for size in range(_LONGEST, 0, -1):
        for start in range(len(left) - size + 1):
            part = left[start : start + size]
            whole = "".join(part)
            singulars = (
                whole.removesuffix(plural) + singular
                for plural, singular in _PLURALS
                if whole.endswith(plural)
            )
            if all(part) and not phrases.isdisjoint((whole, *singulars)):
                left[start : start + size] = [""] * size
    return left


def rows_are_public(items: Sequence[Any], urls: Sequence[str | None]) -> bool:
    """Whether rows show that anybody may read them: all are on public hosts, of two sites, without private fields."""
    sites = {_public_site(url) for url in urls}
    return len(sites) > 1 and "" not in sites and not has_private_fields(items)


@lru_cache(maxsize=4096)
def _public_site(url: str | None) -> str:
    """The site of an address, such as `bbc.co.uk`; empty if its host is private or unknown."""
    try:
        parts = urlsplit(url or "")
        labels, port = (parts.hostname or "").rstrip(".").split("."), parts.port
    except ValueError:
        return ""
    hosts = {".".join(labels[start:]) for start in range(len(labels))}
    is_named = labels[-1].isalpha() or labels[-1].startswith("xn--")
    listed = _listed("private_data", "hosts")
    if len(labels) < 2 or not is_named or port not in (None, 80, 443) or parts.username is not None:
        return ""
    if not listed.isdisjoint(hosts) or not listed.isdisjoint(labels[:-1]):
        return ""
    is_country = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL
    return ".".join(labels[-3 if is_country else -2 :])


def has_private_fields(items: Sequence[Any]) -> bool:
    """Whether the items have, at any depth, a field of private data, or a mail address as a value."""
    listed, waiting = _listed("private_data", "fields"), list(items)
    for _ in range(20_000):
        if not waiting:
            return False
        match waiting.pop():
            case Mapping() as item:
                if any(fold(key) in listed for key, value in item.items() if value not in (None, "", [], {})):
                    return True
                waiting += item.values()
            case list() as values:
                waiting += values
            case str() as text if "@" in text and _MAIL_ADDRESS.fullmatch(text[:400].strip()):
                return True
    return True
