"""Sanitises providers' values: text without HTML, and values that any strict JSON encoder accepts."""

from __future__ import annotations

import html
import re
from typing import Any

from ua_tui.core.text import without_surrogates
from ua_tui.core.toolkit.html_text import BLOCKS, separate
from ua_tui.observers.decoding.truncated_json import CUT_OFF

MAX_EXTRA_DEPTH = 8
LONGEST_DATA = 1000
"""The most characters of base64 and the like that are kept in a value."""

_ELEMENTS = (
    "a abbr address article aside b bdi bdo big blockquote br button caption center cite code col dd del "
    "details dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 header hr i iframe img "
    "input ins kbd label li link main mark math meta nav nobr ol p picture pre q s samp script section "
    "small source span strike strong style sub summary sup svg table tbody td tfoot th thead time tr tt u "
    "ul var video wbr jats:[a-z-]+"
).replace(" ", "|")
_TAG = re.compile(rf"</?(?:{_ELEMENTS})(?:[ \t\r\n\f\v][^<>]*)?/?>", re.IGNORECASE | re.DOTALL)
_BREAKING = "|".join([*sorted(BLOCKS - {"td", "th", "button", "caption", "option"}), "jats:(?:p|sec|title)"])
_BREAKING_TAG = re.compile(rf"</?(?:{_BREAKING})(?:[ \t\r\n\f\v][^<>]*)?/?>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2002-\u200a\u202f\u205f\u3000]+")
_BREAKS = re.compile(r" ?\n[ \n]*")
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
        # Behind the end of the last comment, each beginning of one would be searched to the end of the text.
        end = text.rfind("-->") + len("-->")
        text = _COMMENT.sub("", text[:end]) + text[end:]
        text = _TAG.sub("", _BREAKING_TAG.sub("\n", separate(text)))
    if "&" in text:
        text = html.unescape(text)
    return _BREAKS.sub("\n", _SPACES.sub(" ", without_surrogates(text))).strip()


def one_line(text: str) -> str | None:
    """The plain text on one line; None if there is none."""
    plain = plain_text(text)
    return (" ".join(plain.split()) if "\n" in plain else plain) or None


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
