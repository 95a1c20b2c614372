"""The view of a conversation: how its blocks are shown, folded, copied and taken together."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.selection import Selection

from tui.panes.conversation.blocks import (
    CONVERSATION_COMPONENTS,
    Block,
    ConversationTheme,
    Fold,
    Heading,
    Notice,
    Prose,
    estimate_block,
    gap_after,
    render_block,
)
from tui.panes.conversation.copy import (
    join_blocks,
    name_of,
    part_of_block,
    text_of_answer,
    text_of_block,
    text_of_group,
)
from tui.render.layout import PLAIN, Line, wrap
from tui.render.markdown import MARKDOWN_COMPONENTS
from tui.terminal.copy import copy_text
from tui.virtual_list.list_view import LineView

__all__ = ["BlockView"]

MOST_SUGGESTED = 3
SUGGESTIONS = (
    "Research the latest AI chip news and write a comprehensive report",
    "What is the capital of France?",
    "Plot the monthly revenue in the workbench",
)


class BlockView(LineView[Block]):
    """Shows blocks; the cursor takes a message and its heading as one, `y` copies what was written in it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*CONVERSATION_COMPONENTS, *MARKDOWN_COMPONENTS}
    GUTTER = 2
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy", "Copy", id="message.copy", show=False),
        Binding("o", "follow", "Follow a link", id="message.follow", show=False),
    ]

    class LinkClicked(Message):
        """A link was clicked or chosen; `url` is untrusted."""

        def __init__(self, url: str) -> None:
            super().__init__()
            self.url = url

    class Suggested(Message):
        """A query to try was chosen."""

        def __init__(self, query: str) -> None:
            super().__init__()
            self.query = query

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        suggestions: Sequence[str] = SUGGESTIONS,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._suggestions = suggestions[:MOST_SUGGESTED]
        self._suggested = 0
        self._theme = ConversationTheme()
        self._held: list[Notice] = []

    def hold(self, notice: Notice) -> None:
        """Tell something below the queries to try; it goes above the first block when that comes."""
        self._held.append(notice)

    def add(self, block: Block) -> None:
        """Put a block at the end."""
        held, self._held = self._held, []
        for notice in held:
            self.add(notice)
        block.gap = gap_after(self._entries[-1] if self._entries else None, block)
        self.append(block)

    def insert_after(self, before: Block, block: Block) -> None:
        """Put a block after another."""
        index = self.index_of(before.key)
        assert index is not None
        if index == len(self._entries) - 1:
            self.append(block)
        else:
            self.splice(index + 1, 0, [block])

    def replace(self, first: Block, count: int, blocks: Sequence[Block]) -> None:
        """Put `blocks` in the place of `count` blocks from `first` on."""
        index = self.index_of(first.key)
        assert index is not None
        self.splice(index, count, blocks)

    def change(self, block: Block) -> None:
        """Take note that a block looks different."""
        block.revision += 1
        if block not in self._held:
            self.touch(block.key)

    def restyled(self) -> None:
        """Read the styles of the conversation again."""
        self._theme = ConversationTheme.read(self.palette.__getitem__)

    def render_entry(self, entry: Block, width: int) -> Sequence[Line]:
        """Render a block."""
        return render_block(entry, width, self._theme)

    def estimate(self, entry: Block, width: int) -> int:
        """Guess the height of a block."""
        return estimate_block(entry, width)

    def group(self, entry: Block) -> Hashable:
        """Take a message, its heading and its pieces as one."""
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

    @abstractmethod
    def set_open(self, fold: Fold, opened: bool) -> None:
        """Show or hide the text behind a fold."""

    def clicked(self, entry: Block, column: int, line: int) -> None:
        """Fold or unfold by a click on the line that stands for the text."""
        if isinstance(entry, Fold) and line == entry.gap:
            self.opened(entry)

    # Links

    def on_click(self, event: events.Click) -> None:
        """Choose the query or ask about the link that was clicked; a click anywhere else moves the cursor."""
        query = event.style.meta.get("query")
        if isinstance(query, str) and not self._entries:
            self.post_message(self.Suggested(query))
            return
        url = event.style.meta.get("url")
        if isinstance(url, str) and url and event.chain == 1:
            event.stop()
            event.prevent_default()
            self.post_message(self.LinkClicked(url))
        else:
            super().on_click(event)

    def action_follow(self) -> None:
        """Ask about the first link of the message under the cursor, if it has one."""
        if not self._entries:
            return
        first, last = self._span(self._cursor_index())
        for index in range(first, last + 1):
            for strip in self._rendered(index).strips:
                for _, style, _ in strip:
                    url = style.meta.get("url") if style is not None else None
                    if isinstance(url, str) and url:
                        self.post_message(self.LinkClicked(url))
                        return
        self.notify("This message has no link.", markup=False)

    # Queries to try

    def action_cursor_up(self) -> None:
        """Move to the message above, or to the query to try while there is no message."""
        if self._entries:
            super().action_cursor_up()
        else:
            self._suggest(-1)

    def action_cursor_down(self) -> None:
        """Move to the message below, or to the query to try while there is no message."""
        if self._entries:
            super().action_cursor_down()
        else:
            self._suggest(1)

    def action_open(self) -> None:
        """Open the message under the cursor, or choose the query to try."""
        if self._entries:
            super().action_open()
        elif self._suggestions:
            self.post_message(self.Suggested(self._suggestions[self._suggested]))

    def _suggest(self, by: int) -> None:
        self._suggested = max(0, min(self._suggested + by, len(self._suggestions) - 1))
        self.settle()

    # Copying

    def action_copy(self) -> None:
        """Copy what the mouse has chosen, or else what was written in the message under the cursor."""
        chosen = self.text_selection
        found = self.get_selection(chosen) if chosen is not None else None
        if found is not None and found[0]:
            copy_text(self, found[0], "Selection")
        elif self._entries:
            first, last = self._span(self._cursor_index())
            blocks = self._entries[first : last + 1]
            if isinstance(blocks[-1], Heading):
                following = itertools.islice(self._entries, last + 1, None)
                copy_text(self, text_of_answer(following), "Whole answer")
            else:
                copy_text(self, text_of_group(blocks), name_of(blocks))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what was written in the lines chosen, in one piece however the screen broke it."""
        if not self._entries:
            return None
        total = self._heights.total
        first, last = selection.start, selection.end
        start, line = self._heights.at(max(0, first.y) if first is not None else 0)
        stop, end_line = self._heights.at(min(last.y, total) if last is not None else total)
        found: list[tuple[Block, str]] = []
        for index in range(start, min(stop, len(self._entries) - 1) + 1):
            block = self._entries[index]
            if isinstance(block, Fold) and block.open:
                continue
            begin = (line, first.x) if index == start and first is not None else None
            end = (end_line, last.x) if index == stop and last is not None else None
            text = text_of_block(block)
            if begin is not None or end is not None or isinstance(block, Fold):
                rows = [strip.text for strip in self._rendered(index).strips]
                text = part_of_block(block, rows, self._inside(), begin, end)
            if text:
                found.append((block, text))
        return (join_blocks(found), "\n") if found else None

    def render_empty(self, width: int) -> Sequence[Line]:
        """Say what to do here, with three things to try."""
        palette: Mapping[str, Any] = self.palette
        muted, key, text = palette["lines--muted"], palette["lines--key"], palette["md--text"]
        lines: list[Line] = [
            [],
            *wrap([("Ask for something, and the work is shown here as it happens.", text)], width),
        ]
        lines += [[], [Segment("Three things to try:", muted)], []]
        for number, suggestion in enumerate(self._suggestions):
            lit = palette["lines--cursor"] if self.has_focus and number == self._suggested else PLAIN
            style = text + lit + Style(meta={"query": suggestion})
            wrapped = wrap([(suggestion, style)], max(1, width - 4))
            lines += [[Segment("    " if n else "  › ", key), *line] for n, line in enumerate(wrapped)]
        how = "↑ ↓ choose one, Enter takes it." if self.has_focus else "Esc leads to them."
        lines += [[], *wrap([(how, muted)], width)]
        for notice in self._held:
            lines += [[], *wrap([(f"{notice.mark} {notice.text}", muted)], width)]
        return lines
