"""Reports a session line by line: nothing is overwritten, and related lines are written together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from ua_tui.core.events.types import (
    KNOWLEDGE,
    REPORT_CHECK,
    ArtifactSaved,
    Event,
    MessageFinished,
    ObserverFinished,
    ObserverStarted,
    QueryFinished,
    QueryReceived,
    ReportChecked,
)
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.render.events import EventLines

OBSERVER_START_SECONDS = 0.25
"""Seconds within which an observer starts on a result, if one does; a busy machine needs more than a tenth."""
OBSERVER_END_SECONDS = 1.0
"""Seconds for which the end of a call is delayed, until the observers have read its result."""

CallLater = Callable[[float, Callable[[], None]], object]


class _DelayedLine(msgspec.Struct):
    line: str
    saved: list[str] = []
    observers: int = 0
    items: int = 0


class Narrator(msgspec.Struct, eq=False):
    """A subscriber that turns events into lines.

    The end of a successful call is delayed for a moment, so that its line has the number of items found, and the
    saved files follow it.

    Args:
        write: writes a line.
        later: calls a function after some seconds, as `loop.call_later` does.
        read_aloud: write answers without Markdown syntax.

    Attributes:
        typed: the query that the terminal shows already because a person typed it there.
    """

    write: Callable[[str], None]
    later: CallLater
    read_aloud: bool = False
    typed: str | None = None
    _lines: EventLines = msgspec.field(default_factory=lambda: EventLines(marks=False))
    _delayed: dict[str, _DelayedLine] = {}
    _last_answer: str = ""

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        match event:
            case QueryReceived() if event.text == self.typed:
                self.typed = None
                self._lines.of(event)
            case MessageFinished(parent_tool_use_id=None) if event.text.strip():
                self._write_answer(event.text, incomplete=event.incomplete)
            case QueryFinished():
                self.flush()
                self._write_line(self._lines.of(event))
                self._end_query(event)
            case ObserverStarted() if event.tool_use_id in self._delayed:
                self._delayed[event.tool_use_id].observers += 1
            case ArtifactSaved(tool_use_id=str(call)) | ReportChecked(tool_use_id=str(call)) if (
                call in self._delayed
            ):
                self._delayed[call].saved.append(self._lines.of(event) or "")
            case ObserverFinished() if event.tool_use_id in self._delayed:
                self._finish_observer(event)
            case _:
                line = self._lines.of(event)
                ended = self._lines.view.ended_by(event)
                if line and ended is not None and ended.status == "success":
                    self._delayed[ended.id] = _DelayedLine(line)
                    self.later(OBSERVER_START_SECONDS, partial(self._release_unobserved, ended.id))
                    self.later(OBSERVER_END_SECONDS, partial(self._release, ended.id))
                else:
                    self._write_line(line)

    def flush(self) -> None:
        """Write the lines that are still delayed."""
        for call in list(self._delayed):
            self._release(call)

    def _write_line(self, line: str | None) -> None:
        if line:
            self.write(line.removesuffix(":"))

    def _write_answer(self, text: str, *, incomplete: bool = False) -> None:
        self._last_answer = text.strip()
        speaker = "Agent (incomplete): " if incomplete else "Agent: "
        if self.read_aloud:
            # Only this needs the Markdown parser.
            from ua_tui.tui.plain.plain_markdown import unmarked

            self.write(speaker + unmarked(self._last_answer))
        else:
            self.write(speaker + clean(self._last_answer))

    def _end_query(self, event: QueryFinished) -> None:
        if event.text.strip() and event.text.strip() != self._last_answer:
            self._write_answer(event.text)
        self._last_answer = ""
        end = self._lines.end_of_query(event)
        self.write(clean_line(end.sentence, 500))

    def _finish_observer(self, event: ObserverFinished) -> None:
        delayed = self._delayed[event.tool_use_id]
        delayed.observers -= 1
        if event.observer not in {KNOWLEDGE, REPORT_CHECK}:
            delayed.items = max(delayed.items, event.items)
        failure = self._lines.of(event)
        if failure:
            delayed.saved.append(failure)
        if delayed.observers <= 0:
            self._release(event.tool_use_id)

    def _release_unobserved(self, call: str) -> None:
        if call in self._delayed and not self._delayed[call].observers:
            self._release(call)

    def _release(self, call: str) -> None:
        delayed = self._delayed.pop(call, None)
        if delayed is None:
            return
        items = f", {quantity(delayed.items, 'item')}" if delayed.items else ""
        self.write(delayed.line + items)
        for line in delayed.saved:
            self._write_line(line)
