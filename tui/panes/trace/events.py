"""The tree of the trace as events make it: which rows there are, what they tell, and how they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self

from core.events.types import (
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
from core.events.units import tokens
from core.text import clean_line
from tui.panes.trace.rows import CallNode, CallRecord, Record, call_node, query_node
from tui.panes.trace.state import KnownCalls
from tui.panes.trace.subagent_text import hear, words_node
from tui.panes.trace.tree_view import FilteredTree
from tui.render.format import Mark
from tui.render.wait_time import Wait

__all__ = ["CallTree"]

NO_RESULT = "no result"


class CallTree(FilteredTree):
    """Puts every call under the query and the sub-agent that made it; a subclass draws the rows."""

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an empty tree; `monotonic` is the clock of live rows, in seconds."""
        super().__init__(name=name, id=id, classes=classes)
        self._monotonic = monotonic
        self._keep: Callable[[ToolCallStarted], Record] = CallRecord
        self._known = KnownCalls()

    # Events

    def _take(self, event: Event) -> None:
        if self._known.retrying and isinstance(
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
                self._heard(self._known.by_key.get(call))
            case PermissionAsked(tool_use_id=str(call)) if call in self._known.live:
                self._known.asked[event.request_id] = call
                for above in self._known.by_key[call].lineage:
                    above.wait = above.wait or Wait()
                    above.wait.begin(event.at.timestamp())
                self._mark_row(self._known.by_key[call], Mark.WAITING)
            case PermissionAnswered():
                call = self._known.asked.pop(event.request_id, "")
                for above in self._known.by_key[call].lineage if call in self._known.by_key else ():
                    if above.wait is not None:
                        above.wait.end(event.at.timestamp())
                if call in self._known.live:
                    self._mark_row(self._known.by_key[call], Mark.RUNNING)
            case ComplianceEnforced():
                self._sent_back(clean_line(event.subagent))
            case ApiRetry() if self._queries:
                self._known.retrying = True
                self._queries[-1].tries += 1
                self._queries[-1].flag = f"{Mark.RETRY.glyph} try {event.attempt} of {event.max_attempts}"
                self.changed(self._queries[-1])
            case ArtifactSaved(tool_use_id=str(call)) if call in self._known.by_key:
                record = self._known.by_key[call].record
                if record is not None:
                    record.take(event)
            case ObserverFinished(tool_use_id=call, items=items) if items and call in self._known.by_key:
                node = self._known.by_key[call]
                if not node.note and node.mark is Mark.SUCCESS:
                    self._note(node, f"{items} item{'' if items == 1 else 's'}")
            case QueryFinished():
                self._end_query(event)
            case SessionFinished() | SessionStarted():
                self._end_rows(list(self._known.live.values()))
            case _:
                pass

    def _got_through(self) -> None:
        """Keep on the query's row how often the model had to be asked again."""
        if self._known.retrying:
            query = self._queries[-1]
            query.flag = f"{Mark.RETRY.glyph} {query.tries} {'retry' if query.tries == 1 else 'retries'}"
            self._known.retrying = False
            self.changed(query)

    def _ask(self, event: QueryReceived) -> None:
        node = self._known.by_key.get(f"query/{event.query_id}")
        if node is not None and node.key in self._known.live:
            # Its calls came before it, or it comes twice.
            node.label = clean_line(event.text) or node.label
            self.changed(node)
        else:
            self._query(event.query_id, event.text)

    def _query(self, query_id: str, text: str) -> CallNode:
        node = query_node(query_id, text, self._monotonic())
        newest = node.key
        if newest in self._known.by_key:
            # An id that was used before: what comes from here on belongs to the new row.
            node.key = f"again/{len(self._queries)}/{newest}"
        self._known.by_key[newest] = self._known.by_key[node.key] = node
        self._known.live[node.key] = node
        self.add_root(node)
        return node

    def _start(self, event: ToolCallStarted) -> None:
        if event.tool_use_id in self._known.by_key:
            return
        parent = self._known.by_key.get(event.parent_tool_use_id or "")
        if parent is None:
            parent = self._known.by_key.get(f"query/{event.query_id}") or self._query(event.query_id, "")
        node = call_node(event, self._monotonic(), self._keep(event))
        self._known.by_key[node.key] = node
        self._known.live[node.key] = node
        self._known.count += 1
        self.add_below(parent, node)
        if len(parent.children) == 1:
            self.changed(parent)
        self._heard(parent)
        _note_progress(parent, event)

    def _finish(self, event: ToolCallFinished) -> None:
        node = self._known.by_key.get(event.tool_use_id)
        if node is None or node.record is None or node.record.ended:
            return
        node.finish(event)
        self._known.live.pop(node.key, None)
        if node.mark is Mark.ERROR:
            self._known.failures.append(node)
        self.changed(node)
        self._heard(node.parent)

    def _said(self, call: str, event: TextDelta | MessageFinished) -> None:
        """Put what a sub-agent says under it, between its calls."""
        agent = self._known.by_key.get(call)
        if agent is None:
            return
        self._heard(agent)
        _note_progress(agent, event)
        node = self._known.words.get(event.message_id)
        if node is None:
            if not event.text.strip():
                return
            node = self._known.words[event.message_id] = words_node(event.message_id)
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
        node = self._known.by_key.get(event.tool_use_id)
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
        node = self._known.agent_at_work(agent)
        if node is not None:
            node.flag = f"{Mark.RETRY.glyph} {Mark.RETRY.word}"
            self.changed(node)

    def _end_query(self, event: QueryFinished) -> None:
        node = self._known.by_key.get(f"query/{event.query_id}")
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
        self._known.live.pop(node.key, None)
        self._mark_row(node, marks[event.status])

    def _end_rows(self, nodes: Sequence[CallNode]) -> None:
        for node in nodes:
            self._known.live.pop(node.key, None)
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
        return self._known.by_key

    @property
    def live(self) -> Mapping[str, CallNode]:
        """The rows by key that have not come to their end."""
        return self._known.live

    def record(self, tool_use_id: str) -> Record | None:
        """Return what is known of a call."""
        node = self._known.by_key.get(tool_use_id)
        return None if node is None else node.record

    def reveal(self, tool_use_id: str) -> bool:
        """Unfold what hides a call and put the cursor on it; False when there is no such call."""
        node = self._known.by_key.get(tool_use_id)
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

    # A longer view of the same

    def counterparts(self, whole: Self) -> Iterator[tuple[CallNode, CallNode]]:
        """Yield the rows that a longer trace has, too, each with the one there."""
        return self._known.counterparts(whole._known)

    def adopt(self, whole: Self) -> None:
        """Show a longer trace, which is given up for that; what is folded stays so."""
        super().adopt(whole)
        self._known = whole._known
        self.tell_counts()
        self.settle()


def _note_progress(node: CallNode, event: Event) -> None:
    if node.record is not None:
        node.record.progress = node.record.progress.after(event, node.key)
