"""Where Markdown may be cut while it still grows: finished blocks are rendered once, only the tail again."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Chunk", "blocks_of", "definitions", "split_long", "split_stable"]

CHUNK_TARGET = 1_500
CHUNK_LIMIT = 8_000

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*$)|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_MAYBE_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)]?)?$")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S+.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of Markdown that renders on its own; `joined` says that no blank line belongs before it.

    The first `opener` characters open again a fence that began in the piece before.
    """

    source: str
    joined: bool = False
    opener: int = 0


@dataclass(slots=True)
class _Fence:
    marker: str
    opener: str


class _Scanner:
    """Follow Markdown line by line: which fence is open, and at which lines a new block surely begins."""

    def __init__(self) -> None:
        self.fence: _Fence | None = None
        self.in_list = False
        self.item = False
        self._blank_before = False
        self._started = False

    def begins_block(self, line: str, *, complete: bool) -> bool:
        """Take the next line; tell whether everything before it is finished whatever follows."""
        text = line.rstrip("\n")
        self.item = False
        if self.fence is not None:
            self._inside_fence(text)
            return False
        blank = not text.strip()
        if blank:
            self._blank_before = self._started
            return False
        # A tab or blank at the start may continue a list item, however far up it began.
        unindented = text[0] not in " \t"
        item = bool(_ITEM.match(text)) and (complete or not _MAYBE_ITEM.match(text))
        undecided = not complete and bool(_MAYBE_ITEM.match(text))
        self.item = unindented and item
        begins = self._blank_before and unindented and not (self.in_list and (item or undecided))
        if begins or not self._started:
            self.in_list = item
        elif item:
            self.in_list = True
        self._started = True
        self._blank_before = False
        opened = _FENCE.match(text)
        if opened is not None and not self.in_list:
            self.fence = _Fence(opened.group(1), text)
        elif self.in_list:
            self._fence_in_list(text)
        return begins

    def _inside_fence(self, text: str) -> None:
        assert self.fence is not None
        bare = text.strip()
        if bare and set(bare) == {self.fence.marker[0]} and len(bare) >= len(self.fence.marker):
            self.fence = None

    def _fence_in_list(self, text: str) -> None:
        opened = _FENCE.match(re.sub(r"^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*", "", text))
        if opened is not None:
            self.fence = _Fence(opened.group(1), text.strip())


def split_stable(source: str) -> int:
    """Return how many characters of `source` are finished blocks, whatever text is appended to it.

    A block is finished when an unindented line follows a blank one; a list also needs that line not to be
    an item of it. What is open at the end (a fence, a list, a paragraph) is never part of the prefix.
    """
    scanner = _Scanner()
    stable = position = 0
    for line in _LINES.findall(source):
        if scanner.begins_block(line, complete=line.endswith("\n")):
            stable = position
        position += len(line)
    return stable


def blocks_of(source: str) -> list[Chunk]:
    """Cut finished Markdown into chunks of some 1,500 characters that render one after the other as the whole does."""
    if len(source) <= CHUNK_TARGET:
        return [Chunk(source)] if source.strip() else []
    scanner = _Scanner()
    chunks: list[Chunk] = []
    start = position = 0
    for line in _LINES.findall(source):
        if scanner.begins_block(line, complete=True) and position - start >= CHUNK_TARGET:
            chunks.extend(_bounded(source[start:position]))
            start = position
        position += len(line)
    if source[start:].strip():
        chunks.extend(_bounded(source[start:]))
    return chunks


def _bounded(source: str) -> list[Chunk]:
    chunks: list[Chunk] = []
    position = 0
    opener = ""
    while len(source) - position > CHUNK_LIMIT:
        # A window, so that a line of megabytes is not gone through once for every chunk of it.
        window = opener + source[position : position + 2 * CHUNK_LIMIT]
        head, rest = split_long(window, CHUNK_LIMIT)
        if not rest:
            break
        chunks.append(Chunk(head, joined=bool(chunks), opener=len(opener)))
        position += len(head) - len(opener)
        opener = rest[: len(rest) + len(head) - len(window)]
    chunks.append(Chunk(opener + source[position:], joined=bool(chunks), opener=len(opener)))
    return chunks


def split_long(source: str, limit: int) -> tuple[str, str]:
    """Cut one block that grew past `limit` characters into a head and a rest that continues it.

    Code is cut between lines, and its fence opened again; lists between items; paragraphs between lines or
    words. Returns the whole and an empty rest where no good place is found (a table is never cut).
    """
    scanner = _Scanner()
    position = 0
    best: tuple[int, str] | None = None
    table = False
    for found in _LINES.finditer(source):
        if position >= limit:
            break
        line = found.group()
        begins = scanner.begins_block(line, complete=line.endswith("\n"))
        row = line.lstrip().startswith("|")
        if position == 0:
            table = row
        elif begins or scanner.item:
            best, table = (position, ""), row
        elif scanner.fence is not None and not scanner.in_list:
            best = (position, scanner.fence.opener + "\n")
        elif not scanner.in_list and not table and not row:
            best = (position, "")
        position += len(line)
    if best is None:
        if table or position < limit or len(source) <= limit:
            return source, ""
        space = source.rfind(" ", 0, limit)
        best = (space + 1 if space > limit // 2 else limit, "")
    cut, reopened = best
    head = source[:cut]
    return head, reopened + source[cut:]


def definitions(source: str) -> str:
    """Return the link definitions of a text, so that every chunk of it resolves its links."""
    return "\n".join(_DEFINITION.findall(source)) if "]:" in source else ""
