"""Finds the quotations of a report: text in quotation marks, and blocks that are set as quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ua_tui.observers.evidence.quoting.folding import count_words, fold
from ua_tui.observers.evidence.quoting.language import language_of
from ua_tui.observers.evidence.report import Block

FEWEST_WORDS = 4
"""Words from which on a text in quotation marks is a quotation; fewer are a term, a title or a doubtful word."""
_DEEPEST = 8
"""Quotation marks inside each other that are followed; older ones that are open are given up."""

_MARK = re.compile("[\"“”„‟«»‹›‘’‚‛'「」『』＂]")
# The marks that end what a mark begins.
_CLOSERS = {
    '"': '"',
    "＂": "＂",
    "“": "”",
    "„": "“”",
    "‟": "”",
    "”": "”",
    "«": "»",
    "»": "«",
    "‹": "›",
    "›": "‹",
    "‘": "’",
    "‚": "‘’",
    "‛": "’",
    "'": "'",
    "「": "」",
    "『": "』",
}
_SURE_OPENERS = "„‟‚‛「『"
_SINGLE = "‘’‚‛'"
_LABEL = re.compile(r"[^\w\"“„«]*(?:[^\W\d_][\w/;-]*+[ -]?){1,4}[:：]\s")
_ATTRIBUTION = re.compile(r"\s*(?:[—―–]|--|\s-\s|~)\s*([^—―–]{1,150})$")
_ENDED = re.compile(r"[.!?…\"”“»«‹›’'\])]\s*\Z")
_TITLE_BEFORE = re.compile(
    r"\b(?:titled|entitled|headlined|called|named|dubbed|so-called|known as|search(?:ed|es|ing)?(?: for)?|quer(?:y|ies)"
    r"|queried|googled|keywords?|prompt|sogenannte\w*|Titel|betitelt|genannt|Suchbegriff\w*|intitulée?s?|titulad[oa]s?"
    r"|llamad[oa]s?)[\s:,(]*$",
    re.IGNORECASE,
)
_SMALL_LETTERS = 4
"""Letters of the longest word that a title may write small."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation: the range of a block's text without its marks; `is_block` if it is the whole of the block."""

    number: int
    start: int
    end: int
    is_block: bool = False


class _Open(NamedTuple):
    mark: str
    after: int
    weak_end: int = 0


def find_quotations(blocks: Sequence[Block], source: str = "") -> Iterator[Quotation]:
    """Find the quotations of a report in order; `number` is that of the block among `blocks`."""
    for number, block in enumerate(blocks):
        if block.kind == "code" or block.is_hidden or block.is_bibliography:
            continue
        following = blocks[number + 1].text if number + 1 < len(blocks) else ""
        spans = _spans(block.text, following)
        if block.kind == "quote" and (whole := _whole(block, spans)):
            if count_words(fold(block.text[slice(*whole)])) >= FEWEST_WORDS:
                yield Quotation(number, *whole, is_block=True)
            continue
        for start, end in spans:
            if _is_quotation(block, start, end, source):
                yield Quotation(number, start, end)


def _spans(text: str, following: str) -> list[tuple[int, int]]:
    """The outermost ranges between quotation marks of a text."""
    found: list[tuple[int, int]] = []
    open_marks: list[_Open] = []
    for match in _MARK.finditer(text):
        at, mark = match.start(), match[0]
        if (place := _closes(text, at, open_marks)) is not None:
            if _is_weak(text, at) and mark in _SINGLE:
                opened = open_marks[place]
                if not opened.weak_end and text.count(" ", opened.after, at) >= FEWEST_WORDS - 1:
                    open_marks[place] = opened._replace(weak_end=at)
                continue
            found.append((open_marks[place].after, at))
            del open_marks[place:]
        elif _opens(text, at):
            _give_up(open_marks, mark, found)
            open_marks.append(_Open(mark, at + 1))
            if len(open_marks) > _DEEPEST:
                del open_marks[0]
    found += [(mark.after, mark.weak_end) for mark in open_marks if mark.weak_end and mark.mark != "'"]
    if open_marks and following.startswith(open_marks[0].mark) and open_marks[0].mark not in _SINGLE:
        found.append((open_marks[0].after, len(text)))
    return _outermost(found)


