"""Sanitises providers' values: text without HTML, and values that any strict JSON encoder accepts."""

from __future__ import annotations

import html
import re
from typing import Any

from ua_tui.core.text import without_surrogates
from ua_tui.core.toolkit.html_text import BLOCKS, separate, without_scripts
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.search.keys import word_set

MAX_EXTRA_DEPTH = 8
NO_VALUE = ("", "N/A", "None", "null")
"""The texts that stand for a value that is not there."""
LONGEST_DATA = 1000
"""The most characters of base64 and the like that are kept in a value."""

_TAG = re.compile(r"</?(jats:)?([a-z][a-z0-9-]*)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BREAKING = BLOCKS - {"td", "th", "button", "caption", "option"} | {"sec"}
_INLINE = word_set(
    "a abbr b bdi bdo big cite code col del dfn em font i img input ins kbd label link mark math meta nobr picture q s "
    "samp script small source span strike strong style sub sup svg time tt u var wbr"
)
_ENCODED = re.compile(r"data:[^,\s]{0,200},\S*|[A-Za-z0-9+/=_\r\n-]+")
# Sequences that steer a terminal, other controls, and the marks that change the direction of text. Joiners stay: words
# of some languages, and pictures, are written with them.
_CONTROLS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
)
# Hexadecimal numbers have hardly fewer.
_FEWEST_CHARACTERS = 12


def plain_text(text: str) -> str:
    """The text without HTML tags and entities; line breaks stay, and other white space becomes one space."""
    if "<" in text:
        text = _TAG.sub(_instead_of, separate(without_scripts(text)))
    if "&" in text:
        text = html.unescape(text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in without_surrogates(text).split("\n"))))


def _instead_of(tag: re.Match[str]) -> str:
    """What stands in place of a tag: nothing, or a line break; what no element is called stays."""
    name = tag[2].lower()
    if name in _BREAKING or (tag[1] and name == "title"):
        return "\n"
    return "" if tag[1] or name in _INLINE or name in BLOCKS else tag[0]


def one_line(text: str) -> str | None:
    """The plain text on one line; None if there is none."""
    plain = plain_text(text)
    return None if plain in NO_VALUE else " ".join(plain.split()) if "\n" in plain else plain


def without_controls(text: str | None) -> str | None:
    """The text without sequences for terminals, controls and marks of direction; None if nothing is left."""
    return (_CONTROLS.sub("", text).strip() if text is not None else None) or None


def is_encoded_data(text: str) -> bool:
    """Whether a long text is data in base64 or a like form, which says nothing to a reader."""
    return (
        len(text) > LONGEST_DATA
        and len(set(text[:LONGEST_DATA])) >= _FEWEST_CHARACTERS
        and _ENCODED.fullmatch(text) is not None
    )


def plain_value(value: Any, depth: int = 0) -> Any:
    """A copy of a provider's value that any strict JSON encoder accepts: finite numbers, valid text, limited depth.

    Data that is encoded as a long text is replaced by its size.
    """
    match value:
        case str() if is_encoded_data(value):
            return f"[{len(value):,} characters of encoded data]"
        case str():
            return without_surrogates(value)
        case bool() | int() | None:
            return value
        case float():
            return value if value - value == 0 else None
        case dict():
            if depth >= MAX_EXTRA_DEPTH:
                return "…"
            return {
                plain_value(str(key)): plain_value(item, depth + 1)
                for key, item in value.items()
                if key != CUT_OFF
            }
        case list() | tuple():
            return "…" if depth >= MAX_EXTRA_DEPTH else [plain_value(item, depth + 1) for item in value]
        case _:
            return str(value)
