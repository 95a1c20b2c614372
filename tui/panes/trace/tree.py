"""The tree of the trace as events make it: which rows there are, what each shows, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ua_tui.core.events.types import (
    KNOWLEDGE,
    ApiRetry,
    ArtifactSaved,
    ComplianceEnforced,
    Event,
    MessageFinished,
    ObserverFinished,
    PermissionAnswered,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentProgress,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    TokensSpent,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
)
from ua_tui.core.events.units import progress, quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.panes.trace.calls import (
    STOPPED,
    CallNode,
    CallSource,
    add_text,
    call_node,
    message_node,
    query_node,
)
from ua_tui.tui.panes.trace.totals import Totals
from ua_tui.tui.panes.trace.tree_rows import TreeRows
from ua_tui.tui.render.format import Mark
from ua_tui.tui.render.wait_time import Wait, WaitingCalls

DEEPEST = 50
"""How deep calls are nested; a journal that says they are deeper must not exhaust the stack."""


class CallTree:
    """Puts every call under the query and the sub-agent that made it, and finds rows by what events call them.

    Args:
        rows: shows the tree.
        source: where the calls come from; another one continues the tree.

    Attributes:
        by_key: all rows but messages; a call's key is its `tool_use_id`.
        live: those that have not ended, in the order they began.
        failures: the calls that failed, in the order they ended.
        count: how many calls there are.
        totals: what each tool and sub-agent did.
    """

    def __init__(self, rows: TreeRows, source: CallSource, totals: Totals) -> None:
        self.source = source
        self.totals = totals
        self.by_key: dict[str, CallNode] = {}
        self.live: dict[str, CallNode] = {}
        self.failures: list[CallNode] = []
        self.count = 0
        self._rows = rows
        self._now = 0.0
        self._waiting_calls = WaitingCalls()
        self._waiting: set[str] = set()
        self._messages: dict[str, CallNode] = {}
        self._retrying = False

    def now(self) -> float:
        """Return the present time by the clock of the rows that run, in seconds."""
        return self.source.now()

    # -- events -----------------------------------------------------------------------------------

    def handle_event(self, event: Event) -> None:
        """Update the rows that an event is about."""
        self._now = self.source.now(event)
        match event:
            case QueryReceived():
                self.on_query_received(event)
            case QueryFinished():
                self.on_query_finished(event)
            case ToolCallStarted():
                self.on_call_started(event)
            case ToolCallProgress():
                self.on_call_progress(event)
            case ToolCallFinished():
                self.on_call_finished(event)
            case SubagentStarted() | SubagentProgress() | SubagentFinished():
                self.on_subagent(event)
            case TextDelta() | ThinkingDelta() | MessageFinished():
                self.on_message(event)
            case TokensSpent():
                self.on_tokens_spent(event)
            case ComplianceEnforced():
                self.on_compliance_enforced(event)
            case ApiRetry():
                self.on_retry(event)
            case ArtifactSaved():
                self.on_artifact_saved(event)
            case PermissionAnswered():
                self.on_permission_answered(event)
            case ObserverFinished():
                self.on_observer_finished(event)
            case SessionFinished() | SessionStarted():
                self.end_all()
            case _:
                pass
        self._note_waits(event)

    def on_query_received(self, event: QueryReceived) -> None:
        """Add the row of a query."""
        node = self.by_key.get(f"query/{event.query_id}")
        if node is not None and node.key in self.live:
            # Its calls came before it, or it comes twice.
            node.label = clean_line(event.text) or node.label
            self._rows.changed(node)
        else:
            self._add_query(event.query_id, event.text, event.at)

    def _add_query(self, query_id: str, text: str, at: datetime) -> CallNode:
        node = query_node(query_id, text, self._now, at.timestamp())
        newest = node.key
        if newest in self.by_key:
            # An id that was used before: what comes from here on belongs to the new row.
            node.key = f"again/{len(self._rows.roots)}/{newest}"
        self.by_key[newest] = self.by_key[node.key] = node
        self.live[node.key] = node
        self._rows.add_root(node)
        return node

    def on_query_finished(self, event: QueryFinished) -> None:
        """End the row of a query."""
        node = self.by_key.get(f"query/{event.query_id}")
        if node is None:
            return
        self._end_retrying()
        # Every call ends before its query does; where a torn journal lost the end, the row must not run for ever.
        self.end_rows([below for below in node.walk() if below.running])
        marks = {"success": Mark.SUCCESS, "error": Mark.ERROR, "interrupted": Mark.CANCELLED}
        notes = {"success": "", "interrupted": "interrupted"}
        node.took = event.duration_ms / 1000
        node.note = notes.get(event.status, "failed")
        if event.cost_usd is not None:
            self.totals.correct(node.cost, event.cost_usd)
            node.cost, node.exact = event.cost_usd, True
        self.live.pop(node.key, None)
        self._mark(node, marks[event.status])

    def on_call_started(self, event: ToolCallStarted) -> None:
        """Add the row of a call."""
        self._end_retrying()
        if event.tool_use_id in self.by_key:
            return
        parent = self.by_key.get(event.parent_tool_use_id or "")
        if parent is None or parent.depth >= DEEPEST:
            parent = self.by_key.get(f"query/{event.query_id}") or self._add_query(
                event.query_id, "", event.at
            )
        node = call_node(event, self._now, self.source.make_record(event))
        self.by_key[node.key] = node
        self.live[node.key] = node
        self.count += 1
        self._rows.add_below(parent, node)
        self._note_sign(parent)
        _note_progress(parent, event)

    def on_permission_answered(self, event: PermissionAnswered) -> None:
        """Show on the row of a call the arguments with which it runs."""
        if (node := self.by_key.get(event.tool_use_id or "")) is not None:
            node.change(event)

    def on_call_progress(self, event: ToolCallProgress) -> None:
        """Show on the row of a running call how much of it is done."""
        node = self.live.get(event.tool_use_id)
        if node is not None:
            node.note = progress(event.done, event.total, event.unit)
            self._rows.changed(node)
            self._note_sign(node.parent)

    def on_call_finished(self, event: ToolCallFinished) -> None:
        """Show on the row of a call how it ended."""
        node = self.by_key.get(event.tool_use_id)
        if node is None or node.record is None or node.record.ended:
            return
        node.finish(event)
        self.totals.add_call(node)
        self.live.pop(node.key, None)
        if node.mark is Mark.ERROR:
            self.failures.append(node)
        self._rows.changed(node)
        self._note_sign(node.parent)

    def on_subagent(self, event: SubagentStarted | SubagentProgress | SubagentFinished) -> None:
        """Show on the row of a sub-agent what it does."""
        node = self.by_key.get(event.tool_use_id)
        if node is None:
            return
        node.kind = "agent"
        self._note_sign(node)
        _note_progress(node, event)
        node.label = clean_line(event.name) or node.label
        if isinstance(event, SubagentStarted):
            node.argument = clean_line(event.description) or node.argument
        elif event.usage is not None and not node.tokens:
            node.tokens = event.usage.total
        if isinstance(event, SubagentFinished) and event.by_person:
            node.flag = STOPPED
        self._rows.changed(node)

    def on_message(self, event: TextDelta | ThinkingDelta | MessageFinished) -> None:
        """Put a message of a sub-agent under it, between its calls."""
        self._end_retrying()
        agent = self.by_key.get(event.parent_tool_use_id) if event.parent_tool_use_id is not None else None
        if agent is None:
            return
        self._note_sign(agent)
        if isinstance(event, ThinkingDelta):
            return
        _note_progress(agent, event)
        node = self._messages.get(event.message_id)
        if node is not None:
            if event.text:
                add_text(node, event)
                self._rows.changed(node)
        elif event.text.strip():
            node = self._messages[event.message_id] = message_node(event.message_id)
            node.at = event.at.timestamp()
            add_text(node, event)
            self._rows.add_below(agent, node)

    def on_tokens_spent(self, event: TokensSpent) -> None:
        """Count the tokens of a message, and what they may have cost."""
        agent = self.by_key.get(event.parent_tool_use_id or "")
        self.totals.add_tokens(event, agent)
        node = agent or self.by_key.get(f"query/{event.query_id}")
        if node is not None:
            node.spend(event)
            for above in node.lineage:
                self._rows.changed(above)

    def _note_waits(self, event: Event) -> None:
        for call, begins in self._waiting_calls.changes(event):
            self._note_wait(call, event.at.timestamp(), begins=begins)

    def _note_wait(self, call: str, at: float, *, begins: bool) -> None:
        """Show that a call waits for the person or continues, and count the time."""
        if begins == (call in self._waiting) or (begins and call not in self.live):
            return
        for node in self.by_key[call].lineage:
            node.wait = node.wait or Wait()
            (node.wait.begin if begins else node.wait.end)(at)
        (self._waiting.add if begins else self._waiting.remove)(call)
        if call in self.live:
            self._mark(self.by_key[call], Mark.WAITING if begins else Mark.RUNNING)

    def on_compliance_enforced(self, event: ComplianceEnforced) -> None:
        """Show on the newest running row of a sub-agent that its work was sent back."""
        name = clean_line(event.subagent)
        rows = (node for node in reversed(self.live.values()) if node.kind == "agent" and node.label == name)
        if (node := next(rows, None)) is not None:
            node.flag = f"{Mark.RETRY.glyph} {Mark.RETRY.word}"
            self._rows.changed(node)

    def on_retry(self, event: ApiRetry) -> None:
        """Show on the query's row that the model is asked again."""
        if self._rows.roots:
            query = self._rows.roots[-1]
            self._retrying = True
            query.tries += 1
            query.flag = f"{Mark.RETRY.glyph} attempt {event.attempt} of {event.max_attempts}"
            self._rows.changed(query)

    def _end_retrying(self) -> None:
        """Keep on the query's row how often the model was asked again."""
        if self._retrying:
            query = self._rows.roots[-1]
            query.flag = f"{Mark.RETRY.glyph} {quantity(query.tries, 'retry', 'retries')}"
            self._retrying = False
            self._rows.changed(query)

    def on_artifact_saved(self, event: ArtifactSaved) -> None:
        """Add a file to the record of its call."""
        node = self.by_key.get(event.tool_use_id) if event.tool_use_id is not None else None
        if node is not None and node.record is not None:
            node.record.add(event)

    def on_observer_finished(self, event: ObserverFinished) -> None:
        """Show on a call's row how many items were saved from its result."""
        node = self.by_key.get(event.tool_use_id) if event.observer != KNOWLEDGE else None
        if node is not None and event.items and not node.note and node.mark is Mark.SUCCESS:
            node.note = quantity(event.items, "item")
            self._rows.changed(node)

    def end_all(self) -> None:
        """End all rows that have not ended."""
        self.end_rows(list(self.live.values()))

    def end_rows(self, nodes: Sequence[CallNode]) -> None:
        """End rows without a result."""
        for node in nodes:
            self.live.pop(node.key, None)
            self.source.end(node, self._now)
            self._mark(node, Mark.CANCELLED)

    def _mark(self, node: CallNode, mark: Mark) -> None:
        node.mark = mark
        self._rows.changed(node)

    def _note_sign(self, node: CallNode | None) -> None:
        """Note a sign of life of a sub-agent, and of those it works for."""
        while node is not None:
            node.heard = self._now
            node = node.parent

    # -- what others read -------------------------------------------------------------------------

    def failure_from(self, path: tuple[int, ...], direction: int, *, only_matched: bool) -> CallNode | None:
        """Return the failure below a place of the tree, or above it for a negative direction, around the ends."""
        candidates = (node for node in self.failures if node.matched or not only_matched)
        failures = sorted(candidates, key=lambda node: node.path)
        if not failures:
            return None
        if direction > 0:
            return next((node for node in failures if node.path > path), failures[0])
        return next((node for node in reversed(failures) if node.path < path), failures[-1])

    def at(self, moment: float) -> CallNode | None:
        """Return the first call of a query at a moment or later; its last one, or the query, if there is none."""
        query = next((node for node in reversed(self._rows.roots) if node.at <= moment), None)
        if query is None or query.at == moment:
            return query
        calls = [node for node in query.children if node.kind != "message"]
        return next((node for node in calls if node.at >= moment), calls[-1] if calls else query)

    def counterparts(self, longer: CallTree) -> Iterator[tuple[CallNode, CallNode]]:
        """Yield each row that a longer tree has, too, with the row there."""
        for mine, theirs in ((self.by_key, longer.by_key), (self._messages, longer._messages)):
            for key, node in mine.items():
                if (other := theirs.get(key)) is not None:
                    yield node, other

    def adopt(self, longer: CallTree) -> None:
        """Continue with the rows of a longer tree, which is given up for that."""
        self.by_key, self.live, self.failures = longer.by_key, longer.live, longer.failures
        self.count, self._retrying, self.totals = longer.count, longer._retrying, longer.totals
        self._waiting_calls, self._waiting = longer._waiting_calls, longer._waiting
        self._messages = longer._messages
        self._rows.roots = longer._rows.roots


def _note_progress(node: CallNode, event: Event) -> None:
    if node.record is not None:
        node.record.progress = node.record.progress.after(event, node.key)
