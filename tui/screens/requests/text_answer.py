"""A line to type in at the foot of a dialog, for an answer that needs text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from ua_tui.tui.widgets.dialog import Choice, Foot


class TextAnswer(Vertical):
    """Asks for one line and explains below it what the text means; hidden until `begin` is called.

    While it is shown, the other answers of the dialog, `#answers`, are hidden. Its Back runs the dialog's `back`.

    Args:
        title: what to type.
        submit: what Enter does.
        explain: returns what a text means, and whether it is accepted.
        text: the initial text.
        most: the maximum number of characters; 0 for no limit.
        replaceable: whether the initial text is selected, so that typing replaces it.
        restrict: a regular expression of what can be typed; None for anything.
    """

    @dataclass
    class Submitted(Message):
        """An accepted text was submitted."""

        text_answer: TextAnswer
        text: str

    def __init__(
        self,
        title: str,
        submit: str,
        explain: Callable[[str], tuple[str, bool]],
        *,
        text: str = "",
        most: int = 0,
        replaceable: bool = False,
        restrict: str | None = None,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self._title = title
        self._submit = submit
        self._explain = explain
        self._text = text
        self._most = most
        self._replaceable = replaceable
        self._restrict = restrict
        self.display = False

    def compose(self) -> ComposeResult:
        """Create the title, the line, its explanation and the answers."""
        yield Static(Content(self._title), classes="title")
        yield Input(
            self._text,
            max_length=self._most,
            restrict=self._restrict,
            compact=True,
            select_on_focus=False,
        )
        yield Static(classes="meaning")
        yield Foot(Choice("Enter", self._submit, "submit"), Choice("Esc", "Back", "back"))

    def on_mount(self) -> None:
        """Explain the initial text."""
        self._show_meaning()

    @property
    def draft(self) -> str:
        """The text that a person is typing; empty while the line is hidden or has its initial text."""
        text = self.query_one(Input).value
        return text if self.display and text != self._text else ""

    def begin(self) -> None:
        """Show the line instead of the other answers, and focus it."""
        self._show(True)
        line = self.query_one(Input)
        line.focus()
        if self._replaceable:
            line.action_select_all()

    def clear(self) -> None:
        """Remove the text."""
        self.query_one(Input).value = ""

    def end(self) -> bool:
        """Hide the line and show the other answers; its text is kept. Returns whether it was shown."""
        shown = bool(self.display)
        if shown:
            self._show(False)
        return shown

    def _show(self, shown: bool) -> None:
        self.display = shown
        self.screen.query_one("#answers").display = not shown

    @on(Input.Changed)
    def _handle_change(self, event: Input.Changed) -> None:
        event.stop()
        self._show_meaning()

    @on(Input.Submitted)
    @on(Button.Pressed, "#submit")
    def _handle_end(self, event: Message) -> None:
        event.stop()
        text = self.query_one(Input).value.strip()
        if self._explain(text)[1]:
            self.post_message(self.Submitted(self, text))

    def _show_meaning(self) -> None:
        meaning, accepted = self._explain(self.query_one(Input).value.strip())
        shown = self.query_one(".meaning", Static)
        shown.update(Content(meaning))
        shown.set_class(not accepted, "-wrong")


def characters_left(text: str, most: int) -> str:
    """Say how many characters are left for a text; empty for one that is far from the limit."""
    return f"{most - len(text):,} characters left." if len(text) > most // 2 else ""
