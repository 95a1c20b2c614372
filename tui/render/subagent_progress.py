"""The progress of a sub-agent, where known from events."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ua_tui.core.events.tool_names import main_argument, tool_label
from ua_tui.core.events.types import (
    Event,
    MessageFinished,
    SubagentFinished,
    SubagentProgress,
    ToolCallStarted,
)
from ua_tui.core.text import clean_line

_MAX_TEXT = 160


@dataclass(frozen=True, slots=True)
class Progress:
    """The tokens that a sub-agent used, and its last activity or message, clean and on one line."""

    tokens: int = 0
    activity: str = ""

    def after(self, event: Event, call: str) -> Progress:
        """Return the progress after an event; the same if the event is not about the sub-agent that `call` started."""
        match event:
            case SubagentProgress(tool_use_id=id_) | SubagentFinished(tool_use_id=id_) if id_ == call:
                used = event.usage.total if event.usage is not None else 0
                activity = (
                    clean_line(event.description, _MAX_TEXT) if isinstance(event, SubagentProgress) else ""
                )
                return Progress(used or self.tokens, activity or self.activity)
            case MessageFinished(parent_tool_use_id=id_) if id_ == call and event.text.strip():
                first = event.text.strip().partition("\n")[0]
                return replace(self, activity=clean_line(first, _MAX_TEXT))
            case ToolCallStarted(parent_tool_use_id=id_) if id_ == call:
                label, argument = tool_label(event.name, event.input), main_argument(event.name, event.input)
                return replace(self, activity=clean_line(f"{label}  {argument}", _MAX_TEXT))
            case _:
                return self
