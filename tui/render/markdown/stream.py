"""Cuts growing Markdown where a block is finished: finished blocks are rendered once, only the tail again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

CHUNK_TARGET = 1_500
CHUNK_LIMIT = 8_000

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`\n]*$)|~{3,})(.*)")
_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])(?:[ \t]|$)")
_MAYBE_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)]?)?$")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S+.*$", re.MULTILINE)


_OPEN_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})(?:\]\([^()\n]{0,2000})?$")
_CODE = re.compile(r"(`+)(?:(?!\1).)*\1", re.DOTALL)
_TABLE_HEAD = re.compile(r"(\|[^\n]*\|)[ \t]*(?:\n\|?[ \t:|-]*)?")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of Markdown that can be rendered alone; `joined` says that no blank line precedes it.

    The first `opener` characters reopen a fence that began in the previous piece.
    """

    source: str
    joined: bool = False
    opener: int = 0


@dataclass(slots=True)
class _Fence:
    marker: str
    opener: str


class _Scanner:
    """Reads Markdown line by line: tracks which fence is open, and at which lines a new block certainly begins."""

    def __init__(self) -> None:
        self.fence: _Fence | None = None
        self.in_list = False
        self.item = False
        self._blank_before = False
        self._started = False

    def begins_block(self, line: str, *, complete: bool) -> bool:
        """Read the next line; return whether everything before it is finished whatever follows."""
        text = line.rstrip("\n")
        self.item = False
        if self.fence is not None:
            self._inside_fence(text)
            return False
        blank = not text.strip()
        if blank:
            self._blank_before = self._started
            return False
        # A tab or space at the start may continue a list item, however long ago it began.
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
        bare = re.sub(r"^[ \t]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*", "", text) if self.in_list else text
        if (opened := _FENCE.match(bare)) is not None:
            self.fence = _Fence(opened.group(1), text.strip() if self.in_list else text)
        return begins

    def lines(self, source: str, *, is_whole: bool = True) -> Iterator[tuple[int, str, bool]]:
        """Read a text: give where each line starts, the line, and whether everything before it is finished.

        If it is not whole, its last line may go on.
        """
        for found in _LINES.finditer(source):
            line = found[0]
            yield found.start(), line, self.begins_block(line, complete=is_whole or line.endswith("\n"))

    def _inside_fence(self, text: str) -> None:
        assert self.fence is not None
        bare = text.strip()
        if bare and set(bare) == {self.fence.marker[0]} and len(bare) >= len(self.fence.marker):
            self.fence = None


def closed(source: str) -> str:
    """Close what is open at the end of Markdown that breaks off, so that it looks as the full text will.

    Code and strong text get their end, an unfinished link is shown as its text, and the head of a table is a table.
    """
    scanner = _Scanner()
    start = max((at for at, _, begins in scanner.lines(source) if begins), default=0)
    done, tail = source[:start], source[start:]
    if scanner.fence is not None:
        return source
    if (head := _TABLE_HEAD.fullmatch(tail)) is not None:
        return f"{done}{head[1]}\n{'|---' * (head[1].count('|') - 1)}|"
    tail = _OPEN_LINK.sub(r"\1", tail)
    plain = _CODE.sub("", tail)
    for mark in ("`", "**", "~~"):
        if plain.count(mark) % 2:
            last = tail.rfind(mark)
            following = tail[last + len(mark) :]
            if not following:
                return done + tail[:last]
            return f"{done}{tail.rstrip()}{mark}" if not following[0].isspace() else done + tail
    return done + tail


def split_stable(source: str) -> int:
    """Return how many characters of `source` are finished blocks, whatever text is appended to it.

    A block is finished if an unindented line follows a blank one; for a list, that line must not be one of its items.
    An open block at the end (a fence, a list, a paragraph) is never part of the prefix.
    """
    lines = _Scanner().lines(source, is_whole=False)
    return max((at for at, _, begins in lines if begins), default=0)


def blocks_of(source: str) -> list[Chunk]:
    """Cut finished Markdown into chunks of about 1,500 characters that render together as the full text does."""
    if len(source) <= CHUNK_TARGET:
        return [Chunk(source)] if source.strip() else []
    chunks: list[Chunk] = []
    start = 0
    for at, _, begins in _Scanner().lines(source):
        if begins and at - start >= CHUNK_TARGET:
            chunks += _bounded(source[start:at])
            start = at
    if source[start:].strip():
        chunks += _bounded(source[start:])
    return chunks


def _bounded(source: str) -> list[Chunk]:
    chunks: list[Chunk] = []
    position = 0
    opener = ""
    while len(source) - position > CHUNK_LIMIT:
        # A window, so that a line of megabytes is not scanned again for each of its chunks.
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
    """Cut a block of more than `limit` characters into a head and a rest that continues it.

    Code is cut between lines, and its fence is reopened; lists are cut between items, paragraphs between lines or
    words. Returns the full block and an empty rest if there is no suitable place (a table is never cut).
    """
    scanner = _Scanner()
    best: tuple[int, str] | None = None
    table = False
    for at, line, begins in scanner.lines(source, is_whole=False):
        if at >= limit:
            break
        row = line.lstrip().startswith("|")
        if at == 0:
            table = row
        elif begins or scanner.item:
            best, table = (at, ""), row
        elif scanner.fence is not None and not scanner.in_list:
            best = (at, scanner.fence.opener + "\n")
        elif not scanner.in_list and not table and not row:
            best = (at, "")
    if best is None:
        if table or len(source) <= limit:
            return source, ""
        space = source.rfind(" ", 0, limit)
        best = (space + 1 if space > limit // 2 else limit, "")
    cut, reopened = best
    head = source[:cut]
    return head, reopened + source[cut:]


def definitions(source: str) -> str:
    """Return the link definitions of a text, so that each of its chunks can resolve links."""
    return "\n".join(_DEFINITION.findall(source)) if "]:" in source else ""
