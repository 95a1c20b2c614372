"""Dialogs with places to write in, for an answer that needs text: a line at the foot, or more."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Button, Input, TextArea

from ua_tui.tui.widgets.dialog import Choice, Dialog, Foot, Words

Answer = TypeVar("Answer")


class WrittenAnswer(Vertical):
    """A place to write in, with what the text means below it, `.meaning`; hidden until `begin` is called.

    While it is shown, the answers of the dialog, `#answers`, are hidden. Its Back runs the dialog's `back`.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.display = False

    def on_mount(self) -> None:
        """Explain the initial text."""
        self.show_meaning()

    def begin(self) -> None:
        """Show it instead of the other answers, and focus it."""
        self.show_entry(True)

    def end(self) -> bool:
        """Hide it and show the other answers; its text is kept. Returns whether it was shown."""
        shown = bool(self.display)
        if shown:
            self.show_entry(False)
        return shown

    def show_entry(self, shown: bool) -> None:
        """Show it instead of the other answers, or these."""
        self.display = shown
        self.screen.query_one("#answers").display = not shown

    def meaning(self) -> tuple[str, bool]:
        """What the text means, and whether it is accepted; any text is unless an entry says otherwise."""
        return "", True

    @on(Input.Changed)
    @on(TextArea.Changed)
    def show_meaning(self, event: Message | None = None) -> None:
        """Say what the text means; a change is nothing to the application, which counts what is typed elsewhere."""
        if event is not None:
            event.stop()
        meaning, accepted = self.meaning()
        shown = self.query_one(".meaning", Words)
        shown.update(meaning)
        shown.set_class(not accepted, "-wrong")


class WritingDialog(Dialog[Answer]):
    """A dialog with places to write in; Back closes the one that is open, else it leaves the dialog.

    `RETURNS_TO` is what has the focus afterwards.
    """

    RETURNS_TO: ClassVar[str] = ""

    @abstractmethod
    def leave(self) -> None:
        """Close the dialog without an answer, or with that of who wants none of the others."""

    @property
    def is_writing(self) -> bool:
        """Whether a place to write in is open."""
        return any(entry.display for entry in self.query(WrittenAnswer))

    def action_write(self, which: str = "TextAnswer") -> None:
        """Open a place to write in."""
        if self.accepts_answers:
            self.query_one(which, WrittenAnswer).begin()

    def action_back(self) -> None:
        """Close the place to write in; if none is open, leave the dialog."""
        if any(entry.end() for entry in self.query(WrittenAnswer)):
            self.focus_choice(self.RETURNS_TO)
        else:
            self.leave()


class TextAnswer(WrittenAnswer):
    """Asks for one line.

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

    def compose(self) -> ComposeResult:
        """Create the title, the line, its explanation and the answers."""
        yield Words(self._title, "title")
        yield Input(
            self._text,
            max_length=self._most,
            restrict=self._restrict,
            compact=True,
            select_on_focus=False,
        )
        yield Words(kind="meaning")
        yield Foot(Choice("Enter", self._submit, "submit"), Choice("Esc", "Back", "back"))

    @property
    def draft(self) -> str:
        """The text that a person is typing; empty while the line is hidden or has its initial text."""
        text = self.query_one(Input).value
        return text if self.display and text != self._text else ""

    def begin(self) -> None:
        """Show the line instead of the other answers, and focus it."""
        super().begin()
        line = self.query_one(Input)
        line.focus()
        if self._replaceable:
            line.action_select_all()

    def clear(self) -> None:
        """Remove the text."""
        self.query_one(Input).value = ""

    def meaning(self) -> tuple[str, bool]:
        """What the line means, and whether it is accepted."""
        return self._explain(self.query_one(Input).value.strip())

    @on(Input.Submitted)
    @on(Button.Pressed, "#submit")
    def _handle_end(self, event: Message) -> None:
        event.stop()
        if self.meaning()[1]:
            self.post_message(self.Submitted(self, self.query_one(Input).value.strip()))


def characters_left(text: str, most: int) -> str:
    """Say how many characters are left for a text; empty for one that is far from the limit."""
    return f"{most - len(text):,} characters left." if len(text) > most // 2 else ""
