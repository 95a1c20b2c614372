"""Prepares the text of HTML for readers: adjacent elements stay apart, and what an attribute hides is left out.

A browser puts block elements, table cells and lines into different places, and style sheets do so with links and spans.
It shows an index smaller, and higher or lower than the text.
"""

from __future__ import annotations

import re
from html import unescape
from itertools import islice
from typing import Any, NamedTuple

from ua_tui.core.json_values import JsonMapping, table_of

HTML: JsonMapping = table_of(__file__, "html.toml")
"""Names of elements and encodings; the file describes each list."""
BLOCKS, _JOINING, _CODES, _LITERAL, _STYLED_APART = (
    frozenset(HTML[name]) for name in ("blocks", "joining", "codes", "literal", "styled_apart")
)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s<>/\0]*)[^<>\0]*>")
_INDEX = re.compile(r"<(sub|sup)(?:\s[^<>]*)?>([^<>]{1,100})</\1\s*>", re.IGNORECASE)
_INDICES = {
    "sub": str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎"),
    "sup": str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ"),
}
# Nothing of these is text, and they may be most of a page. What a page says of itself for search engines is kept.
_UNREAD = re.compile(r"<!--|<(script|style|svg)(?=[\s>/])[^<>]*>", re.IGNORECASE)
_ENDS_OF_UNREAD = {
    name: re.compile(rf"</{name}(?=[\s/>])[^>]*>", re.IGNORECASE) for name in ("script", "style", "svg")
} | {"": re.compile("-->")}
_EMPHASIS = re.compile(r"</?(?:b|strong|i|em|u|ins|mark|big|font)(?:\s[^<>]*)?>", re.IGNORECASE)
_WORDS = re.compile(r"\d+\s+\w")
_HIDING = re.compile(
    r"(display)\s*:\s*none|(visibility)\s*:\s*(?:hidden|collapse)"
    r"|(font-size|(?<!-)opacity)\s*:\s*0(?:\.0*)?(?![.\d])"
    r"|(?<!-)(color)\s*:\s*transparent|(left|top|text-indent)\s*:\s*-\d{3}|(clip)\s*:\s*rect\(\s*0"
    r"|(?<![-\w])(?:max-)?(width|height)\s*:\s*0(?![.\d]).*overflow\s*:\s*hidden", re.I | re.S,
)  # fmt: skip
_WHITE = r"\s*:\s*(?:#fff(?:fff)?\b|white\b|rgba?\(\s*255[\s,]+255[\s,]+255)"
_WHITE_TEXT, _WHITE_GROUND = (
    re.compile(name + _WHITE, re.I) for name in (r"(?<!-)color", r"background(?:-color)?")
)
_LONGEST_STYLE = 1_000
"""Characters of a style that are read: those that people write have at most 200."""
_SET_AGAIN = frozenset({"font-size", "visibility"})
"""Properties that elements inside may set again, as e-mails and menus do."""
_MOST_INSIDE = 500
"""Elements that are looked at inside one: parts of e-mails have at most 200."""
_MAY_BE_HIDDEN = "//*[self::template or @hidden or @aria-hidden or @style][not(self::html or self::body)]"
_LONG = 500
"""Characters of hidden text that may be the article of a page."""
_MOST = 0.7
"""The share of the text of a page that is not hidden, even if it is said to be: there are pages with two thirds."""
_ENDS = ".!?…:"
_CLOSING = "\"'”’»)]"


def write_indices(html: str, low: str = "_") -> str:
    """Write indices as characters: H₂O and x² instead of H2O and x2; a_max and 2^ab where there are none.

    `low` is the mark of a low index without characters.
    """

    def write(found: re.Match[str]) -> str:
        name = found[1].lower()
        written = unescape(found[2]).strip().translate(_INDICES[name])
        if any(each.isascii() for each in written):
            return (low if name == "sub" else "^") + found[2]
        return written

    return _INDEX.sub(write, html)


