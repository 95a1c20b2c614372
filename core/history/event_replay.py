"""Prepares the events of a past session for display: streamed text once, unique query ids, its present folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    TextDelta,
    ThinkingDelta,
    ToolCallStarted,
)


class EventReplay:
    """Leaves out streamed text that a finished message repeats, and sets the session's present folder.

    If an earlier query has the same id, as in a session that was resumed after its end, a query gets a new one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._streaming: dict[str | None, tuple[TextDelta, list[str]]] = {}
        self._thinking: set[str] = set()
        self._queries: set[str] = set()
        self._again: Counter[str] = Counter()
        self._renamed: dict[str | None, str] = {}

    def copy(self) -> EventReplay:
        """Return one that continues from here independently; streamed text that is held back is not copied."""
        other = EventReplay(Path(self._folder))
        other._queries, other._again, other._renamed = {*self._queries}, self._again.copy(), {**self._renamed}
        return other

    def add(self, events: Iterable[Event]) -> Iterator[Event]:
        """Add events; gives those to show, in order."""
        for event in self.live(events):
            match event:
                case TextDelta():
                    yield from self._hold(event)
                    continue
                case ThinkingDelta():
                    self._thinking.add(event.message_id)
                case MessageFinished():
                    streaming = self._streaming.get(event.parent_tool_use_id)
                    if streaming is not None and streaming[0].message_id == event.message_id:
                        del self._streaming[event.parent_tool_use_id]
                    self._thinking.discard(event.message_id)
                case SubagentFinished(tool_use_id=call):
                    yield from self._release(call)
                case QueryFinished() | SessionFinished():
                    yield from self.rest()
            yield event

    def live(self, events: Iterable[Event]) -> Iterator[Event]:
        """Give live events, with streamed text, after those that were added."""
        return map(self._prepared, events)

    def _prepared(self, event: Event) -> Event:
        if isinstance(event, SessionStarted):
            return msgspec.structs.replace(event, workspace=self._folder)
        if isinstance(event, QueryReceived):
            name = query = event.query_id
            while name in self._queries:
                self._again[query] += 1
                name = f"{query} ({self._again[query]})"
            self._queries.add(name)
            if name != query:
                self._renamed[query] = name
        elif isinstance(event, ToolCallStarted):
            self._queries.add(event.query_id)
        if self._renamed and (named := self._renamed.get(getattr(event, "query_id", None))) is not None:
            return msgspec.structs.replace(event, query_id=named)
        return event

    def rest(self) -> Iterator[Event]:
        """Give the streamed text of messages that never finished."""
        for parent in list(self._streaming):
            yield from self._release(parent)
        self._thinking.clear()

    def _hold(self, event: TextDelta) -> Iterator[Event]:
        parent = event.parent_tool_use_id
        streaming = self._streaming.get(parent)
        if streaming is not None and streaming[0].message_id != event.message_id:
            yield from self._release(parent)
            streaming = None
        if streaming is not None:
            streaming[1].append(event.text)
            return
        self._streaming[parent] = (event, [event.text])
        if event.message_id in self._thinking:
            # The time of the first word shows how long the model thought before it.
            yield msgspec.structs.replace(event, text="")

    def _release(self, parent: str | None) -> Iterator[Event]:
        if (streaming := self._streaming.pop(parent, None)) is not None:
            yield msgspec.structs.replace(streaming[0], text="".join(streaming[1]))
