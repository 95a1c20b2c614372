"""What a person types to filter the files: a part of a name or path, or a pattern such as `*.json`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from ua_tui.core.storage.compression import inner_name

Match = Callable[[str], bool]
_WILD = re.compile(r"[*?]|\[.+\]")


def matcher(pattern: str) -> Match | None:
    """Read what was typed; None when it is blank. The result is called with a path relative to the tree's root.

    Case does not matter. A pattern with a slash is compared with the whole path or with the end of it that begins
    below some folder, any other with the name. A compressed file also matches by its name without `.zst` or `.gz`.
    """
    wanted = pattern.strip().casefold()
    if not wanted:
        return None
    whole = "/" in wanted
    wild: Match | None = None
    if _WILD.search(wanted):
        above = r"(?s:.*/)?" if whole else ""
        wild = re.compile(above + translate(wanted)).match  # type: ignore[assignment]  # a match is true enough

    def match_name(text: str) -> bool:
        return bool(wild(text)) if wild is not None else wanted in text

    def matches(path: str) -> bool:
        text = (path if whole else path.rpartition("/")[2]).casefold()
        return match_name(text) or (
            wild is not None and (inner := inner_name(text)) != text and match_name(inner)
        )

    return matches