def _closes(text: str, at: int, open_marks: Sequence[_Open]) -> int | None:
    """The place of the open mark that a mark closes."""
    mark = text[at]
    before = text[at - 1 : at]
    after = text[at + 1 : at + 2]
    if mark in "\"'’‘＂" and (before.isspace() or (mark not in '"＂' and after.isalnum())):
        return None
    for place in range(len(open_marks) - 1, -1, -1):
        if mark in _CLOSERS[open_marks[place].mark]:
            return place
    return None


def _opens(text: str, at: int) -> bool:
    mark = text[at]
    if mark in _SURE_OPENERS:
        return True
    if mark not in _CLOSERS:
        return False
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    starts = not before or (not before.isalnum() and before not in ".,;:!?%)")
    if mark in "«‹“":
        return bool(after)
    if mark in "‘'":
        # A digit would follow an apostrophe: the '90s.
        return starts and (after.isalpha() or (bool(after) and after in '[(…"“„«'))
    return starts and bool(after) and not after.isspace()


def _is_weak(text: str, at: int) -> bool:
    """Whether a single mark may as well be the apostrophe of a plural: the owners' choice."""
    return text[at - 1 : at] in "sxzS" and text[at + 1 : at + 2] == " " and text[at + 2 : at + 3].islower()


def _give_up(open_marks: list[_Open], mark: str, found: list[tuple[int, int]]) -> None:
    """Drop an open mark that cannot be closed any more, as the same one opens again."""
    for place, opened in enumerate(open_marks):
        if opened.mark == mark and (_CLOSERS[mark] == mark or opened.weak_end):
            if opened.weak_end and mark != "'":
                found.append((opened.after, opened.weak_end))
            del open_marks[place:]
            return


def _outermost(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _attribution(block: Block) -> int:
    """Where the name of the author begins after a block quotation; the end of the text if there is none.

    A dash with small letters after it is part of a sentence, unless the sentence has ended or a source is linked.
    """
    text = block.text
    found = _ATTRIBUTION.search(text, max(len(text) - 200, 0))
    if not found:
        return len(text)
    is_name = not found[1][:1].islower() or any(link.end > found.start(1) for link in block.links)
    return found.start() if is_name or _ENDED.search(text[: found.start()][-4:]) else len(text)


def _whole(block: Block, spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The range of a block quotation without marks around it and without the name of its author.

    None if it is not a quotation as a whole: a note, or one with words around its quotation marks.
    """
    text, end = block.text, _attribution(block)
    if spans:
        first, last = spans[0][0], spans[-1][1]
        if len(spans) == 1 and first <= 1 and end - last <= 3:
            return first, last
        if first <= 1 or sum(stop - start for start, stop in spans) > end // 2:
            return None
    return None if not end or _LABEL.match(text) else (0, end)


def _is_quotation(block: Block, start: int, end: int, source: str) -> bool:
    text = block.text[start:end]
    if not text.strip():
        return False
    is_tagged = start > 0 and source[block.offsets[start - 1] :][:2].lower() == "<q" if source else False
    if count_words(fold(text[:20_000])) < (1 if is_tagged else FEWEST_WORDS):
        return False
    return not any(link.start <= start and link.end >= end for link in block.links_in(start, end))


def is_title(block: Block, quotation: Quotation) -> bool:
    """Whether a text in quotation marks is rather the title of a work, a name, or what was searched for.

    A title has a capital letter at each of its words but short ones, other than in German; a name follows "called".
    """
    if quotation.is_block:
        return False
    text = block.text[quotation.start : quotation.end]
    if _TITLE_BEFORE.search(block.text[max(quotation.start - 40, 0) : quotation.start - 1]):
        return True
    if language_of(block.text) == "German":
        return False
    words = re.findall(r"[^\W\d_][\w'’-]*", text[:300])
    capital = [word for word in words if word[0].isupper()]
    return len(capital) >= 3 and all(word[0].isupper() or len(word) <= _SMALL_LETTERS for word in words)
