"""The quit dialog, shown while the agent works."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.render.activity import CurrentActivity
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, Box, Choice, Dialog, Foot, fields

QuitAnswer = Literal["stay", "wait", "stop"]


class QuitScreen(Dialog[QuitAnswer]):
    """Asks whether to quit while the agent works; staying has the focus.

    Args:
        queued: the number of queued queries.
        at_work: describes what runs; it is read again every second.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("When you quit while work runs")
    FIRST = "stay"
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("quit.stay", "n,escape", "answer('stay')", "stay"),
        key_binding("quit.wait", "w", "answer('wait')", "quit when done"),
        key_binding("quit.stop", "y", "answer('stop')", "stop it and quit"),
    ]

    def __init__(self, queued: int = 0, at_work: CurrentActivity | None = None) -> None:
        # A key that is held down must not be an answer.
        super().__init__(requested=True, quiet=QUIET_SECONDS)
        self._queued = queued
        self._at_work = at_work

    def compose(self) -> ComposeResult:
        """Show what runs, what would be stopped and what is kept."""
        with Box("Quit", "-asks"):
            yield Static(self._heading(), classes="heading")
            yield Static(self._facts(), id="quit-facts", classes="facts")
            yield Static(Content(self._advice()), classes="advice")
            yield Foot(
                Choice("n", "Stay", "stay", "answer('stay')"),
                Choice("w", "Quit when done", "wait", "answer('wait')"),
                Choice("y", "Stop and quit", "stop", "answer('stop')"),
            )

    def on_mount(self) -> None:
        """Refresh what runs every second."""
        self.set_interval(1.0, self._refresh)

    @property
    def _is_done(self) -> bool:
        return self._at_work is not None and not self._at_work.is_running

    def _heading(self) -> Content:
        return Content("The agent has finished." if self._is_done else "The agent is still working.")

    def _facts(self) -> Content:
        return fields(*self._at_work.rows()) if self._at_work is not None else Content("")

    def _advice(self) -> str:
        key = keys_of(self.app).shown("quit")
        queries = "query" if self._queued == 1 else "queries"
        them = "it" if self._queued == 1 else "them"
        waiting = f"{self._queued} queued {queries} will not run; queue.json keeps {them}. "
        return (waiting if self._queued else "") + f"Saved files are kept. Press {key} again to stop at once."

    def _refresh(self) -> None:
        for heading in self.query(".heading").results(Static):
            heading.update(self._heading())
        for facts in self.query(".facts").results(Static):
            facts.update(self._facts())
