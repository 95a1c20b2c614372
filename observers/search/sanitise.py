"""Sanitises providers' values: text without HTML, and values that any strict JSON encoder accepts."""

from __future__ import annotations

import html
import re
from typing import Any

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
# Texts of several rows are joined by NUL, which no tag reaches across.
_JOINT = "\0"
_TAG = re.compile(rf"</?(?:{_ELEMENTS})(?:[ \t\r\n\f\v][^<>\0]*)?/?>", re.IGNORECASE | re.DOTALL)
_BREAKING = "|".join([*sorted(BLOCKS - {"td", "th", "button", "caption", "option"}), "jats:(?:p|sec|title)"])
_BREAKING_TAG = re.compile(rf"</?(?:{_BREAKING})(?:[ \t\r\n\f\v][^<>\0]*)?/?>", re.IGNORECASE)
_SIBLINGS = "><"
# Most texts with tags have only these; the value is what takes the tag's place.
_COMMON_TAGS = {
    f"<{slash}{name}>": "\n" if name in ("br", "p") else ""
    for name in ("b", "em", "strong", "i", "br", "p", "span", "mark")
    for slash in ("", "/")
}
_SPACES = re.compile(r"[ \t\r\f\v\u00a0\u2002-\u200a\u202f\u205f\u3000]+")
_BREAKS = re.compile(r" ?\n[ \n]*")
_ENTITIES = (
    ("&#39;", "'"), ("&quot;", '"'), ("&nbsp;", "\u00a0"), ("&#x27;", "'"), ("&lt;", "<"), ("&gt;", ">")
)  # fmt: skip
_OTHER_ENTITY = re.compile(r"&(?!(?:lt|gt|quot|#39|#x27|nbsp|amp);)")
_ENCODED = re.compile(r"data:[^,\s]{0,200},\S*|[A-Za-z0-9+/=_\r\n-]+")
# Sequences that steer a terminal, other controls, and the marks that change the direction of text. Joiners stay: words
# of some languages, and pictures, are written with them.
_CONTROLS = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
)
# Hexadecimal numbers have hardly fewer.
_FEWEST_CHARACTERS = 12
_ASCII_BLANKS = ("\n", "\t", "\r", "\f", "\v", "  ")
_ASCII = bytes(range(0x80))
_OTHER_BLANKS = ("\u00a0", *map(chr, range(0x2002, 0x200B)), "\u202f", "\u205f", "\u3000")


def plain_text(text: str) -> str:
    """The text without HTML tags and entities; line breaks stay, and other white space becomes one space."""
    if "<" in text:
        text = _without_tags(text)
    if "&" in text:
        text = _unescaped(text)
    if text.isascii():
        return (_with_single_blanks(text) if _has(text, _ASCII_BLANKS) else text).strip()
    try:
        others = text.encode().translate(None, _ASCII).decode()
    except UnicodeEncodeError:
        return _without_surrogates(_with_single_blanks(text)).strip()
    if _has(others, _OTHER_BLANKS) or _has(text, _ASCII_BLANKS):
        text = _with_single_blanks(text)
    return text.strip()


def _without_tags(text: str) -> str:
    """The text without its tags; those that break a line become a line break."""
    count, plain, tags = text.count("<"), text, _COMMON_TAGS.copy()
    # Texts of siblings are only known to be apart as long as their tags are there.
    while _SIBLINGS not in text and count > 0 and (start := plain.find("<")) >= 0:
        tag = plain[start : plain.find(">", start) + 1]
        if (left := tags.pop(tag, None)) is None:
            break
        # Counted where no other tag was taken out yet, which could have brought two ends together.
        count -= text.count(tag)
        plain = plain.replace(tag, left)
    if count == 0:
        return plain
    if "<!--" in text:
        text = _JOINT.join(map(_without_comments, text.split(_JOINT)))
    text = _JOINT.join(map(separate, text.split(_JOINT)))
    return _TAG.sub("", _BREAKING_TAG.sub("\n", text))


def _without_comments(text: str) -> str:
    pieces = []
    done = 0
    # A search from each beginning that has no end would take time in proportion to the square of the text.
    while (start := text.find("<!--", done)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        pieces.append(text[done:start])
        done = end + 3
    return "".join((*pieces, text[done:]))


def _with_single_blanks(text: str) -> str:
    return _BREAKS.sub("\n", _SPACES.sub(" ", text))


def _unescaped(text: str) -> str:
    if _OTHER_ENTITY.search(text) is not None:
        return html.unescape(text)
    # Nearly all are these few. The ampersand comes last, so that no new entity is made of it and read as one.
    others = text.count("&") - text.count("&amp;")
    for entity, character in _ENTITIES:
        if others:
            plain = text.replace(entity, character)
            others -= (len(text) - len(plain)) // (len(entity) - 1)
            text = plain
    return text.replace("&amp;", "&")


def _has(text: str, parts: tuple[str, ...]) -> bool:
    for part in parts:  # noqa: SIM110 - a generator would cost more than the search
        if part in text:
            return True
    return False


def one_line(text: str) -> str | None:
    """The plain text on one line; None if there is none."""
    plain = plain_text(text)
    return (" ".join(plain.split()) if "\n" in plain else plain) or None


def plain_texts(texts: list[str], *, one_line: bool) -> list[str]:
    """Sanitise many texts at once; with `one_line` each on one line."""
    joined = plain_text(_JOINT.join(texts))
    plain = list(map(str.strip, joined.split(_JOINT)))
    if len(plain) != len(texts):
        plain = [plain_text(text) for text in texts]
        joined = "".join(plain)
    if one_line and "\n" in joined:
        plain = [" ".join(text.split()) if "\n" in text else text for text in plain]
    return plain


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
            return value if value.isascii() else _without_surrogates(value)
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


def _without_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
