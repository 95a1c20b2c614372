"""Reads the tags of HTML, with their attributes, and the elements between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from html import unescape
from typing import NamedTuple

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.observers.evidence.reading.elements import Flow

_NAME = re.compile(r"</?([A-Za-z][^\s/<>\0]{0,60})")
_TO_END = re.compile(r"(?:[^\"'>]|\"[^\"]{0,4000}\"|'[^']{0,4000}')*+>")
_ATTRIBUTE = re.compile(
    r"([^\s\"'<>/=]{1,100})(?:\s{0,100}=\s{0,100}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+)))?"
)
_ENTITY = re.compile(
    r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});|&amp(?![A-Za-z0-9=])"
)
_LONGEST_QUOTED = 16 << 10
_MOST_ATTRIBUTES = 40
# Browsers show nothing after one of these that does not end; after the others, the rest of the page.
_RAW = frozenset({"script", "style", "title", "textarea"})
_UNREAD_NAMES = "template noscript svg math iframe object canvas audio video select noembed noframes datalist"
_UNREAD = _RAW | frozenset(_UNREAD_NAMES.split())
_PARTS: Mapping[str, str] = {
    "svg": "SVG picture", "math": "formula", "rt": "annotation", "style": "style text",
    "noscript": "noscript part", **dict.fromkeys(("textarea", "select", "datalist", "input"), "form field"),
    **dict.fromkeys(("iframe", "object", "frame"), "frame"), "canvas": "canvas",
}  # fmt: skip
_TEXT_WITHIN = re.compile(r"[^\s<]")
_TEXT_AFTER_TAG = re.compile(r">\s{0,1000}[^\s<]")
_TEXT_OF_STYLE = re.compile(r"(?<![\w-])content\s{0,9}:[^;}]{0,99}?[\"'][^\"']{0,99}?\w", re.IGNORECASE)
_NO_ATTRIBUTES: Mapping[str, str] = {}
_CHECKED = 1_024


class Tag(NamedTuple):
    """The beginning or the end of an element; `end` is the place after it."""

    name: str
    attributes: Mapping[str, str]
    is_end: bool
    end: int


class TagReader:
    """Reads single tags of a text; in order, this takes time in proportion to the length of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._next_end = -1

    def read(self, at: int, end: int) -> Tag | None:
        """Read the tag that begins at `at` and ends before `end`; None if there is none."""
        name = _NAME.match(self._text, at, end)
        if name is None:
            return None
        close = self._close(name.end())
        if not 0 <= close < end:
            return None
        if self._text.find('"', name.end(), close) >= 0 or self._text.find("'", name.end(), close) >= 0:
            quoted = _TO_END.match(self._text, name.end(), min(end, at + _LONGEST_QUOTED))
            close = quoted.end() - 1 if quoted else close
        attributes = _NO_ATTRIBUTES
        is_end = self._text[at + 1] == "/"
        if close > name.end() and not is_end:
            attributes = self._attributes(name.end(), close)
        return Tag(name[1].lower(), attributes, is_end, close + 1)

    def _close(self, at: int) -> int:
        """The place of the next ">"; the length of the text if there is none."""
        if self._next_end < at:
            found = self._text.find(">", at)
            self._next_end = found if found >= 0 else len(self._text)
        return self._next_end if self._next_end < len(self._text) else -1

    def _attributes(self, start: int, end: int) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for match in _ATTRIBUTE.finditer(self._text, start, end):
            value = match[2] or match[3] or match[4] or ""
            if "&" in value:
                value = _ENTITY.sub(lambda entity: unescape(entity[0]), value)
            found.setdefault(match[1].lower(), value.strip())
            if len(found) == _MOST_ATTRIBUTES:
                break
        return found


class HtmlReader:
    """Reads ranges of HTML, one after the other, into the elements of one document."""

    def __init__(self, source: str, flow: Flow, stop: Stop = NEVER) -> None:
        self._source = source
        self._flow = flow
        self._stop = stop
        self._tags = TagReader(source)
        self._unended: set[str] = set()
        self._steps = 0
        self.title = ""
        self.unread: Counter[str] = Counter()
        """How many parts of each kind have text that a browser shows and that is not read."""

    def read(self, start: int, end: int) -> None:
        """Read a range.

        Raises:
            Stopped: the flag was set.
        """
        source, flow = self._source, self._flow
        at = start
        while at < end and not flow.is_full:
            self._steps += 1
            if not self._steps % _CHECKED:
                self._stop.check()
            mark = source.find("<", at, end)
            if mark < 0:
                flow.text(at, end)
                return
            flow.text(at, mark)
            tag = self._tags.read(mark, end)
            if tag is not None:
                at = self._element(tag, mark, end)
            elif source.startswith("<!--", mark):
                at = self._after("-->", mark + 2, end)
            elif source.startswith(("<!", "<?", "</"), mark):
                at = self._after(">", mark + 2, end)
            else:
                flow.text(mark, mark + 1)
                at = mark + 1

    def _element(self, tag: Tag, at: int, end: int) -> int:
        """Begin or end an element; return the place after what was read."""
        if tag.is_end:
            self._flow.end(tag.name, at)
        elif tag.name in _UNREAD:
            after = self._end_of(tag.name, tag.end, end)
            self._note_unread(tag, after)
            if tag.name == "title" and not self.title:
                self.title = unescape(self._source[tag.end : min(after, tag.end + 1_000)])
            return after
        else:
            self._note_unread(tag, tag.end)
            self._flow.start(tag.name, tag.attributes, at)
        return tag.end

    def _note_unread(self, tag: Tag, after: int) -> None:
        """Count an element whose text is not read, if it has any."""
        kind, attributes = _PARTS.get(tag.name), tag.attributes
        match tag.name:
            case "input":
                has_text = attributes.get("type") != "hidden" and bool(attributes.get("value"))
            case "rt":
                has_text = True
            case "style":
                has_text = _TEXT_OF_STYLE.search(self._source, tag.end, after) is not None
            case "svg" | "math":
                has_text = _TEXT_AFTER_TAG.search(self._source, tag.end - 1, after) is not None
            case _:
                found = _TEXT_WITHIN.search(self._source, tag.end, after)
                has_text = found is not None or any(
                    attributes.get(each) for each in ("srcdoc", "src", "data")
                )
        if kind is not None and has_text:
            self.unread[kind] += 1

    def _end_of(self, name: str, start: int, end: int) -> int:
        """The place of the end of an element whose content is not read."""
        found = None
        if name not in self._unended:
            found = re.compile(f"</{name}(?![A-Za-z0-9])", re.IGNORECASE).search(self._source, start, end)
        if found is not None:
            return found.start()
        # Of many elements without an end, only the first one is searched for to the end of the range.
        self._unended.add(name)
        return end if name in _RAW else start

    def _after(self, mark: str, start: int, end: int) -> int:
        found = self._source.find(mark, start, end)
        return found + len(mark) if found >= 0 else end