def without_scripts(html: str) -> str:
    """Remove scripts, style sheets, drawings and comments; one that does not end stays.

    The time is in proportion to the length of the text.
    """
    parts: list[str] = []
    done = at = 0
    unended: set[str] = set()
    while found := _UNREAD.search(html, at):
        name = (found[1] or "").lower()
        is_empty = found[0].endswith("/>")
        end = None if is_empty or name in unended else _ENDS_OF_UNREAD[name].search(html, found.end())
        if end is None:
            unended |= set() if is_empty else {name}
            at = found.end()
            continue
        if not any(each in found[0].lower() for each in ("ld+json", "settings+json")):
            parts.append(html[done : found.start()])
            done = end.end()
        at = end.end()
    parts.append(html[done:])
    return "".join(parts)


def hides(element: Any, plain: dict[Any, bool]) -> str:
    """Return the attribute or the property that hides an element of lxml from a reader; empty if none does.

    `plain` is for what becomes known of its tree: empty at first, and the same for all elements.
    """
    attributes = element.attrib
    if element.tag == "template":
        return "" if "shadowrootmode" in attributes else "template"
    if not attributes:
        return ""
    # A browser shows the text of `until-found` to those who search for it.
    if attributes.get("hidden", "until-found").lower() != "until-found":
        return "hidden"
    if attributes.get("aria-hidden", "").strip().lower() == "true":
        return "aria-hidden"
    style = attributes.get("style", "")[:_LONGEST_STYLE]
    if found := _HIDING.search(style):
        name: str = found[found.lastindex or 0].lower()
        return "" if name in _SET_AGAIN and _is_set_again(element, name) else name
    return "color" if _is_white_on_white(element, style, plain) else ""


def _is_white_on_white(element: Any, style: str, plain: dict[Any, bool]) -> bool:
    """Whether text is white, and nothing around white text may give it another background: a style, a class."""
    if not _WHITE_TEXT.search(style) or _WHITE_GROUND.search(style):
        return _WHITE_TEXT.search(style) is not None
    around: list[Any] = []
    is_plain = True
    while element is not None:
        if element in plain:
            is_plain = plain[element]
            break
        around.append(element)
        attributes = element.attrib
        if "class" in attributes or "bgcolor" in attributes or "background" in attributes.get("style", ""):
            is_plain = False
            break
        element = element.getparent()
    plain.update(dict.fromkeys(around, is_plain))
    return is_plain


def _is_set_again(element: Any, name: str) -> bool:
    """Whether all text inside an element is in others that set a property again."""
    if (element.text or "").strip():
        return False
    setting: set[Any] = set()
    for each in islice(element.iterdescendants(), _MOST_INSIDE):
        is_inside = each.getparent() in setting
        if is_inside or name in each.get("style", "").lower():
            setting.add(each)
        elif (each.text or "").strip():
            return False
        if not is_inside and (each.tail or "").strip():
            return False
    return bool(setting)


