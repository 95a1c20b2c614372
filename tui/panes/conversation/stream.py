"""A message of the agent as it is written: finished parts become pieces of their own, only the last one grows."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator

from ua_tui.tui.panes.conversation.blocks import Prose
from ua_tui.tui.panes.conversation.page import Page
from ua_tui.tui.render.markdown.stream import Chunk, blocks_of, definitions, split_long, split_stable

TAIL_LIMIT = 6_000


def pieces_of(text: str, group: Hashable, numbers: Iterator[int], *, indent: int = 0) -> list[Prose]:
    """Cut finished Markdown into at least one piece."""
    pieces: list[Prose] = []
    for chunk in blocks_of(text.strip("\n")) or [Chunk(text)]:
        gap = 0 if chunk.joined or not pieces else 1
        key = ("prose", next(numbers))
        pieces.append(Prose(key=key, group=group, source=chunk.source, gap=gap, indent=indent))
        pieces[-1].opener = chunk.opener
    pieces[0].first = True
    return pieces


class MessageStream:
    """A message on its page; `numbers` gives each piece a key of its own."""

    def __init__(self, page: Page, group: Hashable, numbers: Iterator[int]) -> None:
        self._page = page
        self._group = group
        self._numbers = numbers
        self._pieces: list[Prose] = []

    def write(self, text: str) -> None:
        """Add the next piece of text, cleaned already."""
        if self._pieces:
            piece = self._pieces[-1]
            piece.source += text
            self._page.change(piece)
        else:
            # Blank lines before the first word are not part of the message.
            text = text.lstrip("\n")
            if not text:
                return
            piece = Prose(
                key=("prose", next(self._numbers)), group=self._group, source=text, first=True, live=True
            )
            self._pieces.append(piece)
            self._page.add(piece)
        self._freeze()

    def _freeze(self) -> None:
        """Give the finished part of the growing piece a block of its own, which is not rendered again."""
        while True:
            piece = self._pieces[-1]
            at = split_stable(piece.source)
            head, rest = piece.source[:at], piece.source[at:]
            joined = not at
            if joined:
                if len(piece.source) <= TAIL_LIMIT:
                    return
                head, rest = split_long(piece.source, TAIL_LIMIT)
                if not rest:
                    return
            opener = len(head) + len(rest) - len(piece.source)
            piece.source, piece.live = head, False
            self._page.change(piece)
            key = ("prose", next(self._numbers))
            grown = Prose(key=key, group=self._group, source=rest, live=True, gap=0 if joined else 1)
            grown.opener = opener
            self._pieces.append(grown)
            self._page.insert_after(piece, grown)

    def finish(self, text: str) -> None:
        """Complete the message: the full text replaces what was streamed, from where the two differ."""
        if not self._pieces:
            self._pieces = pieces_of(text, self._group, self._numbers)
            self._page.add(self._pieces[0])
            for before, piece in itertools.pairwise(self._pieces):
                self._page.insert_after(before, piece)
        else:
            self._correct(text)
        if self._pieces[0].source == text:
            # Share the text with the records of the session.
            self._pieces[0].source = text
        links = definitions(text)
        for piece in self._pieces:
            if links and "[" in piece.source:
                piece.definitions = links
                self._page.change(piece)
        self.end()

    def _correct(self, text: str) -> None:
        """Replace the pieces if the full text is another one; a reader stays as many lines into it."""
        if "".join(piece.source[piece.opener :] for piece in self._pieces) == text:
            return
        index = self._page.view.index_of(self._pieces[0].key)
        assert index is not None
        new = pieces_of(text, self._group, self._numbers)
        new[0].gap = self._pieces[0].gap
        self._page.view.splice(index, len(self._pieces), new)
        self._pieces = new

    def remove(self) -> None:
        """Remove the message: it broke off, and another one is the answer."""
        if self._pieces:
            start = self._page.view.index_of(self._pieces[0].key)
            assert start is not None
            self._page.view.splice(start, len(self._pieces), [])
            self._pieces = []

    def mark_incomplete(self) -> None:
        """Show that the message broke off."""
        for piece in self._pieces[-1:]:
            piece.incomplete = True
            self._page.change(piece)

    def end(self) -> None:
        """Note that nothing more will come."""
        for piece in self._pieces[-1:]:
            piece.live = False
            self._page.change(piece)
