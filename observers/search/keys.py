"""What providers call the fields of a result or a page, and the lists they put results in, as `keys.toml` has them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_DATA: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("keys.toml").read_text(encoding="utf-8")
)


def fold(name: object) -> str:
    """A field's name without the marks and capitals that providers spell it with."""
    return str(name).replace("_", "").replace("-", "").replace(" ", "").lower()


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


class Field:
    """The columns of a row that providers name in many ways."""

    TITLE = "title"
    URL = "url"
    SOURCE = "source"
    DATE = "date"
    SNIPPET = "snippet"
    POSITION = "position"


@cache
def listed(name: str) -> tuple[str, ...]:
    """A list of names in the file."""
    return tuple(_DATA["lists"][name].split())


def _set_of(name: str) -> frozenset[str]:
    return frozenset(listed(name))


def _ranked(table: str, subjects: tuple[str, ...] = ("",), first: int = 0) -> dict[str, tuple[str, int]]:
    """The names of a table, each with its column and its rank, 0 for the best."""
    return {
        subject + name: (column, first + rank)
        for column, names in _DATA[table].items()
        for rank, name in enumerate(names.split())
        for subject in subjects
    }


FIELDS: Mapping[str, tuple[str, int]] = _ranked("prefixed", listed("subjects"), 100) | _ranked("names")
"""The column of each folded name and how good a name for it this is; 0 is best."""

PAGE_FIELDS: Mapping[str, tuple[str, int]] = _ranked("pages")
"""What a field of a page that was read holds, by its name in small letters and figures, and the rank of the name."""

KINDS: Mapping[str, str] = {name: kind for kind, names in _DATA["kinds"].items() for name in names.split()}
"""Keys whose list is a vertical of its own."""

IMAGE_URLS = listed("image_urls")
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
