"""The arguments of a call as fields: each value as a text to edit, and what an edited text means."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ua_tui.core.errors import FormError
from ua_tui.tui.screens.requests.arguments import as_json, in_order, inner_calls, reveal, reveal_line


@dataclass(frozen=True)
class ArgumentField:
    """One value; `path` leads to it, the empty path to all arguments.

    A text, a number, yes or no, and a list of lines are edited as they are; all else, also a text with invisible
    characters, as JSON.
    """

    path: tuple[str | int, ...]
    label: str
    value: Any

    @property
    def text(self) -> str:
        """The value as a text to edit."""
        if isinstance(self.value, str) and _is_plain(self.value):
            return self.value
        return "\n".join(self.value) if _is_lines(self.value) else as_json(self.value)

    def parse(self, text: str) -> Any:
        """Return the value of an edited text; an unchanged text is the unchanged value.

        Raises:
            FormError: it is not a value of this field; the message says why.
        """
        if text == self.text:
            return self.value
        if isinstance(self.value, str) and _is_plain(self.value):
            return text
        if _is_lines(self.value):
            return [line for line in text.split("\n") if line.strip()]
        value = _json(text)
        if isinstance(self.value, bool) and not isinstance(value, bool):
            raise FormError("enter true or false.")
        if _is_number(self.value) and not _is_number(value):
            raise FormError("enter a number.")
        if not self.path and not isinstance(value, dict):
            raise FormError("the arguments must be a JSON object, in braces.")
        return value


def fields_of(arguments: dict[str, Any]) -> list[ArgumentField]:
    """Return the fields of a call, or of the calls inside it; all arguments are one if there are none or too many.

    A very long value has none and stays as it is, unless all arguments are changed as JSON.
    """
    inner = inner_calls(arguments)
    parts: list[tuple[tuple[str | int, ...], str, dict[str, Any]]] = [
        (
            ("tools", at, "arguments"),
            f"{reveal(tool['tool_slug'])} " if len(inner) > 1 else "",
            tool["arguments"],
        )
        for at, tool in inner
    ]
    found = [
        ArgumentField((*path, key), prefix + reveal_line(key), value)
        for path, prefix, values in parts or [((), "", arguments)]
        for key, value in in_order(values).items()
    ]
    # A text area takes seconds for more.
    found = [field for field in found if len(field.text) <= 100_000]
    return found if 0 < len(found) <= 40 else [ArgumentField((), "All arguments, as JSON", arguments)]


def with_texts(arguments: dict[str, Any], texts: Iterable[tuple[ArgumentField, str]]) -> dict[str, Any]:
    """Return the arguments with the values of edited texts.

    Raises:
        FormError: a text is not a value of its field; the message names it.
    """
    changed: Any = copy.deepcopy(arguments)
    for field, text in texts:
        try:
            value = field.parse(text)
        except FormError as error:
            raise FormError(f"{field.label}: {error}") from error
        if not field.path:
            return dict(value)
        target = changed
        for step in field.path[:-1]:
            target = target[step]
        target[field.path[-1]] = value
    return dict(changed)


def _is_plain(text: str) -> bool:
    return reveal(text) == text


def _is_lines(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) and each.strip() and "\n" not in each and _is_plain(each) for each in value
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FormError(
            f"not valid JSON in line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise FormError(f"not valid JSON: {error}.") from error
