"""The trace: every tool call as it happens, under the query and the sub-agent that made it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from core.events import (
    ApiRetry,
    ArtifactSaved,
    ComplianceEnforced,
    Event,
    MessageFinished,
    ObserverFinished,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentProgress,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from core.text import clean_line
from tui.format import Mark, tokens
from tui.panes.calls import CallNode, CallRecord, Record, TraceTheme, call_node, query_node, render_node
from tui.panes.filtered_tree import FilteredTree
from tui.panes.words import hear, render_words, words_node
from tui.text_layout import Line, wrap

__all__ = ["CallRecord", "TracePane"]

TICK = 1.0
NO_RESULT = "no result"


class TracePane(FilteredTree):
    """Shows the session's tool calls as a tree; only rows that changed are drawn again."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"trace--{name}"
        for name in ("query", "name", "argument", "note", "number", "running", "good", "warning", "bad")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "failure(1)", "Next failure", id="trace.next_failure"),
        Binding("E", "failure(-1)", "Previous failure", id="trace.previous_failure", show=False),
    ]
    HELP = "Tool calls. Left and right fold, Enter shows a call whole, e and E go from failure to failure, f filters."

    class Opened(Message):
        """A call is to be shown whole."""

        def __init__(self, tool_use_id: str) -> None:
            super().__init__()
            self.tool_use_id = tool_use_id

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an empty trace; `monotonic` is the clock of live rows, in seconds."""
        super().__init__(name=name, id=id, classes=classes)
        self._monotonic = monotonic
        self._keep: Callable[[ToolCallStarted], Record] = CallRecord
        self._theme = TraceTheme()
        self._calls_by_key: dict[str, CallNode] = {}
        self._live: dict[str, CallNode] = {}
        self._failures: list[CallNode] = []
        self._asked: dict[str, str] = {}
        self._words: dict[str, CallNode] = {}
        self._calls = 0
        self._retrying = False
        self._tick = 0
        self._timer: Timer | None = None
        self.tell_counts()

    def on_mount(self) -> None:
        """Set up the one timer; it runs only while a row does."""
        self._timer = self.set_interval(TICK, self._advance, pause=True)
        self._wind()

    # Events

    def apply(self, events: Sequence[Event]) -> None:
        """Take a batch of events in order, and paint once."""
        calls, failures = self._calls, len(self._failures)
        for event in events:
            self._take(event)
        if (calls, failures) != (self._calls, len(self._failures)):
            self.tell_counts()
        self._wind()
        self.settle()

    def _take(self, event: Event) -> None:
        if self._retrying and isinstance(
            event, TextDelta | ThinkingDelta | MessageFinished | ToolCallStarted
        ):
            self._got_through()
        match event:
            case QueryReceived():
                self._ask(event)
            case ToolCallStarted():
                self._start(event)
            case ToolCallFinished():
                self._finish(event)
            case SubagentStarted() | SubagentProgress() | SubagentFinished():
                self._subagent(event)
            case TextDelta(parent_tool_use_id=str(call)) | MessageFinished(parent_tool_use_id=str(call)):
                self._said(call, event)
            case ThinkingDelta(parent_tool_use_id=str(call)):
                self._heard(self._calls_by_key.get(call))
            case PermissionAsked(tool_use_id=str(call)) if call in self._live:
                self._asked[event.request_id] = call
                self._mark_row(self._calls_by_key[call], Mark.WAITING)
            case PermissionAnswered():
                call = self._asked.pop(event.request_id, "")
                if call in self._live:
                    self._mark_row(self._calls_by_key[call], Mark.RUNNING)
            case ComplianceEnforced():
                self._sent_back(clean_line(event.subagent))
            case ApiRetry() if self._queries:
                self._retrying = True
                self._queries[-1].tries += 1
                self._queries[-1].flag = f"{Mark.RETRY.glyph} try {event.attempt} of {event.max_attempts}"
                self.changed(self._queries[-1])
            case ArtifactSaved(tool_use_id=str(call)) if call in self._calls_by_key:
                record = self._calls_by_key[call].record
                if record is not None:
                    record.take(event)
            case ObserverFinished(tool_use_id=call, items=items) if items and call in self._calls_by_key:
                node = self._calls_by_key[call]
                if not node.note and node.mark is Mark.SUCCESS:
                    self._note(node, f"{items} item{'' if items == 1 else 's'}")
            case QueryFinished():
                self._end_query(event)
            case SessionFinished() | SessionStarted():
                self._end_rows(list(self._live.values()))
            case _:
                pass

    def _got_through(self) -> None:
        """Keep on the query's row how often the model had to be asked again."""
        if self._retrying:
            query = self._queries[-1]
            query.flag = f"{Mark.RETRY.glyph} {query.tries} {'retry' if query.tries == 1 else 'retries'}"
            self._retrying = False
            self.changed(query)

    def _ask(self, event: QueryReceived) -> None:
        node = self._calls_by_key.get(f"query/{event.query_id}")
        if node is not None and node.key in self._live:
            # Its calls came before it, or it comes twice.
            node.label = clean_line(event.text) or node.label
            self.changed(node)
        else:
            self._query(event.query_id, event.text)

    def _query(self, query_id: str, text: str) -> CallNode:
        node = query_node(query_id, text, self._monotonic())
        newest = node.key
        if newest in self._calls_by_key:
            # An id that was used before: what comes from here on belongs to the new row.
            node.key = f"again/{len(self._queries)}/{newest}"
        self._calls_by_key[newest] = self._calls_by_key[node.key] = node
        self._live[node.key] = node
        self.add_root(node)
        return node

    def _start(self, event: ToolCallStarted) -> None:
        if event.tool_use_id in self._calls_by_key:
            return
        parent = self._calls_by_key.get(event.parent_tool_use_id or "")
        if parent is None:
            parent = self._calls_by_key.get(f"query/{event.query_id}") or self._query(event.query_id, "")
        node = call_node(event, self._monotonic(), self._keep(event))
        self._calls_by_key[node.key] = node
        self._live[node.key] = node
        self._calls += 1
        self.add_below(parent, node)
        if len(parent.children) == 1:
            self.changed(parent)
        self._heard(parent)
        _note_progress(parent, event)

    def _finish(self, event: ToolCallFinished) -> None:
        node = self._calls_by_key.get(event.tool_use_id)
        if node is None or node.record is None or node.record.ended:
            return
        node.finish(event)
        self._live.pop(node.key, None)
        if node.mark is Mark.ERROR:
            self._failures.append(node)
        self.changed(node)
        self._heard(node.parent)

    def _said(self, call: str, event: TextDelta | MessageFinished) -> None:
        """Put what a sub-agent says under it, between its calls."""
        agent = self._calls_by_key.get(call)
        if agent is None:
            return
        self._heard(agent)
        _note_progress(agent, event)
        node = self._words.get(event.message_id)
        if node is None:
            if not event.text.strip():
                return
            node = self._words[event.message_id] = words_node(event.message_id)
            hear(node, event)
            self.add_below(agent, node)
            if len(agent.children) == 1:
                self.changed(agent)
        elif event.text:
            hear(node, event)
            self.changed(node)

    def _heard(self, node: CallNode | None) -> None:
        """Note a sign of a sub-agent and of those it works for."""
        now = self._monotonic()
        while node is not None:
            node.heard = now
            node = node.parent

    def _subagent(self, event: SubagentStarted | SubagentProgress | SubagentFinished) -> None:
        node = self._calls_by_key.get(event.tool_use_id)
        if node is None:
            return
        node.kind = "agent"
        self._heard(node)
        _note_progress(node, event)
        node.label = clean_line(event.name) or node.label
        if isinstance(event, SubagentStarted):
            node.argument = clean_line(event.description) or node.argument
        elif event.usage is not None and event.usage.total:
            node.note = tokens(event.usage.total)
        self.changed(node)

    def _sent_back(self, agent: str) -> None:
        rows = (
            node for node in reversed(self._live.values()) if node.kind == "agent" and node.label == agent
        )
        node = next(rows, None)
        if node is not None:
            node.flag = f"{Mark.RETRY.glyph} {Mark.RETRY.word}"
            self.changed(node)

    def _end_query(self, event: QueryFinished) -> None:
        node = self._calls_by_key.get(f"query/{event.query_id}")
        if node is None:
            return
        self._got_through()
        # Every call ends before its query does; where a torn journal lost the end, the row must not run for ever.
        self._end_rows([below for below in node.walk() if below.running])
        marks = {"success": Mark.SUCCESS, "error": Mark.ERROR, "interrupted": Mark.CANCELLED}
        node.took = event.duration_ms / 1000
        node.note = (
            "" if event.status == "success" else "interrupted" if event.status == "interrupted" else "failed"
        )
        self._live.pop(node.key, None)
        self._mark_row(node, marks[event.status])

    def _end_rows(self, nodes: Sequence[CallNode]) -> None:
        for node in nodes:
            self._live.pop(node.key, None)
            node.took = max(0.0, self._monotonic() - node.began)
            node.note = NO_RESULT
            self._mark_row(node, Mark.CANCELLED)

    def _mark_row(self, node: CallNode, mark: Mark) -> None:
        node.mark = mark
        self.changed(node)

    def _note(self, node: CallNode, note: str) -> None:
        node.note = note
        self.changed(node)

    # What others may ask

    @property
    def records(self) -> Mapping[str, CallNode]:
        """All rows by key; a call's key is its `tool_use_id`."""
        return self._calls_by_key

    def record(self, tool_use_id: str) -> Record | None:
        """Return what is known of a call."""
        node = self._calls_by_key.get(tool_use_id)
        return None if node is None else node.record

    def reveal(self, tool_use_id: str) -> bool:
        """Unfold what hides a call and put the cursor on it; False when there is no such call."""
        node = self._calls_by_key.get(tool_use_id)
        if node is None:
            return False
        if self.matched is not None and not node.hits:
            self.keep_only("")
        above = node.parent
        hidden: list[CallNode] = []
        while above is not None:
            hidden.append(above)
            above = above.parent
        for folded in reversed(hidden):
            if not folded.open:
                self.set_open(folded, open_=True)
        self.show_entry(node.key)
        self.settle()
        return True

    # Time

    def _wind(self) -> None:
        if self._timer is not None:
            if self._live:
                self._timer.resume()
            else:
                self._timer.pause()

    def _advance(self) -> None:
        self._tick += 1
        for node in self.on_screen:
            if node.key in self._live:
                self.changed(node)
        self.settle()

    # The view

    def tell_counts(self) -> None:
        """Show on the border how many calls there are, how many failed, and what is kept of them."""
        parts: list[str | Content | tuple[str, str]] = ["Trace"]
        if self._calls:
            kept = "" if self.matched is None else f"{self.matched:,} of "
            parts.append(f" · {kept}{self._calls:,} call{'' if self._calls == 1 else 's'}")
            parts.append(" · ")
            failed = f"{len(self._failures)} failed"
            parts.append((failed, "bold $text-error") if self._failures else failed)
        self.border_title = Content.assemble(*parts, *self.filter_title())

    def restyled(self) -> None:
        """Read the styles of the trace again."""
        self._theme = TraceTheme.read(self.palette.__getitem__)

    def render_entry(self, entry: CallNode, width: int) -> Sequence[Line]:
        """Render a row."""
        if entry.kind == "words":
            return render_words(entry, width, self._theme)
        return [render_node(entry, width, self._theme, now=self._monotonic(), tick=self._tick)]

    def counts_as_new(self, entry: CallNode) -> bool:
        """Count calls, neither the queries they stand under nor what is said between them."""
        return entry.record is not None

    def render_empty(self, width: int) -> Sequence[Line]:
        """Say what will be here."""
        muted = self.palette["lines--muted"]
        if self.filtering:
            return [[], *wrap([("No call matches. Esc shows all of them.", muted)], width)]
        text = "Every tool call appears here as it happens: which tool, with what, how it ended and how long it took."
        return [[], *wrap([(text, muted)], width)]

    # Keys

    def action_failure(self, direction: int) -> None:
        """Go to the next or the previous failed call, around the ends."""
        looked_for = [node for node in self._failures if self.matched is None or node.matched]
        if not looked_for:
            return
        failures = sorted(looked_for, key=lambda node: node.path)
        here = self.cursor
        path = here.path if here is not None else ()
        if direction > 0:
            found = next((node for node in failures if node.path > path), failures[0])
        else:
            found = next((node for node in reversed(failures) if node.path < path), failures[-1])
        self.reveal(found.key)

    def opened(self, entry: CallNode) -> None:
        """Show a call whole; fold or unfold a query, or what was said."""
        if entry.record is not None:
            self.post_message(self.Opened(entry.key))
        else:
            self.toggle(entry, open_=not entry.open)


def _note_progress(node: CallNode, event: Event) -> None:
    if node.record is not None:
        node.record.progress = node.record.progress.after(event, node.key)
