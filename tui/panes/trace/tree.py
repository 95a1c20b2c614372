"""The tree of the trace: every query, call and message of a session's view has a row in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import (
    ApiRetry,
    Event,
    MessageFinished,
    PermissionAnswered,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    TextDelta,
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


class CallTree:
    """Puts every call under the query and the sub-agent that made it.

    Args:
        rows: shows the tree.
        clock: the time of day, in seconds.

    Attributes:
        by_key: all rows; a call's key is its `tool_use_id`.
        live: those that have not ended, in the order they began.
        failures: the calls that failed, in the order they ended.
        count: how many calls there are.
        clock: the time of day, in seconds.
    """

    def __init__(self, rows: TreeRows, clock: Callable[[], float] = time.time) -> None:
        self.by_key: dict[str, CallNode] = {}
        self.live: dict[str, CallNode] = {}
        self.failures: dict[str, CallNode] = {}
        self.count = 0
        self._rows = rows
        self.clock = clock
        self._whole: dict[str, FullCall] = {}
        self._retry: ApiRetry | None = None
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
        return 0.0 if self._is_over else self.clock()

    def load(self, tool_use_id: str) -> FullCall | None:
        """Return all of a call, from memory or from the journal; None if it is not in the tree.

        Raises:
            JournalError: the journal is not as it was.
        """
        record, call = self.record(tool_use_id), self._whole.get(tool_use_id)
        if record is None:
            return None
        if call is None:
            events = [*map(self._journal.event_at, record.places)] if self._journal is not None else []
            if not events or not isinstance(events[0], ToolCallStarted):
                raise JournalError("The journal of this session was changed: this call is gone.")
            call = FullCall(events[0])
            for event in events[1:]:
                call.add(event)
        if call.finished is None and self._is_over:
            call.cancel()
        return call

    def record(self, tool_use_id: str) -> Call | None:
        """Return what the session's view says about a call; None if it is not in the tree."""
        node = self.by_key.get(tool_use_id)
        return node.record if node is not None and isinstance(node.record, Call) else None

    # -- events -----------------------------------------------------------------------------------

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Add rows for what begins, and end those that the session ends."""
        match event:
            case TextDelta() | MessageFinished():
                if event.parent_tool_use_id is not None:
                    self._add_text(event, view)
            case QueryReceived():
                self._add_query(event, view)
            case ToolCallStarted():
                self._add_call(event, view)
            case QueryFinished():
                # Its id may be used again before the next update.
                self.update(view)
                self._end_unknown(event)
            case SessionFinished() | SessionStarted():
                self.update(view)
                self.end_all()
            case PermissionAnswered(tool_use_id=str(call), input=dict(arguments)) if call in self.by_key:
                self.by_key[call].arguments = _texts(arguments)
            case _:
                pass
        if (whole := self._whole.get(getattr(event, "tool_use_id", None) or "")) is not None:
            whole.add(event)

    def _end_unknown(self, event: QueryFinished) -> None:
        """End the row of a query whose beginning is not known."""
        node = self.by_key.get(f"query/{event.query_id}")
        if node is not None and isinstance(node.record, Query) and node.record.number == 0:
            node.record = replace(node.record, end=event)
            self._end(node)
            self._rows.changed(node)

    def _add_query(self, event: QueryReceived | ToolCallStarted, view: SessionView) -> CallNode:
        newest = f"query/{event.query_id}"
        node = self.by_key.get(newest)
        if node is not None and node.running:
            # Its calls came before it, or it comes twice.
            return node
        # An id that was used before: what comes from here on belongs to the new row.
        key = newest if node is None else f"again/{len(self._rows.roots)}/{newest}"
        unknown = Query(id=event.query_id, at=event.at, number=0, offset=0.0, text="")
        node = CallNode(key, view.query(event.query_id) or unknown, event.at.timestamp())
        self.by_key[newest] = self.by_key[key] = self.live[key] = node
        self._rows.add_root(node)
        return node

    def _add_call(self, event: ToolCallStarted, view: SessionView) -> None:
        key = event.tool_use_id
        if key in self.by_key:
            return
        parent = self.by_key.get(event.parent_tool_use_id or "")
        if parent is None or parent.depth >= DEEPEST:
            parent = self.by_key.get(f"query/{event.query_id}") or self._add_query(event, view)
        call = view.call(key)
        assert call is not None
        node = CallNode(key, call, event.at.timestamp(), _texts(event.input))
        if not isinstance(event.place, int):
            self._whole[key] = FullCall(event)
        self.by_key[key] = self.live[key] = node
        self.count += 1
        self._rows.add_below(parent, node)

    def _add_text(self, event: TextDelta | MessageFinished, view: SessionView) -> None:
        """Put a message of a sub-agent under it, between its calls."""
        agent, key = self.by_key.get(event.parent_tool_use_id or ""), f"message/{event.message_id}"
        message = view.streaming.get(event.message_id) or view.entries.get(("", f"m{event.seq}"))
        if agent is None or not event.text.strip() or not isinstance(message, Message):
            return
        if (node := self.by_key.get(key)) is not None:
            node.record = message
            self._rows.changed(node)
        else:
            node = self.by_key[key] = CallNode(key, message, event.at.timestamp(), open=False)
            self._rows.add_below(agent, node)

    def update(self, view: SessionView) -> None:
        """Bring rows in line with the view."""
        retry, changed = view.activity.retry, view.changed or {}
        if retry is self._retry and not changed:
            return
        newest, waiting = view.last_query, view.activity.waiting
        self._retry, view.changed = retry, {}
        if newest is not None:
            # Whether its request is repeated is no part of it.
            changed["q", newest.id] = None
        ended: list[CallNode] = []
        for kind, id_ in changed:
            entry, key = view.entries[kind, id_], id_ if kind == "t" else f"query/{id_}"
            if (node := self.by_key.get(key)) is None or not isinstance(entry, Query | Call):
                continue
            node.record, node.asks = entry, key in waiting
            node.retry = retry if entry is newest else None
            if node.key in self.live and not node.running:
                ended.append(node)
                if isinstance(entry, Call) and node.mark is Mark.ERROR:
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

    def adopt(self, longer: CallTree) -> None:
        """Continue with the rows of a longer tree, which is given up for that."""
        self.by_key, self.live, self._whole = longer.by_key, longer.live, longer._whole
        self.failures, self.count = longer.failures, longer.count


def _texts(arguments: Mapping[str, Any]) -> str:
    """The texts among the arguments of a call."""
    return "\n".join(value[:1_000] for value in arguments.values() if isinstance(value, str))
