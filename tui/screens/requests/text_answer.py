"""A line to write in at the foot of a dialog, for an answer that needs words."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, Static

from tui.widgets.dialog import Choice, Foot

__all__ = ["Writing"]


class Writing(Vertical):
    """Asks for one line, tells below it what the line means, and is hidden until it is wanted.

    Args:
        title: what is to be written.
        submit: what Enter does then.
        explain: says what a text means, and whether it can be taken.
        text: what stands there at first.
        most: how many characters it may have.
        typed_over: whether what is typed first takes the place of what stands there.
    """

    class Written(Message):
        """A line was written that can be taken."""

        def __init__(self, writing: Writing, text: str) -> None:
            super().__init__()
            self.writing = writing
            self.text = text

        @property
        def control(self) -> Writing:
            """Where it was written."""
            return self.writing

    class GivenUp(Message):
        """The person goes back to the other answers."""

    def __init__(
        self,
        title: str,
        submit: str,
        explain: Callable[[str], tuple[str, bool]],
        *,
        text: str = "",
        most: int = 0,
        typed_over: bool = False,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self._title = title
        self._submit = submit
        self._explain = explain
        self._text = text
        self._most = most
        self._typed_over = typed_over
        self.display = False

    def compose(self) -> ComposeResult:
        """Put the line between what it is for and what it means."""
        yield Static(Content(self._title), classes="title")
        yield Input(self._text, max_length=self._most, compact=True, select_on_focus=False)
        yield Static(classes="meaning")
        yield Foot(Choice("Enter", self._submit, "take"), Choice("Esc", "Back", "back"))

    def on_mount(self) -> None:
        """Say what the first text means."""
        self._tell()

    def begin(self) -> None:
        """Show the line and have it written in."""
        self.display = True
        line = self.query_one(Input)
        line.focus()
        if self._typed_over:
            line.action_select_all()

    def end(self) -> None:
        """Hide the line; what was written stays in it."""
        self.display = False

    @on(Input.Changed)
    def _tell_of_change(self, event: Input.Changed) -> None:
        event.stop()
        self._tell()

    @on(Input.Submitted)
    def _take_line(self, event: Input.Submitted) -> None:
        event.stop()
        self._take()

    @on(Button.Pressed)
    def _take_button(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "take":
            self._take()
        else:
            self.post_message(self.GivenUp())

    def _take(self) -> None:
        text = self.query_one(Input).value.strip()
        if self._explain(text)[1]:
            self.post_message(self.Written(self, text))

    def _tell(self) -> None:
        meaning, good = self._explain(self.query_one(Input).value.strip())
        shown = self.query_one(".meaning", Static)
        shown.update(Content(meaning))
        shown.set_class(not good, "-wrong")
