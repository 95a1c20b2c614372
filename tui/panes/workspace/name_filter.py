"""Which names a person looks for: a part of a name, or a pattern with `*`, `?` and `[...]`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from core.storage.compression import inner_name

__all__ = ["Match", "matcher"]

Match = Callable[[str], bool]
_WILD = re.compile(r"[*?]|\[.+\]")


def matcher(pattern: str) -> Match | None:
    """Read what was typed; None when it is nothing. The result takes a path relative to the tree's root.

    Case does not count. A pattern with a slash is compared with the whole path or with the end of it that begins
    below some folder, any other with the name. A compressed file also answers to its name without `.zst` or `.gz`.
    """
    wanted = pattern.strip().casefold()
    if not wanted:
        return None
    whole = "/" in wanted
    wild: Match | None = None
    if _WILD.search(wanted):
        above = r"(?s:.*/)?" if whole else ""
        wild = re.compile(above + translate(wanted)).match  # type: ignore[assignment]  # a match is true enough

    def one(text: str) -> bool:
        return bool(wild(text)) if wild is not None else wanted in text

    def matches(path: str) -> bool:
        text = (path if whole else path.rpartition("/")[2]).casefold()
        return one(text) or (wild is not None and (inner := inner_name(text)) != text and one(inner))

    return matches
