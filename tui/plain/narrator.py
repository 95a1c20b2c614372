"""What happens, told line by line: nothing is written over, and what belongs together comes together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    ObserverFinished,
    ObserverStarted,
    QueryFinished,
    QueryReceived,
    ToolCallFinished,
)
from core.text import clean, clean_line
from tui.plain.wording import WORDS
from tui.render.events import EventLines

__all__ = ["Telling"]

GLANCE = 0.05
"""Seconds within which an observer takes up a result, if one does."""
PATIENCE = 1.0
"""Seconds that the end of a call is held back for what the observers find in its result."""

Later = Callable[[float, Callable[[], None]], object]


@dataclass
class _Held:
    line: str
    saved: list[str] = field(default_factory=list)
    observers: int = 0
    items: int = 0


class Telling:
    """A subscriber that turns events into lines.

    The end of a successful call is held back for a moment, so that the count of what was found stands in its
    line, and what was saved from it below.

    Args:
        write: takes each line.
        later: calls a function after some seconds, as `loop.call_later` does.
        listened_to: answers are told without the signs of Markdown.
    """

    def __init__(self, write: Callable[[str], None], later: Later, *, listened_to: bool = False) -> None:
        self._listened_to = listened_to
        self._write = write
        self._later = later
        self._lines = EventLines(WORDS)
        self._held: dict[str, _Held] = {}
        self._said = ""
        self.typed: str | None = None
        """The query that stands on the terminal already, as somebody typed it there."""

    def __call__(self, event: Event) -> None:
        """Take one event from the bus."""
        match event:
            case QueryReceived() if event.text == self.typed:
                self.typed = None
                self._lines.of(event)
            case MessageFinished(parent_tool_use_id=None) if event.text.strip():
                self._say(event.text)
            case QueryFinished():
                self.flush()
                self._end(event)
            case ToolCallFinished(status="success"):
                self._hold(event)
            case ObserverStarted() if event.tool_use_id in self._held:
                self._held[event.tool_use_id].observers += 1
            case ArtifactSaved(tool_use_id=str(call)) if call in self._held:
                self._held[call].saved.append(self._lines.of(event) or "")
            case ObserverFinished() if event.tool_use_id in self._held:
                self._observed(event)
            case _:
                self._tell(self._lines.of(event))

    def flush(self) -> None:
        """Tell what is held back."""
        for call in list(self._held):
            self._release(call)

    def _tell(self, line: str | None) -> None:
        if line:
            self._write(line.removesuffix(":"))

    def _say(self, text: str) -> None:
        self._said = text.strip()
        if self._listened_to:
            # What reads Markdown is needed by nobody else.
            from tui.plain.plain_markdown import unmarked

            self._write("Agent: " + unmarked(self._said))
        else:
            self._write("Agent: " + clean(self._said))

    def _end(self, event: QueryFinished) -> None:
        if event.text.strip() and event.text.strip() != self._said:
            self._say(event.text)
        self._said = ""
        took = self._lines.took(event.duration_ms)
        match event.status:
            case "success":
                self._write(f"Done in {took}")
            case "interrupted":
                self._write(f"Stopped after {took}")
            case "error":
                self._write(
                    f"Failed after {took}: {clean_line(event.error or 'the agent gave no reason', 500)}"
                )

    def _hold(self, event: ToolCallFinished) -> None:
        line = self._lines.of(event)
        if line:
            self._held[event.tool_use_id] = _Held(line)
            self._later(GLANCE, lambda: self._release_unobserved(event.tool_use_id))
            self._later(PATIENCE, lambda: self._release(event.tool_use_id))

    def _observed(self, event: ObserverFinished) -> None:
        held = self._held[event.tool_use_id]
        held.observers -= 1
        held.items = max(held.items, event.items)
        failure = self._lines.of(event)
        if failure:
            held.saved.append(failure)
        if held.observers <= 0:
            self._release(event.tool_use_id)

    def _release_unobserved(self, call: str) -> None:
        if call in self._held and not self._held[call].observers:
            self._release(call)

    def _release(self, call: str) -> None:
        held = self._held.pop(call, None)
        if held is None:
            return
        found = f", {held.items} item{'' if held.items == 1 else 's'}" if held.items else ""
        self._write(held.line + found)
        for line in held.saved:
            self._tell(line)
