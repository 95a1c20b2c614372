"""Cuts a text into chunks of 150 to 250 words, at headings and paragraphs where possible, and makes its hash.

The text may have any size and shape: it is read in pieces of some kilobytes, so that no step blocks other threads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from ua_tui.core.knowledge.search.tokens import UNSPACED, indexed


class Chunk(NamedTuple):
    """A passage of a document: `text` is `document.text[start:end]`."""

    start: int
    end: int
    text: str


LEAST, MOST = 150, 250
"""Words of a chunk; the last one, and the last one before a heading, may be shorter."""
LONGEST = 16 * MOST
"""Characters of a chunk."""

_SECTION = 40
"""A section of fewer words is in one chunk with the next one."""
_PIECE = 16 << 10
_STEP = 64
_HEADING = re.compile(r"#{1,6} ")
_NO_BLANK = re.compile(r"\S")
# A unit ends where the group of a match ends. Each kind of unit consists of those of the next kind.
_PARAGRAPH = re.compile(r"()\n(?=[ \t]*\n|#{1,6} )")
_LINE = re.compile(r"()\n")
# Compiled when it is used first, which `re` remembers: a set of so many characters takes milliseconds.
_SENTENCE = rf"([.!?…;。！？；])(?=[\s\"'”’)\]」』{UNSPACED}])"
_ENDS = (_PARAGRAPH, _LINE, _SENTENCE)


def split_chunks(text: str) -> Iterator[Chunk]:
    """Give the chunks of a text in order; together they have everything of it but white space between them."""
    if len(text) <= _PIECE and "\n#" not in text and _size(text) <= MOST:
        # Most texts are so short.
        if whole := text.strip():
            start = text.index(whole)
            yield Chunk(start, start + len(whole), whole)
        return
    start = end = words = 0
    for unit in _parts(text, 0, len(text), 0):
        if words >= _SECTION and _HEADING.match(text, unit[0]):
            yield Chunk(start, end, text[start:end])
            words = 0
        units = [(*unit, 0)]
        while units:
            first, last, level = units.pop()
            count = _size(text[first:last])
            if words + count > MOST:
                if words < LEAST and level < len(_ENDS):
                    units += reversed([(*part, level + 1) for part in _parts(text, first, last, level + 1)])
                    continue
                yield Chunk(start, end, text[start:end])
                words = 0
                if count > MOST:
                    units.append((first, last, level))
                    continue
            if not words:
                start = first
            end, words = last, words + count
    if words:
        yield Chunk(start, end, text[start:end])


def _size(text: str) -> int:
    """The words of a unit; what has no spaces counts by its characters."""
    return max(len(indexed(text).split()), -(-len(text) * MOST // LONGEST))


def _parts(text: str, start: int, end: int, level: int) -> Iterator[tuple[int, int]]:
    """The units of a level in a part of a text, without the white space around them."""
    limit = _PIECE if level < len(_ENDS) else _STEP
    while start < end:
        begin = _NO_BLANK.search(text, start, min(start + _PIECE, end))
        if begin is None:
            start += _PIECE
            continue
        start = begin.start()
        border = min(start + limit, end)
        found = re.compile(_ENDS[level]).search(text, start, border) if level < len(_ENDS) else None
        if found is not None:
            border = found.end(1)
        elif border < end:
            # What is too long is cut before its last space, if it has one.
            place = max(text.rfind(" ", start + 1, border), text.rfind("\n", start + 1, border))
            border = place if place > 0 else border
        yield start, border
        start = border


def storable(text: str) -> str:
    """A text as the database can hold it; its length does not change."""
    text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def body_hash(text: str) -> tuple[str, int]:
    """Return the hash by which equal texts are found, without regard to white space, and the number of words."""
    found, count = hashlib.sha256(), 0
    for at in range(0, len(text), 4 * _PIECE):
        if words := text[at : at + 4 * _PIECE].split():
            # Whether the first word began in the piece before.
            goes_on = at > 0 and not (text[at - 1].isspace() or text[at].isspace())
            space = "" if goes_on or not count else " "
            found.update(f"{space}{' '.join(words)}".encode("utf-8", "surrogatepass"))
            count += len(words) - goes_on
    return found.hexdigest()[:32], count
