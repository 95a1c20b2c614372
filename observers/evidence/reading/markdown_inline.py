"""Reads the text of a Markdown block: emphasis, code, links, marks of footnotes, and the HTML in it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape

from ua_tui.observers.evidence.reading.elements import Flow
from ua_tui.observers.evidence.reading.markup import Tag, TagReader

Range = tuple[int, int]
"""A part of a line: two places of the source."""

_SPECIAL = re.compile(r"\\|`+|\*+|_+|~+|!\[|\[|\]|<|https?://|www\.", re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s<>\"`|]{1,4000}")
_TARGET = re.compile(
    r"\(\s{0,100}+(?:<([^<>\n]*+)>|(?!<)((?:[^\s()\\]++|\\.|\((?:[^\s()\\]|\\.){0,500}+\))*+))"
    r"(?:\s{1,100}+(?:\"(?:[^\"\\]|\\.){0,1000}+\"|'(?:[^'\\]|\\.){0,1000}+'|\([^()]{0,1000}+\)))?\s{0,100}+\)",
    re.DOTALL,
)
_REFERENCE = re.compile(r"\[((?:[^\[\]\\]|\\.){0,500}+)\]", re.DOTALL)
_FOOTNOTE = re.compile(r"\[\^([^\[\]\s]{1,100}+)\]")
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,4000}+)>")
_MAIL = re.compile(r"<([^\s<>@]{1,64}@[A-Za-z0-9.-]{1,200})>")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG = re.compile(
    r"</[A-Za-z][A-Za-z0-9-]*+\s*+>|<[A-Za-z][A-Za-z0-9-]*+(?:\s++[A-Za-z_:][\w.:-]*+"
    r"(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']{0,4000}'|\"[^\"]{0,4000}\"))?)*+\s*+/?>"
)
_CELL_CODE = re.compile(r"(?:[^\\]|\\(?!\|))+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def label_key(label: str) -> str:
    """The form in which labels of link definitions are compared."""
    return " ".join(label.split()).casefold()


@dataclass(slots=True)
class _Token:
    """A piece of the text: text, an element, or what may become one.

    `href` is the address of a link, and the mark of a run of marks; `cut_start` and `cut_end` are how many of its marks
    are no text.
    """

    start: int
    end: int
    what: str = "text"
    href: str = ""
    tag: Tag | None = None
    can_open: bool = False
    can_close: bool = False
    cut_start: int = 0
    cut_end: int = 0


@dataclass(slots=True)
class _Text:
    """The lines of a block as one text, with the place of each in the source."""

    text: str
    starts: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def place(self, at: int) -> int:
        line = max(bisect_right(self.starts, at) - 1, 0)
        return self.places[line] + at - self.starts[line]


class InlineReader:
    """Reads the text of blocks into the elements of one document; `references` and `notes` are its definitions."""

    def __init__(
        self, source: str, flow: Flow, references: Mapping[str, str], notes: frozenset[str] = frozenset()
    ) -> None:
        self._source = source
        self._flow = flow
        self._references = references
        self._notes = notes

    def read(self, lines: Sequence[Range], *, is_cell: bool = False) -> None:
        """Read the lines of a block, each without what marks the block; in a cell, "|" is escaped also in code."""
        whole = "\n".join(self._source[start:end] for start, end in lines)
        text = _Text(whole[: self._flow.spend(len(whole))])
        at = 0
        for start, end in lines:
            text.starts.append(at)
            text.places.append(start)
            at += end - start + 1
        for token in _Scanner(text.text, self._references, self._notes).run():
            self._emit(text, token, is_cell=is_cell)

    def _emit(self, text: _Text, token: _Token, *, is_cell: bool) -> None:
        flow, at = self._flow, text.place(token.start)
        match token.what:
            case "start":
                flow.start("a", {"href": token.href}, at)
            case "end":
                flow.end("a", at)
            case "tag" if token.tag is not None:
                if token.tag.is_end:
                    flow.end(token.tag.name, at)
                elif token.tag.name not in {"script", "style", "title", "textarea"}:
                    flow.start(token.tag.name, token.tag.attributes, at)
            case "nothing" | "open":
                pass
            case "code":
                flow.start("code", {}, at)
                self._emit_literal(text, token, is_cell=is_cell)
                flow.end("code", at)
            case "literal":
                self._emit_literal(text, token, is_cell=is_cell)
            case _:
                self._emit_text(
                    text, token.start + token.cut_start, token.end - token.cut_end, has_entities=True
                )

    def _emit_literal(self, text: _Text, token: _Token, *, is_cell: bool) -> None:
        """Emit a text without entities; in a cell, "|" is escaped in it."""
        spans = [(token.start, token.end)]
        if is_cell:
            spans = [part.span() for part in _CELL_CODE.finditer(text.text, token.start, token.end)]
        for start, end in spans:
            self._emit_text(text, start, end, has_entities=False)

    def _emit_text(self, text: _Text, start: int, end: int, *, has_entities: bool) -> None:
        while start < end:
            line = bisect_right(text.starts, start)
            following = text.starts[line] if line < len(text.starts) else len(text.text) + 1
            # The line break is a space: in the source, marks of the block may stand there, too.
            stop = min(following - 1, end)
            if start < stop:
                self._flow.text(text.place(start), text.place(stop - 1) + 1, has_entities=has_entities)
            if stop < end:
                self._flow.space(text.place(stop))
            start = stop + 1


class _Scanner:
    """Finds the pieces of one text, in time in proportion to its length."""

    def __init__(self, text: str, references: Mapping[str, str], notes: frozenset[str]) -> None:
        self._text = text
        self._references = references
        self._notes = notes
        self._tokens: list[_Token] = []
        self._brackets: list[int] = []
        self._first_active = 0
        self._tags = TagReader(text)
        self._runs: dict[int, list[int]] | None = None
        self._comment_end = -1

    def run(self) -> list[_Token]:
        """Return the pieces in order."""
        text, at = self._text, 0
        for _ in range(len(text) + 1):
            found = _SPECIAL.search(text, at)
            if found is None:
                break
            self._add("text", at, found.start())
            at = self._special(found)
        self._add("text", at, len(text))
        _pair_emphasis(self._tokens)
        return self._visible()

    def _visible(self) -> list[_Token]:
        """The tokens without the descriptions of pictures, and with open brackets as text."""
        kept: list[_Token] = []
        skipped_until = -1
        for token in self._tokens:
            if token.what == "picture":
                skipped_until = max(skipped_until, token.end)
            elif token.start >= skipped_until or token.what in {"start", "end"}:
                if token.what == "open":
                    token.what = "text"
                kept.append(token)
        return kept

    def _add(self, what: str, start: int, end: int, href: str = "", tag: Tag | None = None) -> None:
        if start < end or what == "end":
            self._tokens.append(_Token(start, end, what, href, tag))

    def _special(self, found: re.Match[str]) -> int:
        at, mark = found.start(), found[0]
        match mark[0]:
            case "\\":
                return self._escape(at)
            case "`":
                return self._code(at, found.end())
            case "*" | "_" | "~":
                self._delimiters(at, found.end())
                return found.end()
            case "!":
                return self._open(at, found.end())
            case "[":
                return self._footnote(at) or self._open(at, found.end())
            case "]":
                return self._close(at)
            case "<":
                return self._angle(at)
        return self._bare(at, found.end())

    def _escape(self, at: int) -> int:
        if _ESCAPE.match(self._text, at):
            # What is escaped is no entity.
            self._add("literal", at + 1, at + 2)
            return at + 2
        self._add("nothing" if self._text[at + 1 : at + 2] == "\n" else "text", at, at + 1)
        return at + 1

    def _code(self, at: int, end: int) -> int:
        if self._runs is None:
            self._runs = {}
            for run in re.finditer("`+", self._text):
                self._runs.setdefault(run.end() - run.start(), []).append(run.start())
        runs = self._runs.get(end - at, [])
        next_at = bisect_left(runs, end)
        if next_at == len(runs):
            self._add("text", at, end)
            return end
        start, stop = end, runs[next_at]
        inner = self._text[start:stop]
        if len(inner) > 2 and inner[0] in " \n" and inner[-1] in " \n" and inner.strip():
            # One space on each side only keeps marks of code apart from the code.
            start, stop = start + 1, stop - 1
        self._add("code", start, stop)
        return runs[next_at] + end - at

    def _delimiters(self, start: int, end: int) -> None:
        text = self._text
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        can_open = not after.isspace() and (
            not _is_punctuation(after) or before.isspace() or _is_punctuation(before)
        )
        can_close = not before.isspace() and (
            not _is_punctuation(before) or after.isspace() or _is_punctuation(after)
        )
        if text[start] == "_":
            can_open, can_close = (
                can_open and (not can_close or _is_punctuation(before)),
                can_close and (not can_open or _is_punctuation(after)),
            )
        if text[start] == "~" and end - start != 2:
            can_open = can_close = False
        self._tokens.append(_Token(start, end, "run", text[start], can_open=can_open, can_close=can_close))

    def _open(self, at: int, end: int) -> int:
        self._brackets.append(len(self._tokens))
        self._add("open", at, end)
        return end

    def _footnote(self, at: int) -> int:
        """The place after the mark of a footnote; 0 if there is none."""
        found = _FOOTNOTE.match(self._text, at)
        if found is None or not (label_key(found[1]) in self._notes or found[1].isdigit()):
            return 0
        self._add("start", at, found.end(), f"#^{label_key(found[1])}")
        self._add("literal", at, found.end())
        self._add("end", found.end(), found.end())
        return found.end()

    def _close(self, at: int) -> int:
        if len(self._brackets) <= self._first_active:
            self._brackets.clear()
            self._first_active = 0
        if not self._brackets:
            self._add("text", at, at + 1)
            return at + 1
        number = self._brackets.pop()
        opener = self._tokens[number]
        target = self._target(at, opener)
        if target is None:
            self._add("text", at, at + 1)
            return at + 1
        href, end = target
        if self._text[opener.start] == "!":
            opener.what, opener.end = "picture", end
            return end
        opener.what, opener.href = "start", href
        self._add("end", at, at)
        # A link is not in another link: what was opened before is text.
        self._first_active = len(self._brackets)
        return end

    def _target(self, at: int, opener: _Token) -> tuple[str, int] | None:
        """The address of a link whose text ends at `at`, and the place after the link."""
        text = self._text
        if found := _TARGET.match(text, at + 1):
            return _address(found[1] if found[1] is not None else found[2] or ""), found.end()
        inner = text[opener.end : min(at, opener.end + 501)]
        end = at + 1
        if found := _REFERENCE.match(text, at + 1):
            href = self._references.get(label_key(found[1] or inner))
            if href is not None:
                return href, found.end()
            if not found[1]:
                end = found.end()
        href = self._references.get(label_key(inner)) if inner else None
        return (href, end) if href is not None else None

    def _angle(self, at: int) -> int:
        text = self._text
        if found := _AUTOLINK.match(text, at):
            self._add("start", at, at + 1, unescape(found[1]))
            self._add("text", found.start(1), found.end(1))
            self._add("end", found.end(), found.end())
            return found.end()
        if found := _MAIL.match(text, at):
            self._add("text", found.start(1), found.end(1))
            return found.end()
        if text.startswith("<!--", at):
            if self._comment_end < at:
                end = text.find("-->", at + 2)
                self._comment_end = end if end >= 0 else len(text)
            if self._comment_end < len(text):
                return self._comment_end + 3
        elif _TAG.match(text, at) and (tag := self._tags.read(at, len(text))):
            self._add("tag", at, tag.end, tag=tag)
            return tag.end
        self._add("text", at, at + 1)
        return at + 1

    def _bare(self, at: int, end: int) -> int:
        """Keep the characters of an address as they are."""
        found = _ADDRESS.match(self._text, end)
        if found is None:
            self._add("text", at, end)
            return end
        stop = found.end()
        for mark in ("](", "][", "**", "__", "~~", "]", ")*", ")_"):
            place = self._text.find(mark, end, stop)
            stop = place if place >= 0 else stop
        while stop > end and self._text[stop - 1] in "*_~":
            stop -= 1
        self._add("text", at, stop)
        return stop


def _address(text: str) -> str:
    return unescape(_ESCAPE.sub(r"\1", text)) if "\\" in text or ";" in text else text


def _is_punctuation(character: str) -> bool:
    return character in _PUNCTUATION or (
        not character.isascii() and unicodedata.category(character)[0] in "PS"
    )


def _pair_emphasis(tokens: Sequence[_Token]) -> None:
    """Cut the marks of emphasis that belong to each other from the runs of marks."""
    opened: list[_Token] = []
    bottoms: dict[str, int] = {}
    for token in tokens:
        if token.what == "run":
            if token.can_close:
                _close_run(token, opened, bottoms)
            if token.can_open and token.end - token.start > token.cut_start:
                opened.append(token)


def _close_run(closer: _Token, opened: list[_Token], bottoms: dict[str, int]) -> None:
    mark = closer.href
    bottom = min(bottoms.get(mark, 0), len(opened))
    while (rest := closer.end - closer.start - closer.cut_start) > 0:
        at = len(opened) - 1
        while at >= bottom and opened[at].href != mark:
            at -= 1
        if at < bottom:
            # Nothing below this is an opener for the mark: it is not searched again.
            bottoms[mark] = len(opened)
            return
        opener = opened[at]
        left = opener.end - opener.start - opener.cut_start - opener.cut_end
        used = 2 if min(left, rest) >= 2 else 1
        opener.cut_end += used
        closer.cut_start += used
        del opened[at + (left > used) :]
        for each, place in bottoms.items():
            bottoms[each] = min(place, len(opened))
