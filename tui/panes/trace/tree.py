"""The tree of the trace: every query, call and message of a session's view has a row in it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    PermissionAnswered,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    TextDelta,
    TokensSpent,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.view.calls import FullCall
from ua_tui.core.view.records import Call, Message, Query
from ua_tui.core.view.session import DEEPEST, SessionView
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.tree_rows import TreeRows
from ua_tui.tui.render.format import Mark

NO_RESULT, UNFINISHED = "no result", "unfinished"
_LONGEST_ARGUMENT = 1_000


class CallTree:
    """Puts every call under the query and the sub-agent that made it.

    Args:
        rows: shows the tree.
        clock: the time of day, in seconds.

    Attributes:
        view: what the events of the session say.
        by_key: all rows; a call's key is its `tool_use_id`.
        live: those that have not ended, in the order they began.
        failures: the calls that failed, in the order they ended.
        count: how many calls there are.
    """

    def __init__(self, rows: TreeRows, clock: Callable[[], float] = time.time) -> None:
        self.view = SessionView()
        self.by_key: dict[str, CallNode] = {}
        self.live: dict[str, CallNode] = {}
        self.failures: dict[str, CallNode] = {}
        self.count = 0
        self._rows = rows
        self._clock = clock
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._journal: PastJournal | None = None
        self._is_past = self._is_over = False

    # -- where the calls come from ----------------------------------------------------------------

    def read_from(self, journal: PastJournal, *, still_runs: bool) -> None:
        """Read calls from a journal; without one that `still_runs` nothing more happens to them."""
        self._journal, self._is_past, self._is_over = journal, True, not still_runs

    def read_like(self, other: CallTree) -> None:
        """Read calls from where another tree does."""
        self._journal, self._is_past, self._is_over = other._journal, other._is_past, other._is_over

    def go_live(self) -> None:
        """Continue with the calls of a session that runs here."""
        self._is_past = self._is_over = False

    def now(self) -> float:
        """Return the present time for rows that run, in seconds; 0 where nothing can run."""
        return 0.0 if self._is_over else self._clock()

    def load(self, tool_use_id: str) -> FullCall | None:
        """Return all of a call, from memory or from the journal; None if it is not in the tree.

        Raises:
            JournalError: the journal is not as it was.
        """
        node = self.by_key.get(tool_use_id)
        if node is None or not isinstance(node.record, Call):
            return None
        events = self._events.get(tool_use_id, [])
        if node.record.places and self._journal is not None:
            events = [*map(self._journal.event_at, node.record.places), *events]
        if not events or not isinstance(events[0], ToolCallStarted):
            raise JournalError("The journal of this session was changed: this call is gone.")
        call = FullCall(events[0])
        for event in events[1:]:
            call.add(event)
        if call.finished is None and self._is_over:
            call.finished = ToolCallFinished(tool_use_id=tool_use_id, status="cancelled")
        return call

    # -- events -----------------------------------------------------------------------------------

    def handle_events(self, events: Sequence[Event]) -> None:
        """Add rows for what began, and update those that the events are about."""
        view, touched = self.view, dict.fromkeys(self.live)
        for event in events:
            if isinstance(event, QueryReceived | SessionStarted | SessionFinished):
                # What ends here must have its last state.
                self._sync(touched)
            view.add(event)
            match event:
                case QueryReceived():
                    self._add_query(event)
                case ToolCallStarted():
                    self._add_call(event)
                case TextDelta(parent_tool_use_id=str()) | MessageFinished(parent_tool_use_id=str()):
                    self._add_text(event)
                case PermissionAnswered(tool_use_id=call, input=arguments):
                    self._keep(call, event)
                    if arguments is not None and (node := self.by_key.get(call or "")) is not None:
                        node.arguments = _texts(arguments)
                case ToolCallFinished() | ArtifactSaved():
                    self._keep(event.tool_use_id, event)
                case QueryFinished():
                    self._end_unknown(event)
                case SessionFinished() | SessionStarted():
                    self.end_all()
                case _:
                    pass
            if (call := getattr(event, "tool_use_id", None)) is not None:
                touched[call] = None
            if isinstance(event, QueryReceived | QueryFinished | TokensSpent):
                touched[f"query/{event.query_id}"] = None
        self._sync(touched)

    def _keep(self, call: str | None, event: Event) -> None:
        """Keep an event of a call that has no place in a journal."""
        if call is not None and not isinstance(getattr(event, "place", None), int):
            self._events[call].append(event)

    def _end_unknown(self, event: QueryFinished) -> None:
        """End the row of a query whose beginning is not known."""
        node = self.by_key.get(f"query/{event.query_id}")
        if node is not None and node.record is None:
            node.record = Query(id=event.query_id, at=event.at, number=0, offset=0.0, text="", end=event)
            self._end(node)
            self._rows.changed(node)

    def _add_query(self, event: QueryReceived | ToolCallStarted) -> CallNode:
        newest = f"query/{event.query_id}"
        node = self.by_key.get(newest)
        if node is not None and node.running:
            # Its calls came before it, or it comes twice.
            return node
        # An id that was used before: what comes from here on belongs to the new row.
        key = newest if node is None else f"again/{len(self._rows.roots)}/{newest}"
        node = CallNode(key, self.view.query(event.query_id), event.at.timestamp())
        self.by_key[newest] = self.by_key[key] = self.live[key] = node
        self._rows.add_root(node)
        return node

    def _add_call(self, event: ToolCallStarted) -> None:
        key = event.tool_use_id
        if key in self.by_key:
            return
        parent = self.by_key.get(event.parent_tool_use_id or "")
        if parent is None or parent.depth >= DEEPEST:
            parent = self.by_key.get(f"query/{event.query_id}") or self._add_query(event)
        node = CallNode(key, self.view.call(key), event.at.timestamp(), _texts(event.input))
        self._keep(key, event)
        self.by_key[key] = self.live[key] = node
        self.count += 1
        self._rows.add_below(parent, node)

    def _add_text(self, event: TextDelta | MessageFinished) -> None:
        """Put a message of a sub-agent under it, between its calls."""
        agent, key = self.by_key.get(event.parent_tool_use_id or ""), f"message/{event.message_id}"
        message = self.view.streaming.get(event.message_id) or self.view.entries.get(("", f"m{event.seq}"))
        if agent is None or not event.text.strip() or not isinstance(message, Message):
            return
        if (node := self.by_key.get(key)) is not None:
            node.record = message
            self._rows.changed(node)
        else:
            node = self.by_key[key] = CallNode(key, message, event.at.timestamp(), open=False)
            self._rows.add_below(agent, node)

    def _sync(self, keys: Mapping[str, None]) -> None:
        """Bring rows in line with the view."""
        view, waiting = self.view, self.view.activity.waiting
        ended: list[CallNode] = []
        for key in keys:
            node = self.by_key.get(key)
            if node is None or isinstance(node.record, Message):
                continue
            record: Query | Call | None
            if isinstance(node.record, Call):
                record, retry, asks = view.call(key), None, key in waiting
            else:
                record, asks = view.query(key.rpartition("query/")[2]) or node.record, False
                retry = view.activity.retry if record is view.last_query else None
            if record is node.record and retry is node.retry and asks == node.asks:
                continue
            node.record, node.retry, node.asks = record, retry, asks
            if node.key in self.live and not node.running:
                ended.append(node)
                if isinstance(record, Call) and node.mark is Mark.ERROR:
                    self.failures[key] = node
            self._rows.changed(node)
        for node in ended:
            self._end(node)

    def _end(self, node: CallNode) -> None:
        self.live.pop(node.key, None)
        if not isinstance(node.record, Call):
            # Every call ends before its query does; where a torn journal lost the end, none may run for ever.
            self._cut([below for below in node.walk() if below.running])

    def end_all(self) -> None:
        """End all rows that have not ended."""
        self._cut(list(self.live.values()))

    def _cut(self, nodes: Sequence[CallNode]) -> None:
        """End rows without a result."""
        for node in nodes:
            self.live.pop(node.key, None)
            node.cut = UNFINISHED if self._is_past else NO_RESULT
            node.cut_after = None if self._is_past else max(0.0, self.now() - node.at)
            self._rows.changed(node)

    # -- what others read -------------------------------------------------------------------------

    def failure_from(self, path: tuple[int, ...], direction: int, *, only_matched: bool) -> CallNode | None:
        """Return the failure below a place of the tree, or above it for a negative direction, around the ends."""
        candidates = (node for node in self.failures.values() if node.matched or not only_matched)
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
        calls = [node for node in query.children if isinstance(node.record, Call)]
        return next((node for node in calls if node.at >= moment), calls[-1] if calls else query)

    def counterparts(self, longer: CallTree) -> Iterator[tuple[CallNode, CallNode]]:
        """Yield each row that a longer tree has, too, with the row there."""
        for key, node in self.by_key.items():
            if (other := longer.by_key.get(key)) is not None:
                yield node, other

    def adopt(self, longer: CallTree) -> None:
        """Continue with the rows of a longer tree, which is given up for that."""
        self.view, self.by_key, self.live = longer.view, longer.by_key, longer.live
        self.failures, self.count, self._events = longer.failures, longer.count, longer._events
        self._rows.roots = longer._rows.roots


def _texts(arguments: Mapping[str, Any]) -> str:
    """The texts among the arguments of a call."""
    return "\n".join(value[:_LONGEST_ARGUMENT] for value in arguments.values() if isinstance(value, str))