def parsed(html: str) -> Any:
    """The tree of a page, as lxml parses it; None if there is none."""
    from lxml import etree  # type: ignore[import-untyped]  # ships no types
    from lxml import html as lxml_html

    parser = lxml_html.HTMLParser(encoding="utf-8", no_network=True, huge_tree=True)
    try:
        return lxml_html.document_fromstring(html.encode("utf-8", "replace"), parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def drop_hidden(tree: Any) -> bool:
    """Remove the elements that are hidden from the tree of a page; returns whether the tree changed.

    What is hidden in the same way stays if it is most of the text, as a script shows it, or a dialog lies over it; it
    says no longer that it is hidden.
    """
    found = tree.xpath(_MAY_BE_HIDDEN)
    hidden: dict[str, list[Any]] = {}
    inside: dict[str, frozenset[Any]] = {}
    plain: dict[Any, bool] = {}
    for element in found:
        if (how := hides(element, plain)) and element not in inside.get(how, ()):
            hidden.setdefault(how, []).append(element)
            inside[how] = frozenset(element.iterdescendants())
    whole = _length(tree) if hidden else 0
    for how, elements in hidden.items():
        length = sum(map(_length, elements))
        # What is hidden from those who listen to a page can be seen.
        if length <= _MOST * whole or (length < _LONG and how != "aria-hidden"):
            for element in elements:
                if element.getparent() is not None:
                    element.drop_tree()
    for element in found:
        for name in ("hidden", "aria-hidden", "style"):
            element.attrib.pop(name, None)
        if element.tag == "template":
            element.tag = "div"
    return bool(found)


def _length(element: Any) -> int:
    """How many characters the text of an element has, without its links."""
    texts, linked = (
        element.xpath(".//text()[not(parent::script or parent::style)]"),
        element.xpath(".//a//text()"),
    )
    return sum(len(text.strip()) for text in texts) - sum(len(text.strip()) for text in linked)


def without_emphasis(html: str) -> str:
    """Remove the tags of bold, slanted and other emphasised words; the words stay."""
    return _EMPHASIS.sub("", html)


class _Tag(NamedTuple):
    """A tag of HTML; `is_literal` if what follows it is code."""

    text: str
    name: str
    is_end: bool
    is_literal: bool


def separate(html: str, space: str = " ") -> str:
    """Put a space between texts that only tags stand between, if a browser would show them apart.

    The time is in proportion to the length of the text.
    """
    parts: list[str] = []
    run: list[_Tag] = []
    before = ""
    literal = 0
    done = 0
    for match in _TAG.finditer(html):
        if text := html[done : match.start()]:
            is_apart = (not literal or _is_between_codes(run)) and _is_apart(before, run, text)
            parts += [*_written(run, space if is_apart else ""), text]
            before, run = text[-2:], []
        slash, name = match[1], match[2].lower()
        if name in _LITERAL:
            literal = max(0, literal - 1) if slash else literal + 1
        run.append(_Tag(match[0], name, bool(slash), bool(literal)))
        done = match.end()
    text = html[done:]
    is_apart = bool(text) and not literal and _is_apart(before, run, text)
    return "".join([*parts, *_written(run, space if is_apart else ""), text])


def _written(run: list[_Tag], space: str) -> list[str]:
    """The tags between two texts, with a space where it belongs to neither text."""
    spot, names = 0, set[str]()
    for number, tag in enumerate(run, 1):
        # White space between two blocks is dropped; at the edge of an emphasis it would be part of that.
        if tag.name in BLOCKS or (tag.is_end and names.isdisjoint(BLOCKS)):
            spot = number
        names.add(tag.name)
    texts = [tag.text for tag in run]
    return [*texts[:spot], space, *texts[spot:]]


def _is_between_codes(run: list[_Tag]) -> bool:
    """Whether one code element ends and another begins."""
    if not run or not run[0].is_end or run[-1].is_end:
        return False
    return {tag.name for tag in run} <= _CODES and not all(tag.is_literal for tag in run)


def _is_apart(before: str, run: list[_Tag], after: str) -> bool:
    """Whether a browser shows two texts apart that tags stand between, and nothing else separates them."""
    if not before or not run or before[-1].isspace() or after[0].isspace():
        return False
    names = {tag.name for tag in run}
    if not names.isdisjoint(BLOCKS) or _is_between_codes(run):
        return True
    if not names.isdisjoint(_JOINING):
        return False
    ends = [tag.is_end for tag in run if tag.name == "a"]
    if True in ends and not all(ends[ends.index(True) :]):
        # Another link begins after one.
        return True
    end = before[-1] if before[-1] not in _CLOSING else before[0]
    are_siblings = run[0].is_end and not run[-1].is_end and names <= _STYLED_APART
    if not after[0].isupper():
        # A name and a date beside each other; digits alone after a digit may belong to the same number.
        number = after[0].isdigit() and (end.islower() or (end.isdigit() and _WORDS.match(after)))
        return are_siblings and bool(number)
    return end in _ENDS or (are_siblings and (end.islower() or end.isdigit()))
