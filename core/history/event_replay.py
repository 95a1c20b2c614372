"""The events of a past session as they are shown: streamed text once, queries apart, its folder where it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from core.events.types import (
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
)

__all__ = ["PastEvents"]


class PastEvents:
    """Leaves out streamed text that a finished message repeats, and puts the session where its folder is now.

    A query whose id an earlier one had, as when a session went on after its end, gets one of its own.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._held: dict[str | None, tuple[TextDelta, list[str]]] = {}
        self._thinking: set[str] = set()
        self._queries: set[str] = set()
        self._again: Counter[str] = Counter()
        self._renamed: dict[str | None, str] = {}

    def add(self, events: Iterable[Event]) -> Iterator[Event]:
        """Give the events that are to be shown, in order."""
        for event in map(self._named, events):
            match event:
                case TextDelta():
                    yield from self._hold(event)
                    continue
                case SessionStarted():
                    yield msgspec.structs.replace(event, workspace=self._folder)
                    continue
                case ThinkingDelta():
                    self._thinking.add(event.message_id)
                case MessageFinished():
                    held = self._held.get(event.parent_tool_use_id)
                    if held is not None and held[0].message_id == event.message_id:
                        del self._held[event.parent_tool_use_id]
                    self._thinking.discard(event.message_id)
                case ToolCallFinished(tool_use_id=call) | SubagentFinished(tool_use_id=call):
                    yield from self._release(call)
                case QueryFinished() | SessionFinished():
                    yield from self.rest()
                case _:
                    pass
            yield event

    def live(self, events: Iterable[Event]) -> Iterator[Event]:
        """Give events as they happen, streamed text and all, behind those that were taken."""
        for event in map(self._named, events):
            if isinstance(event, SessionStarted):
                yield msgspec.structs.replace(event, workspace=self._folder)
            else:
                yield event

    def _named(self, event: Event) -> Event:
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
        """Give what was streamed and never finished."""
        for parent in list(self._held):
            yield from self._release(parent)
        self._thinking.clear()

    def _hold(self, event: TextDelta) -> Iterator[Event]:
        parent = event.parent_tool_use_id
        held = self._held.get(parent)
        if held is not None and held[0].message_id != event.message_id:
            yield from self._release(parent)
            held = None
        if held is not None:
            held[1].append(event.text)
            return
        self._held[parent] = (event, [event.text])
        if event.message_id in self._thinking:
            # The first word tells how long was thought before it.
            yield msgspec.structs.replace(event, text="")

    def _release(self, parent: str | None) -> Iterator[Event]:
        if (held := self._held.pop(parent, None)) is not None:
            yield msgspec.structs.replace(held[0], text="".join(held[1]))
