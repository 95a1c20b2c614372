"""What providers call the fields of a result or a page, and the lists they put results in, as `keys.toml` has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from ua_tui.core.json_values import table_of
from ua_tui.core.text import words_of

_DATA: Mapping[str, Mapping[str, str]] = table_of(__file__, "keys.toml")


# Solr's fields have their type in the name, such as `title_s`.
_TYPE_OF_FIELD = re.compile(r"_(?:s|ss|t|txt|dt|tdt)$")


def fold(name: object) -> str:
    """A field's name without the marks and capitals that providers spell it with."""
    return str(name).replace("_", "").replace("-", "").replace(" ", "").lower()


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


@cache
def listed(name: str) -> tuple[str, ...]:
    """A list of names in the file."""
    return tuple(_DATA["lists"][name].split())


def _set_of(name: str) -> frozenset[str]:
    return frozenset(listed(name))


def _ranked(table: str) -> dict[str, tuple[str, int]]:
    """The names of a table, each with its column and its rank, 0 for the best."""
    return {
        name: (column, rank)
        for column, names in _DATA[table].items()
        for rank, name in enumerate(names.split())
    }


_NAMES = _ranked("names")
_ENDINGS = {column: tuple(endings.split()) for column, endings in _DATA["endings"].items()}
_OF_OTHERS = {column: tuple(parts.split()) for column, parts in _DATA["of_others"].items()}
_LAST = 1000
"""The rank of a name by its ending: below all others."""
_SHORTEST = 4
"""The characters of an ending that is one even without a mark before it, as in `storytitle`."""


@lru_cache(maxsize=4096)
def field_of(name: str) -> tuple[str, int] | None:
    """The column of a provider's field, and the rank of its name (0 is the best); None if it has none."""
    folded = fold(_TYPE_OF_FIELD.sub("", name))
    if folded in _NAMES:
        return _NAMES[folded]
    last = words_of(name)[-1:]
    for column, endings in _ENDINGS.items():
        if any(
            folded != ending and (last == (ending,) or (len(ending) >= _SHORTEST and folded.endswith(ending)))
            for ending in endings
        ):
            return None if any(part in folded for part in _OF_OTHERS[column]) else (column, _LAST)
    return None


PAGE_FIELDS: Mapping[str, tuple[str, int]] = _ranked("pages")
"""What a field of a page that was read holds, by its name in small letters and figures, and the rank of the name."""


def by_name(table: Mapping[str, str]) -> Mapping[str, str]:
    """The names in a table, each with the key that it is listed under."""
    return {name: key for key, names in table.items() for name in names.split()}


KINDS = by_name(_DATA["kinds"])
"""Keys whose list is a vertical of its own."""

INSTEAD_OF_TITLES = _set_of("instead_of_titles")
NAME_KEYS = listed("name_keys")
PAGE_MARKS = _set_of("page_marks")
EMPTY_MARKS = _set_of("empty_marks")
PANELS = _set_of("panels")
RELATED = _set_of("related")
SURE = _set_of("sure")
SKIPPED = _set_of("skipped")
WRAPPERS = _set_of("wrappers")
DESCRIPTIVE = WRAPPERS | _set_of("descriptive")
GROUPS = _set_of("groups")
CLUSTERS = _set_of("clusters")
NO_WRAPPER = _set_of("no_wrapper")
NO_ADDRESS = _set_of("no_address")
FOREIGN = _set_of("foreign")
