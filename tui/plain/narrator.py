"""Reports a session line by line: nothing is overwritten."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ua_tui.core.events.types import Event, MessageFinished, QueryFinished, QueryReceived
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.render.events import EventLines


class Narrator(msgspec.Struct, eq=False):
    """A subscriber that turns events into lines.

    Args:
        write: writes a line.
        read_aloud: write answers without Markdown syntax.

    Attributes:
        typed: the query that the terminal shows already because a person typed it there.
    """

    write: Callable[[str], None]
    read_aloud: bool = False
    typed: str | None = None
    _lines: EventLines = msgspec.field(default_factory=lambda: EventLines(marks=False))
    _last_answer: str = ""

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        line = self._lines.of(event)
        match event:
            case QueryReceived() if event.text == self.typed:
                self.typed = None
            case MessageFinished(parent_tool_use_id=None) if event.text.strip():
                self._write_answer(event.text, incomplete=event.incomplete)
            case _ if line:
                self.write(line.removesuffix(":"))
        if isinstance(event, QueryFinished):
            self._end_query(event)

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
