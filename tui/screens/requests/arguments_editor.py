"""The form in which the person changes the arguments of a call before allowing it; in an editor it is JSON."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import TextArea

from ua_tui.core.agent.permissions.gate import changes_in
from ua_tui.core.errors import FormError
from ua_tui.tui.screens.requests.arguments import as_json, in_order, inner_calls, reveal, reveal_line
from ua_tui.tui.screens.requests.text_answer import WrittenAnswer
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.widgets.dialog import Choice, Foot, Words


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


class ArgumentsEditor(WrittenAnswer):
    """Shows each argument of a call in a field of its own; while it is shown it has the whole dialog."""

    def __init__(self, arguments: dict[str, Any], *, id: str) -> None:
        super().__init__(id=id)
        self._before = self._base = arguments
        self._fields = fields_of(arguments)

    def compose(self) -> ComposeResult:
        """Create the fields, what they mean, and the answers."""
        with VerticalScroll(id="arguments", can_focus=False):
            yield from map(_FieldRow, self._fields)
        yield Words(kind="meaning")
        yield Foot(
            Choice("Ctrl+S", "Allow", "allow_changed"),
            Choice("Ctrl+G", "Edit as JSON", "edit_outside"),
            Choice("Esc", "Back", "back"),
        )

    def begin(self) -> None:
        """Show the fields, and focus the first one."""
        super().begin()
        self.query(TextArea).first().focus()

    def show_entry(self, shown: bool) -> None:
        """Show it alone, or everything else."""
        super().show_entry(shown)
        self.screen.set_class(shown, "-changing")

    @property
    def changed(self) -> dict[str, Any] | None:
        """The changed arguments; None if a text is no value of its field, which is shown."""
        try:
            return with_texts(self._base, self._texts())
        except FormError:
            return None

    async def edit_outside(self, edit: Callable[[str, str], Awaitable[str | None]]) -> None:
        """Change all arguments with `edit`, which gets them as JSON and the name of a file; None changes nothing.

        A text that is no value of its field stays to be mended. What was written for a question that no longer waits
        is copied.
        """
        texts = self._texts()
        current = next((text for field, text in texts if not field.path), None)
        if current is None:
            if (changed := self.changed) is None:
                return
            current = as_json(changed)
        app = self.app
        if (text := await edit(current, "arguments.json")) is None:
            return
        if not self.is_attached:
            copy_text(app, text, "The question was answered or withdrawn: your arguments")
            return
        whole = ArgumentField((), "All arguments, as JSON", self._base)
        try:
            self._base = with_texts(self._base, [(whole, text)])
            self._fields, given = fields_of(self._base), None
        except FormError:
            self._fields, given = [whole], text
        rows = self.query_one("#arguments")
        await rows.remove_children()
        await rows.mount_all(_FieldRow(each, given) for each in self._fields)
        self.show_meaning()
        self.query(TextArea).first().focus()

    def _texts(self) -> list[tuple[ArgumentField, str]]:
        return [(row.field, row.text) for row in self.query(_FieldRow)]

    def meaning(self) -> tuple[str, bool]:
        """What was changed, and whether every text is a value of its field."""
        try:
            changes = changes_in(with_texts(self._base, self._texts()), self._before)
            names = [line.partition(":")[0].rpartition(".arguments.")[2] for line in changes]
        except FormError as error:
            return str(error), False
        return f"Changed: {', '.join(names)}. The model sees the change." if names else "Unchanged.", True


class _FieldRow(Horizontal):
    """The name of an argument, and its text."""

    def __init__(self, field: ArgumentField, text: str | None = None) -> None:
        self.field = field
        self._given = field.text if text is None else text
        super().__init__(classes="-long" if "\n" in self._given or not field.path else "")

    def compose(self) -> ComposeResult:
        """Create both."""
        yield Words(self.field.label, "label")
        area = TextArea(self._given, soft_wrap=True, show_line_numbers=False, highlight_cursor_line=False)
        area.cursor_blink = False
        yield area

    @property
    def text(self) -> str:
        """The text as it is now."""
        areas = self.query(TextArea)
        return areas.first().text if areas else self._given
