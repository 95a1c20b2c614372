"""Inputs and outputs as attributes of spans: without secrets, of a bounded size, or left out."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ua_tui.core.events.codec import from_json, to_json
from ua_tui.core.redaction.redactor import Redactor, preview
from ua_tui.core.telemetry.spans.conventions import Value, named
from ua_tui.core.text import clean

_SHORT, _LONG = 1_000, 8_000
_MOST_PARTS, _KEPT_TEXTS = 20, 40
_REDACTED_WHOLE = 4 * _LONG
_TEXT, _JSON = "text/plain", "application/json"

Part = Mapping[str, Any]
"""A part of a message, in the form of the GenAI conventions."""


class SpanContent(msgspec.Struct, eq=False):
    """Prepares texts for spans.

    Args:
        redactor: masks secrets in every text.
        included: whether inputs and outputs are part of the spans at all.
    """

    redactor: Redactor
    included: bool = True

    def short(self, text: str) -> str:
        """At most 1,000 characters of a text."""
        return clean(preview(text, _SHORT, self.redactor))

    def long(self, text: str) -> str:
        """At most 8,000 characters of a text."""
        return clean(preview(text, _LONG, self.redactor))

    def input(self, text: str) -> dict[str, Value]:
        """The attributes of a text that something was given."""
        shown, kind = self._typed(text)
        return named(input=shown, input_type=kind)

    def output(self, text: str) -> dict[str, Value]:
        """The attributes of a text that something returned."""
        shown, kind = self._typed(text)
        return named(output=shown, output_type=kind)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """The attributes of the arguments of a call."""
        if not self.included:
            return {}
        found = self.input(self._encoded(given))
        return found | named(arguments=found["input.value"])

    def result(self, text: str) -> dict[str, Value]:
        """The attributes of the result of a call."""
        found = self.output(text)
        return found | named(result=found.get("output.value"))

    def text_part(self, text: str) -> Part:
        """A part of a message that is text."""
        return {"type": "text", "content": self.long(text)}

    def call_part(self, tool_use_id: str, name: str, given: Mapping[str, Any]) -> Part:
        """A part of a message that is a call; too many arguments become a text."""
        encoded = self._encoded(given)
        arguments = from_json(encoded) if len(encoded) <= _SHORT else self.short(encoded)
        return {
            "type": "tool_call",
            "id": self.short(tool_use_id),
            "name": self.short(name),
            "arguments": arguments,
        }

    def result_part(self, tool_use_id: str, text: str) -> Part:
        """A part of a message that is the result of a call."""
        return {"type": "tool_call_response", "id": self.short(tool_use_id), "response": self.short(text)}

    def messages_read(self, parts: Sequence[Part]) -> dict[str, Value]:
        """The attributes of what a model read: texts of the user, or results of calls."""
        if not parts or not self.included:
            return {}
        kept = parts[-_MOST_PARTS:]
        encoded = to_json(
            [{"role": "user" if "content" in part else "tool", "parts": [part]} for part in kept]
        )
        shown, kind = _shown(kept, encoded)
        return named(input=shown, input_type=kind, input_messages=encoded)

    def message_written(self, parts: Sequence[Part], stop_reason: str) -> dict[str, Value]:
        """The attributes of the message that a model wrote."""
        if not parts or not self.included:
            return {}
        kept = list(parts[:_MOST_PARTS])
        message = {"role": "assistant", "parts": kept, "finish_reason": self.short(stop_reason or "unknown")}
        encoded = to_json([message])
        shown, kind = _shown(kept, encoded)
        return named(output=shown, output_type=kind, output_messages=encoded)

    def _encoded(self, given: Mapping[str, Any]) -> str:
        """Arguments as JSON; of a large one only the pieces that remain are redacted, by whoever cuts it."""
        encoded = to_json(given)
        if len(encoded) > _REDACTED_WHOLE:
            return encoded
        return clean(to_json(self.redactor.redact_value(dict(given))))

    def _typed(self, text: str) -> tuple[str | None, str | None]:
        if not text or not self.included:
            return None, None
        shown = self.long(text)
        is_json = shown[:1] in ("{", "[") and isinstance(from_json(shown), dict | list)
        return shown, _JSON if is_json else _TEXT


class SpanConversation(msgspec.Struct, eq=False):
    """The queries and answers of a session, as the input and output of its span, which a viewer shows as the whole."""

    content: SpanContent
    _first_query: str = ""
    # The answers, and the queries after the first.
    _rest: deque[str] = msgspec.field(default_factory=lambda: deque(maxlen=_KEPT_TEXTS))

    def on_query(self, text: str) -> None:
        """Add a query."""
        if self._first_query:
            self._rest.append(f"> {self.content.short(text)}")
        else:
            self._first_query = self.content.long(text)

    def on_answer(self, text: str) -> None:
        """Add an answer, unless it is empty."""
        if text:
            self._rest.append(self.content.long(text))

    @property
    def attributes(self) -> dict[str, Value]:
        """The attributes of the session's span."""
        return self.content.input(self._first_query) | self.content.output("\n\n".join(self._rest))


def _shown(parts: Sequence[Part], encoded: str) -> tuple[str, str]:
    """What a viewer shows of a message: its text if it is nothing else."""
    return (parts[0]["content"], _TEXT) if len(parts) == 1 and "content" in parts[0] else (encoded, _JSON)
