"""A field in which the person changes the arguments of a call before allowing it, as JSON, here or in an editor."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from core.agent.permissions.changed_input import changes_in
from tui.screens.requests.arguments import as_json
from tui.widgets.dialog import Choice, Foot

__all__ = ["ArgumentsEditor"]


class ArgumentsEditor(Vertical):
    """Shows the arguments of a call as JSON to be changed; hidden until `begin` is called.

    While it is shown, the other answers of the dialog, `#answers`, and the arguments as they were are hidden.
    """

    def __init__(self, arguments: dict[str, Any], *, id: str) -> None:
        super().__init__(id=id)
        self._arguments = arguments
        self.display = False

    def compose(self) -> ComposeResult:
        """Create the field, what its text means, and the answers."""
        yield Static(Content("The arguments of the call, as JSON:"), classes="title")
        yield TextArea(
            as_json(self._arguments),
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
        )
        yield Static(classes="meaning")
        yield Foot(
            Choice("Ctrl+S", "Allow", "allow_changed"),
            Choice("Ctrl+G", "Editor", "edit_outside"),
            Choice("Esc", "Back", "back"),
        )

    def on_mount(self) -> None:
        """Say that nothing is changed."""
        self.query_one(TextArea).cursor_blink = False
        self._show_meaning()

    def begin(self) -> None:
        """Show the field, and focus it."""
        self._show(True)
        self.query_one(TextArea).focus()

    def end(self) -> bool:
        """Hide the field, whose text is kept; returns whether it was shown."""
        shown = bool(self.display)
        if shown:
            self._show(False)
        return shown

    @property
    def changed(self) -> dict[str, Any] | None:
        """The changed arguments; None if they are not valid, which is shown."""
        value, _ = self._parsed()
        return value

    def edit_outside(self, edit: Callable[[str, str], str | None]) -> None:
        """Change the text with `edit`, which gets it and the name of its file; None leaves it unchanged."""
        field = self.query_one(TextArea)
        if (text := edit(field.text, "arguments.json")) is not None:
            field.load_text(text)

    @on(TextArea.Changed)
    def _handle_change(self, event: TextArea.Changed) -> None:
        # The application need not know: it counts what is typed into the prompt.
        event.stop()
        self._show_meaning()

    def _parsed(self) -> tuple[dict[str, Any] | None, str]:
        try:
            value = json.loads(self.query_one(TextArea).text)
        except ValueError as error:
            if isinstance(error, json.JSONDecodeError):
                return None, f"Not valid JSON in line {error.lineno}, column {error.colno}: {error.msg}."
            return None, f"Not valid JSON: {error}."
        except RecursionError:
            return None, "Not valid JSON: it is nested too deeply."
        if not isinstance(value, dict):
            return None, "The arguments must be a JSON object, in braces."
        names = [line.partition(":")[0] for line in changes_in(value, self._arguments)]
        return (
            value,
            f"Changed: {', '.join(names)}. The model is told." if names else "Nothing is changed yet.",
        )

    def _show_meaning(self) -> None:
        value, meaning = self._parsed()
        shown = self.query_one(".meaning", Static)
        shown.update(Content(meaning))
        shown.set_class(value is None, "-wrong")

    def _show(self, shown: bool) -> None:
        self.display = shown
        for selector in ("#answers", "ArgumentsView"):
            self.screen.query_one(selector).display = not shown
