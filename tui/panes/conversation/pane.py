"""The conversation: what was asked, what the agent writes as it writes it, and what the app reports."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from ua_tui.core.events.types import Event, QueryFinished
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.panes.conversation.blocks import (
    CONVERSATION_COMPONENTS,
    Block,
    Card,
    ConversationTheme,
    Fold,
    Heading,
    Prose,
    Verbatim,
    estimate_block,
    render_block,
    render_progress,
)
from ua_tui.tui.panes.conversation.copy import name_of, selected_text, text_of_answer, text_of_group
from ua_tui.tui.panes.conversation.dialogue import Dialogue
from ua_tui.tui.panes.conversation.notices import AppMessage
from ua_tui.tui.panes.conversation.page import FileLinks, Page
from ua_tui.tui.panes.conversation.results import describe_file
from ua_tui.tui.panes.conversation.search import Search
from ua_tui.tui.panes.requests import CompareFile, OpenFile, StopSubagent
from ua_tui.tui.panes.suggestions import Suggestions
from ua_tui.tui.render.events import MARKS
from ua_tui.tui.render.format import Mark, spinner
from ua_tui.tui.render.layout import PLAIN, Line, wrap
from ua_tui.tui.render.markdown.renderer import MARKDOWN_COMPONENTS, warm_up
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.view.links import LinkClicked
from ua_tui.tui.virtual_list.source import Rendered
from ua_tui.tui.virtual_list.virtual_list import VirtualList
from ua_tui.tui.workers import start_job

TICK = 1.0

_TITLE = "Conversation"
_HINTS = (
    ("find.search", "search"),
    ("move.open", "open"),
    ("file.compare", "compare"),
    ("message.copy", "copy"),
    ("session.fork", "fork"),
    ("message.follow", "open link"),
    ("move.last", "latest"),
    ("pane.maximise", "maximise"),
)


class ConversationPane(VirtualList[Block]):
    """Shows the dialogue from the session's events; thinking and sub-agents' text are folded to a line.

    Attributes:
        dialogue: turns events into blocks.
        search: finds text, and marks it.
        suggestions: queries to try in a new session.
        files_follow: whether the files of finished work come later than its events, so that `describe_results` is
            called once they are there.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *CONVERSATION_COMPONENTS,
        *MARKDOWN_COMPONENTS,
        "lines--found",
        "lines--found-current",
    }
    GUTTER = 2
    BINDINGS = bindings("ConversationPane")

    @property
    def key_hints(self) -> tuple[tuple[str, str], ...]:
        """The most useful keys."""
        return (("move.open", "send"),) if self.suggestions.query else _HINTS

    @dataclass
    class ForkRequested(Message):
        """The session is to be forked before a query."""

        query_id: str
        text: str

    @dataclass
    class PromptWanted(Message):
        """The empty space below the last message was clicked, or the chosen query to try is to be sent."""

        sends: bool = False

    def __init__(
        self,
        *,
        id: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Make an empty conversation; `clock` gives the time of day in seconds, for what runs."""
        super().__init__(id=id)
        self.suggestions = Suggestions()
        self.welcome = "Ask anything. The work is shown here as it happens."
        self.files_follow = False
        self.clock = clock
        self.files = FileLinks()
        self._working: SessionView | None = None
        self._is_reading = False
        self._theme = ConversationTheme()
        self._ticks = 0
        self._timer: Timer | None = None
        self.dialogue = Dialogue(Page(self))
        self.search = Search(self, _TITLE)
        self.typed = self.search.query

    def on_mount(self) -> None:
        """Set up the one timer, and load parser and lexers in a thread: the first answer must not wait for them."""
        self.dialogue.key_of_newest = keys_of(self.app).shown("report.open")
        self.suggestions.changed = self.update_rows
        self._timer = self.set_interval(TICK, self._advance, pause=True)
        self._run_timer()
        start_job(self, partial(asyncio.to_thread, warm_up), "warm-up")

    # -- drawing ----------------------------------------------------------------------------------

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles of the conversation from a new palette."""
        self._theme = ConversationTheme.read(palette.__getitem__)

    def render_entry(self, entry: Block, width: int) -> Sequence[Line]:
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
        return entry.first if isinstance(entry, Prose) else not isinstance(entry, Heading)

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Show the plan and the call that runs."""
        if self._working is None:
            return []
        mark = spinner(self._ticks) if self._ticks else Mark.RUNNING.glyph
        return render_progress(self._working, width, height, self._theme, now=self.clock(), spinner=mark)

    def render_below(self, width: int) -> Sequence[Line]:
        """Say what to do in an empty conversation, with three things to try."""
        palette, trying = self.palette, self.suggestions
        muted, key, text = palette["lines--muted"], palette["lines--key"], palette["md--text"]
        if self._is_reading and not self.entries:
            return [[], *wrap([("Reading the session…", muted)], width)]
        lines: list[Line] = [] if self.entries else [[], *wrap([(self.welcome, text)], width)]
        if trying.queries:
            send = keys_of(self.app).shown("prompt.send")
            how = f"↑↓ choose · {send} send" if trying.query else "↓ to choose, or type your own"
            lines += [[], *wrap([("Three things to try", text), (f" · {how}", muted)], width), []]
        for number, query in enumerate(trying.queries):
            is_chosen = number == trying.chosen
            mark = Segment("  › ", key) if is_chosen else Segment("  · ", muted)
            style = text + (palette["lines--cursor"] if is_chosen else PLAIN)
            wrapped = wrap([(query, style + Style(meta={"suggestion": number}))], max(1, width - 4))
            lines += [[Segment("    ") if n else mark, *line] for n, line in enumerate(wrapped)]
        for notice in self.dialogue.page.deferred:
            lines += [[], *wrap([(f"{MARKS[notice.severity]} {notice.text}", muted)], width)]
        return lines

    def highlight(self, entry: Block, rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Mark the matches of the search."""
        return self.search.highlight(entry, rendered, line, strip)

    # -- events -----------------------------------------------------------------------------------

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Add or change the blocks that an event is about."""
        self.dialogue.handle_event(event, view)
        self.files.handle_event(event)
        self.suggestions.handle_event(event)
        if isinstance(event, QueryFinished):
            # What was named before it existed is a link now.
            self.touch_all()

    def show_view(self, view: SessionView) -> None:
        """Paint once what a batch of events has changed."""
        self.dialogue.folds.show_grown(view)
        self._working = view if view.activity.queries else None
        self._run_timer()
        if self._stale or self.dialogue.page.deferred or self._working is not None:
            self.update_rows()
        self.search.update()
        if not self.files_follow:
            self.describe_results()

    def _run_timer(self) -> None:
        """Let time pass only while the agent works."""
        if self._timer is not None:
            if self._working is not None:
                self._timer.resume()
            else:
                self._timer.pause()

    def _advance(self) -> None:
        self._ticks += 1
        self.dialogue.folds.tick(self.clock(), spinner(self._ticks))
        self.update_rows()

    def end(self, message: AppMessage | None, view: SessionView) -> None:
        """Let nothing look as if it continued, and show a message below."""
        self.dialogue.end(view)
        self._working = None
        self.report(message)

    def report(self, message: AppMessage | None) -> None:
        """Show a message below, if there is one."""
        if message is not None:
            self.dialogue.add_message(message)
        self.update_rows()

    def splice(self, start: int, removed: int, entries: Iterable[Block]) -> None:
        """Replace blocks; what was found in those that go is no longer counted, and the cursor stays in its place."""
        self.search.forget(self.entries[start : start + removed])
        added, is_in_them = list(entries), start <= self.cursor_index < start + removed
        super().splice(start, removed, added)
        if is_in_them and self._cursor is not None and self.index_of(self._cursor) is None and self.entries:
            self._cursor = self.entries[start if added else max(0, start - 1)].key

    # -- a longer conversation of the same session ------------------------------------------------

    def twin(self) -> ConversationPane:
        """Make an empty conversation that is on no screen."""
        twin = ConversationPane()
        twin.dialogue.key_of_newest = self.dialogue.key_of_newest
        return twin

    def index_in(self, longer: Self, index: int) -> int:
        """Return the index of a block in a longer conversation: both end alike, but keys are counted again."""
        return max(0, index + len(longer.entries) - len(self.entries))

    def adopt(self, longer: Self) -> None:
        """Show a longer conversation, which is given up for that; what is unfolded stays so."""
        longer.dialogue.folds.open_like(self.dialogue.folds)
        move_search = self.search.prepare_move(longer)
        super().adopt(longer)
        self.dialogue = longer.dialogue
        self.dialogue.page.view = self
        move_search()
        self._run_timer()
        self.update_rows()
        if not self.files_follow:
            self.describe_results()

    def show_reading(self, share: float) -> None:
        """Show how much of a past session was read, from 0 to 1: meanwhile only its end is here."""
        self._is_reading = share < 1.0
        self.search.title = _TITLE if share >= 1.0 else f"{_TITLE} · reading {share:.0%}"
        self.search.nothing = "not found" if share >= 1.0 else "not found yet"
        self.search.show()
        self.update_rows()

    # -- finished work ----------------------------------------------------------------------------

    def describe_results(self) -> None:
        """Read the files of new cards, and show what they say."""
        if self.dialogue.not_described and self.files.folder is not None and self.is_attached:
            start_job(self, self._describe_all, "results", replacing=False)

    async def _describe_all(self) -> None:
        """Read the files of new cards in a thread, and show what they say."""
        dialogue, folder = self.dialogue, self.files.folder
        assert folder is not None
        while dialogue.not_described:
            card = dialogue.not_described.pop(0)
            dialogue.describe(card, await asyncio.to_thread(describe_file, folder, card.result))
            self.update_rows()

    def action_compare(self) -> None:
        """Compare the result under the cursor, or else the newest one, with another version of it."""
        entry = self.cursor
        result = entry.result if isinstance(entry, Card) else self.dialogue.results.newest()
        if result is None:
            self.notify("This session has no result to compare yet.")
        else:
            self.post_message(CompareFile(result.path))

    def action_fork(self) -> None:
        """Ask for a fork of the session before the query under the cursor, or before that of the answer there."""
        _, last = self.span(self.cursor_index) if self.entries else (0, -1)
        for entry in reversed(self.entries[: last + 1]):
            match entry:
                case Verbatim(group=("query", str(query_id), *_), text=text):
                    self.post_message(self.ForkRequested(query_id, text))
                    return
                case _:
                    pass
        self.notify("Move to a query first: the fork begins before it.")

    # -- folds ------------------------------------------------------------------------------------

    def open_entry(self, entry: Block) -> None:
        """Show finished work; fold or unfold thinking and the text of sub-agents."""
        if isinstance(entry, Card):
            self.post_message(OpenFile(entry.result.path))
            return
        fold = self.dialogue.folds.fold_of(entry)
        if fold is not None:
            self.dialogue.folds.set_open(fold, not fold.open)
            self.show_entry(fold.key)
            self.update_rows()
            self.search.update()

    def action_stop_subagent(self) -> None:
        """Stop the sub-agent under the cursor, or the only one that runs."""
        fold = self.dialogue.folds.stoppable(self.cursor)
        if fold is None:
            self.notify("Move to the sub-agent that you want to stop.")
        else:
            self.post_message(StopSubagent(str(fold.key)))

    def click_entry(self, entry: Block, column: int, line: int) -> None:
        """Show finished work; fold or unfold by a click on the line of a fold."""
        if (isinstance(entry, Card) and line >= entry.gap) or (isinstance(entry, Fold) and line == entry.gap):
            self.open_entry(entry)

    # -- links ------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Open the link or file that was clicked; another click on a message moves the cursor.

        A click chooses a query to try, and one on the chosen query sends it.
        """
        number = event.style.meta.get("suggestion")
        if isinstance(number, int):
            event.prevent_default()
            is_chosen = number == self.suggestions.chosen
            self.suggestions.choose(number)
            self.post_message(self.PromptWanted(sends=is_chosen))
            return
        link = self._link_of(event.style.meta)
        if link is not None and event.chain == 1:
            event.stop()
            event.prevent_default()
            self.post_message(link)
        elif self.line_at(event) is None and self.text_selection is None:
            event.prevent_default()
            self.post_message(self.PromptWanted())
        else:
            super().on_click(event)

    def _link_of(self, meta: Mapping[str, object]) -> LinkClicked | OpenFile | CompareFile | None:
        match meta:
            case {"compare": str(path)}:
                return CompareFile(path)
            case {"url": str(url)} if url:
                return LinkClicked(url)
            case {"file": str(path), "line": int(line)}:
                return OpenFile(path, line)
            case {"file": str(path)}:
                return OpenFile(path)
            case _:
                return None

    def action_follow(self) -> None:
        """Open the first link of the message under the cursor, if it has one."""
        if not self.entries:
            return
        first, last = self.span(self.cursor_index)
        for index in range(first, last + 1):
            for strip in self.rendered(index).strips:
                for _, style, _ in strip:
                    link = self._link_of(style.meta) if style is not None else None
                    if link is not None:
                        self.post_message(link)
                        return
        self.notify("This message has no link.")

    # -- queries to try ---------------------------------------------------------------------------

    def action_cursor_up(self) -> None:
        """Move to the message above, or among the queries to try while there are some."""
        if not self.suggestions.queries:
            super().action_cursor_up()
        else:
            self.suggestions.move(-1)

    def action_cursor_down(self) -> None:
        """Move to the message below, or among the queries to try while there are some."""
        if not self.suggestions.queries:
            super().action_cursor_down()
        else:
            self.suggestions.move(1)

    def action_open(self) -> None:
        """Open the message under the cursor, or send the chosen query to try."""
        if not self.suggestions.queries:
            super().action_open()
        elif self.suggestions.query:
            self.post_message(self.PromptWanted(sends=True))

    # -- copying ----------------------------------------------------------------------------------

    def action_copy(self) -> None:
        """Copy what is selected with the mouse, or else what was written in the message under the cursor."""
        selection = self.text_selection
        text = selected_text(self, selection) if selection is not None else ""
        if text:
            copy_text(self, text, "Selection")
        elif self.entries:
            first, last = self.span(self.cursor_index)
            blocks = self.entries[first : last + 1]
            if isinstance(blocks[-1], Heading):
                following = itertools.islice(self.entries, last + 1, None)
                copy_text(self, text_of_answer(following), "Whole answer")
            else:
                copy_text(self, text_of_group(blocks), name_of(blocks))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return what was written in the selected lines, in one piece however the screen broke it."""
        text = selected_text(self, selection)
        return (text, "\n") if text else None

    # -- search -----------------------------------------------------------------------------------

    def action_find(self) -> None:
        """Begin a search: what is typed from here on is searched for."""
        self.search.begin()

    def action_find_next(self, step: int) -> None:
        """Go to the next match, or to the previous one, around the ends."""
        self.search.go_to_match(step)
