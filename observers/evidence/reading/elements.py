"""Turns the elements of a document, as they begin and end, into drafts of its blocks.

HTML, Markdown and plain text are all read as elements of HTML. What is damaged is read as far as possible: elements
that are not ended, ends without a beginning, cells without a row. The time is in proportion to the number of elements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ua_tui.core.toolkit.html_text import BLOCKS
from ua_tui.observers.evidence.reading.drafts import Anchor, Draft, Place
from ua_tui.observers.evidence.report import BlockKind

_VOID_NAMES = "area base br col embed frame hr img input keygen link meta param source track wbr"
_VOID = frozenset(_VOID_NAMES.split())
_MOST = 1 << 20
"""What is read of a document: characters of text, and for each tag and each block as much as it costs."""
_COST_OF_TAG, _COST_OF_BLOCK = 8, 40
COST_OF_LINE = 8
"""What a reader of lines counts for each, besides its text."""
_DEEPEST_SEARCH = 64
"""Elements that are searched for the one that a tag ends."""
_MOST_COLUMNS, _LONGEST_SPAN = 100, 50
_CELLS = frozenset({"td", "th"})
_GROUPS = frozenset({"thead", "tbody", "tfoot"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_TABLE = frozenset({"table"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_IN_TABLE = _CELLS | _GROUPS | {"tr", "caption"}
# What an element ends that has no end of its own, and what it cannot reach beyond.
_ENDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "li": (frozenset({"li"}), _LISTS | _IN_TABLE),
    **dict.fromkeys(("dt", "dd"), (frozenset({"dt", "dd"}), frozenset({"dl"}) | _IN_TABLE)),
    **dict.fromkeys(("td", "th"), (_CELLS | {"caption"}, frozenset({"tr", "table"}))),
    "tr": (_CELLS | {"tr", "caption"}, _TABLE),
    **dict.fromkeys(("thead", "tbody", "tfoot"), (_IN_TABLE, _TABLE)),
    "a": (frozenset({"a"}), BLOCKS),
    "option": (frozenset({"option"}), frozenset({"select"})),
    **dict.fromkeys(_HEADINGS, (_HEADINGS, BLOCKS - _HEADINGS)),
}
_PARAGRAPH = frozenset({"p"})
_NO_PARAGRAPH = BLOCKS - _PARAGRAPH
_HIDDEN_STYLE = re.compile(
    r"(?:^|[;\s])(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}(?:hidden|collapse)"
    r"|(?:font-size|opacity)\s{0,9}:\s{0,9}0*\.?0+(?![\d.])|color\s{0,9}:\s{0,9}transparent"
    r"|(?:text-indent|left|top)\s{0,9}:\s{0,9}-\d{3,6})",
    re.IGNORECASE,
)
_NOTES = re.compile(r"(?:^|[\s_-])(?:foot-?notes?|end-?notes?|references|bibliography|citations)(?:$|[\s_-])")
_INDEX = re.compile(r"[0-9+\-−=()n,]{1,12}")
_INDICES: Mapping[int, str] = {
    ord(each): index for each, index in zip("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ", strict=True)
}
_NO_SPACE_AFTER = "([{^,;–-"
_AFTER_QUOTATION = ".!?…\"”“’'»"


@dataclass(frozen=True, slots=True)
class _Context:
    """What holds for the text in an element."""

    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    is_hidden: bool = False
    is_note: bool = False
    is_high: bool = False
    is_code: bool = False
    item: int = 0
    quote: int = 0
    figure: int = 0
    place: Place | None = None
    caption_of: int = 0
    anchor: Anchor | None = None


class _Open(NamedTuple):
    name: str
    context: _Context


@dataclass(slots=True)
class _Table:
    """A table while it is read; `taken` has for a column the row up to which a cell above it reaches."""

    number: int
    figure: int = 0
    row: int = -1
    column: int = 0
    in_head: bool = False
    taken: dict[int, int] = field(default_factory=dict)

    def next_row(self) -> None:
        self.row += 1
        self.column = 0

    def next_place(self, attributes: Mapping[str, str], *, is_header: bool) -> Place:
        self.row = max(self.row, 0)
        while self.column < _MOST_COLUMNS and self.taken.get(self.column, 0) > self.row:
            self.column += 1
        rows, columns = _span(attributes, "rowspan"), _span(attributes, "colspan")
        place = Place(self.number, self.row, self.column, rows, columns, is_header, self.in_head)
        if rows > 1:
            self.taken.update(dict.fromkeys(range(self.column, self.column + columns), self.row + rows))
        self.column += columns
        return place


class Flow:
    """Collects the drafts of a document from its elements and its text."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.drafts: list[Draft] = []
        self.quote_cites: dict[int, str] = {}
        self.table_figures: dict[int, int] = {}
        """For each table the number of the figure that it is in."""
        self._open: list[_Open] = []
        self._counts: Counter[str] = Counter()
        self._top = _Context()
        self._current: dict[bool, Draft | None] = {False: None, True: None}
        self._ids: list[str] = []
        self._tables: list[_Table | None] = []
        self._numbers: list[int] = []
        self._groups = 0
        self._term = 0
        self._quoted = 0
        self._left = _MOST

    @property
    def is_full(self) -> bool:
        """Whether the document is so long that no more of it is read."""
        return self._left <= 1

    def spend(self, wanted: int) -> int:
        """Count the work for some characters before they are read as text; return for how many there is room."""
        room = max(min(wanted, self._left // 2), 0)
        self._left -= room
        return room

    def start(self, name: str, attributes: Mapping[str, str], at: int) -> None:
        """Begin an element whose tag is at a place of the source."""
        self._left -= _COST_OF_TAG
        if name in _VOID:
            self._void(name, at)
        else:
            if name in _ENDS:
                self._end_any(*_ENDS[name], at)
            if name in BLOCKS:
                self._end_any(_PARAGRAPH, _NO_PARAGRAPH, at)
            is_block = name in BLOCKS or (name == "cite" and self._is_attribution())
            if is_block:
                self._separate(at, is_cell=name in _CELLS or name == "table")
        for key in ("id", "name") if name == "a" else ("id",):
            if attributes.get(key):
                self._mark(attributes[key])
        if name in _VOID:
            return
        context = self._context(name, attributes, self._top)
        if context.is_hidden and not self._top.is_hidden:
            self._current[True] = None
        self._open.append(_Open(name, context))
        self._counts[name] += 1
        self._top = context
        if name == "q":
            self._quoted += 1
            self.text_as("“" if self._quoted % 2 else "‘", at)

    def end(self, name: str, at: int) -> None:
        """End an element; what was begun in it ends, too. The end of what was not begun is ignored."""
        self._left -= _COST_OF_TAG // 2
        if name == "br":
            self._void(name, at)
        elif self._counts[name]:
            barriers = _TABLE if name in _IN_TABLE else frozenset() if name == "table" else _CELLS
            self._end_any(frozenset({name}), barriers, at, is_last=True)

    def text(self, start: int, end: int, *, has_entities: bool = True) -> None:
        """Add a range of the source."""
        end = min(end, start + max(self._left - 1, 0))
        if start >= end:
            return
        self._left -= end - start + _COST_OF_TAG // 2
        draft = self._draft(start, end)
        if draft is None:
            return
        context = self._top
        draft.set_anchor(context.anchor)
        before = len(draft.offsets)
        self._add(draft, start, end, context, has_entities=has_entities)
        if context.is_code:
            draft.code.append((before, len(draft.offsets)))

    def _add(self, draft: Draft, start: int, end: int, context: _Context, *, has_entities: bool) -> None:
        if context.anchor is None:
            is_index = context.is_high and _INDEX.fullmatch(self.source[start:end].strip())
            draft.add(self.source, start, end, _INDICES if is_index else None, has_entities=has_entities)
            return
        is_number = self.source[start : min(end, start + 4)].strip().isdigit()
        is_mark = context.is_high or is_number or context.anchor.href.startswith("#")
        # The mark of a note is not a digit of the number before it.
        if is_mark and self.source[start].isdigit() and draft.last not in _NO_SPACE_AFTER:
            draft.add_space(start)
        draft.add(self.source, start, end, has_entities=has_entities)

    def text_as(self, text: str, at: int) -> None:
        """Add a text that stands for what is at a place of the source."""
        draft = self._draft(at, at + 1, is_text=True)
        if draft is not None:
            draft.set_anchor(self._top.anchor)
            draft.add_as(text, at)

    def space(self, at: int) -> None:
        """Separate the text before from the text after."""
        draft = self._current[self._top.is_hidden]
        if draft is not None:
            draft.add_space(at)

    def finish(self) -> list[Draft]:
        """Return the drafts that have a text, in order."""
        for draft in self.drafts:
            draft.set_anchor(None)
        return [draft for draft in self.drafts if draft.text.strip()]

    def _draft(self, start: int, end: int, *, is_text: bool = False) -> Draft | None:
        """The draft that text is added to; None for white space before the beginning of a block."""
        context = self._top
        draft = self._current[context.is_hidden]
        if draft is None:
            if not is_text and self.source[start:end].isspace():
                return None
            draft = Draft(
                kind=context.kind,
                level=context.level,
                label=context.label,
                is_hidden=context.is_hidden,
                is_note=context.is_note,
                item=context.item,
                quote=context.quote,
                figure=context.figure,
                place=context.place,
                caption_of=context.caption_of,
                ids=self._ids,
            )
            self._ids = []
            self._left -= _COST_OF_BLOCK
            self._current[context.is_hidden] = draft
            self.drafts.append(draft)
        return draft

    def _mark(self, name: str) -> None:
        draft = self._current[self._top.is_hidden]
        (self._ids if draft is None else draft.ids).append(name[:500])

    def _void(self, name: str, at: int) -> None:
        if name == "hr":
            self._end_any(_PARAGRAPH, _NO_PARAGRAPH, at)
            self._separate(at)
        elif name == "br":
            self.space(at)

    def _separate(self, at: int, *, is_cell: bool = False) -> None:
        """End the block; in a cell, only put a space."""
        if self._top.place is not None and not is_cell:
            self.space(at)
        else:
            self._current = {False: None, True: None}

    def _end_any(
        self, names: frozenset[str], barriers: frozenset[str], at: int, *, is_last: bool = False
    ) -> None:
        """End the outermost element with one of the names before a barrier; the innermost if `is_last`."""
        if not any(self._counts[name] for name in names):
            return
        wanted = 0
        for back in range(1, min(len(self._open), _DEEPEST_SEARCH) + 1):
            name = self._open[-back].name
            if name in names:
                wanted = back
                if is_last:
                    break
            elif name in barriers:
                break
        for _ in range(wanted):
            self._pop(at)

    def _pop(self, at: int) -> None:
        name, context = self._open[-1]
        if name == "q":
            self.text_as("”" if self._quoted % 2 else "’", min(at, len(self.source) - 1))
            self._quoted -= 1
        if name in BLOCKS or (name == "cite" and context.kind == "caption"):
            self._separate(at, is_cell=name in _CELLS or name == "table")
        if name == "table" and self._tables:
            self._tables.pop()
        elif name in _GROUPS and self._tables and (table := self._tables[-1]):
            table.in_head = False
        elif name in _LISTS and self._numbers:
            self._numbers.pop()
        if context.is_hidden and not (len(self._open) > 1 and self._open[-2].context.is_hidden):
            self._current[True] = None
        self._open.pop()
        self._counts[name] -= 1
        self._top = self._open[-1].context if self._open else _Context()

    def _is_attribution(self) -> bool:
        """Whether an element that names a work stands below a quotation, and not in its words."""
        draft = self._current[self._top.is_hidden]
        return self._top.kind == "quote" and (draft is None or draft.last in _AFTER_QUOTATION)

    def _next_group(self) -> int:
        self._groups += 1
        return self._groups

    def _context(self, name: str, attributes: Mapping[str, str], outer: _Context) -> _Context:
        """What holds for the text in a new element."""
        context = self._by_attributes(name, attributes, outer) if attributes else outer
        match name:
            case "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" | "caption":
                return self._in_table(name, attributes, context)
            case "ul" | "ol" | "menu" | "dir":
                start = attributes.get("start", "1")
                self._numbers.append(int(start) - 1 if re.fullmatch("[0-9]{1,6}", start) else 0)
                return context
            case "a" if attributes.get("href"):
                return replace(context, anchor=Anchor(attributes["href"]))
            case "sup" | "code" | "kbd" | "samp" | "tt":
                is_high = name == "sup"
                return replace(
                    context, is_high=context.is_high or is_high, is_code=context.is_code or not is_high
                )
            case "dialog" if "open" not in attributes:
                return replace(context, is_hidden=True)
            case _ if context.place is not None:
                return context
            case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
                return replace(context, kind="heading", level=int(name[1]))
            case "li" | "dt" | "dd":
                return self._in_list(name, attributes, context)
            case "blockquote":
                group = self._next_group()
                if attributes.get("cite"):
                    self.quote_cites[group] = attributes["cite"]
                return replace(context, kind="quote", quote=group)
            case "cite" | "footer" if context.kind == "quote":
                is_block = self._current[context.is_hidden] is None
                return replace(context, kind="caption") if is_block else context
            case "pre" | "listing" | "xmp":
                return replace(context, kind="code")
            case "figure":
                return replace(context, figure=self._next_group())
            case "figcaption":
                return replace(context, kind="caption")
        return context

    def _by_attributes(self, name: str, attributes: Mapping[str, str], context: _Context) -> _Context:
        if not context.is_hidden and (
            "hidden" in attributes or _HIDDEN_STYLE.search(attributes.get("style", "")[:2_000])
        ):
            context = replace(context, is_hidden=True)
        if not context.is_note and name in BLOCKS:
            role = attributes.get("role", "")
            named = f"{attributes.get('class', '')[:200]} {attributes.get('id', '')[:100]}".lower()
            if role in {"doc-endnotes", "doc-endnote", "doc-bibliography", "doc-footnote"} or (
                name in {"section", "div", "ol", "ul", "aside", "footer"} and _NOTES.search(named)
            ):
                context = replace(context, is_note=True)
        return context

    def _in_list(self, name: str, attributes: Mapping[str, str], context: _Context) -> _Context:
        if name == "dd" and self._term:
            return replace(context, kind="item", item=self._term)
        group = self._next_group()
        self._term = group if name == "dt" else 0
        label = attributes.get("value", "")
        is_number = re.fullmatch("[0-9]{1,6}", label) is not None
        if self._numbers and name == "li":
            self._numbers[-1] = int(label) if is_number else self._numbers[-1] + 1
            is_ordered = next(
                (each.name == "ol" for each in self._open[:-_DEEPEST_SEARCH:-1] if each.name in _LISTS),
                False,
            )
            label = str(self._numbers[-1]) if is_ordered else label
        return replace(context, kind="item", item=group, label=label)

    def _in_table(self, name: str, attributes: Mapping[str, str], context: _Context) -> _Context:
        if name == "table":
            if attributes.get("role", "").lower() in {"presentation", "none"}:
                self._tables.append(None)
                return context
            new = _Table(self._next_group())
            self._tables.append(new)
            self.table_figures[new.number] = context.figure
            return replace(context, kind="paragraph", place=None, caption_of=0)
        table = self._tables[-1] if self._tables else None
        if table is None:
            return context
        if name == "caption":
            return replace(context, kind="caption", caption_of=table.number)
        if name == "tr":
            table.next_row()
        elif name in _CELLS:
            place = table.next_place(attributes, is_header=name == "th")
            return replace(context, kind="cell", place=place)
        else:
            table.in_head = name == "thead"
        return context


def _span(attributes: Mapping[str, str], name: str) -> int:
    value = attributes.get(name, "1").strip()
    return min(max(int(value), 1), _LONGEST_SPAN) if re.fullmatch("[0-9]{1,6}", value) else 1
