"""The blocks of a conversation as the entries of a list: the gaps between them, and what an empty list shows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style

from ua_tui.tui.panes.conversation.blocks import (
    Block,
    ConversationTheme,
    Heading,
    Notice,
    Prose,
    estimate_block,
    gap_after,
    render_block,
)
from ua_tui.tui.panes.conversation.file_links import FileLinks
from ua_tui.tui.panes.suggestions import Suggestions
from ua_tui.tui.render.layout import PLAIN, Line, wrap
from ua_tui.tui.virtual_list.source import RowSource
from ua_tui.tui.virtual_list.virtual_list import VirtualList

_WELCOME = "Ask anything. The work is shown here as it happens."


class BlockRows(RowSource[Block]):
    """Draws blocks; the cursor treats a message and its heading as one.

    Attributes:
        suggestions: queries to try, shown below the blocks until the first query is sent.
        send_key: the key that sends the chosen one, as it is shown.
        files: finds the files that blocks name.
        reading: whether a past session is being read, whose blocks are still to come.
        deferred: notices that are shown below the queries to try, and above the first block once it comes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.suggestions = Suggestions()
        self.send_key = ""
        self.reading = False
        self.deferred: list[Notice] = []
        self.files = FileLinks()
        self._theme = ConversationTheme()
        self._palette: Mapping[str, Any] = {}

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles of the conversation from a new palette."""
        self._palette = palette
        self._theme = ConversationTheme.read(palette.__getitem__)

    def render(self, entry: Block, width: int) -> Sequence[Line]:
        """Render a block."""
        return render_block(entry, width, self._theme, self.files.find)

    def estimate(self, entry: Block, width: int) -> int:
        """Guess the height of a block."""
        return estimate_block(entry, width)

    def group(self, entry: Block) -> Hashable:
        """Treat a message, its heading and its pieces as one."""
        return entry.group

    def lead(self, entry: Block) -> int:
        """Leave out the blank line above a message; those inside it belong to it."""
        return 0 if isinstance(entry, Prose) and not entry.first else entry.gap

    def counts_as_new(self, entry: Block) -> bool:
        """Count messages, not their pieces."""
        match entry:
            case Heading():
                return False
            case Prose():
                return entry.first
            case _:
                return True

    def render_below(self, width: int, *, focused: bool) -> Sequence[Line]:
        """Say what to do in an empty conversation, with three things to try."""
        palette, trying = self._palette, self.suggestions
        muted, key, text = palette["lines--muted"], palette["lines--key"], palette["md--text"]
        if self.reading and not self.rows.items:
            return [[], *wrap([("Reading the session…", muted)], width)]
        lines: list[Line] = [] if self.rows.items else [[], *wrap([(_WELCOME, text)], width)]
        if trying.queries:
            how = f"↑↓ choose · {self.send_key} send" if trying.query else "↓ to choose, or type your own"
            lines += [[], *wrap([("Three things to try", text), (f" · {how}", muted)], width), []]
        for number, query in enumerate(trying.queries):
            is_chosen = number == trying.chosen
            mark = Segment("  › ", key) if is_chosen else Segment("  · ", muted)
            style = text + (palette["lines--cursor"] if is_chosen else PLAIN)
            wrapped = wrap([(query, style + Style(meta={"suggestion": number}))], max(1, width - 4))
            lines += [[Segment("    ") if n else mark, *line] for n, line in enumerate(wrapped)]
        for notice in self.deferred:
            lines += [[], *wrap([(f"{notice.mark} {notice.text}", muted)], width)]
        return lines


class Page:
    """Puts blocks into a list, with the gaps there are between them.

    Args:
        view: the list.
        rows: its source.

    Attributes:
        at: when what is added happened, in seconds of the time of day.
    """

    def __init__(self, view: VirtualList[Block], rows: BlockRows) -> None:
        self._view = view
        self._rows = rows
        self.at = 0.0

    def move_to(self, view: VirtualList[Block], rows: BlockRows) -> None:
        """Continue in another list, which has adopted the blocks."""
        rows.deferred = self._rows.deferred
        self._view, self._rows = view, rows

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, in order."""
        return self._rows.rows.items

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of a block, or None when no block has that key."""
        return self._rows.rows.index.get(key)

    def defer(self, notice: Notice) -> None:
        """Show a notice below the queries to try; it goes above the first block when that comes."""
        self._rows.deferred.append(notice)

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        deferred, self._rows.deferred = self._rows.deferred, []
        for notice in deferred:
            self.add(notice)
        blocks = self.blocks
        block.gap = gap_after(blocks[-1] if blocks else None, block)
        block.at = self.at
        self._view.append(block)

    def insert_after(self, before: Block, block: Block) -> None:
        """Put a block after another."""
        index = self.index_of(before.key)
        assert index is not None
        block.at = before.at
        if index == len(self.blocks) - 1:
            self._view.append(block)
        else:
            self._view.splice(index + 1, 0, [block])

    def splice(self, start: int, removed: int, blocks: Iterable[Block]) -> None:
        """Replace `removed` blocks from `start` on."""
        self._view.splice(start, removed, blocks)

    def change(self, block: Block) -> None:
        """Note that a block looks different."""
        block.revision += 1
        if block not in self._rows.deferred:
            self._view.touch(block.key)
