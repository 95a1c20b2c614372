"""Dialogs that ask for confirmation: before quitting, deleting, and resuming with a new conversation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from textual.app import ComposeResult

from ua_tui.core.events.units import duration
from ua_tui.core.text import as_sentence, clean, clean_line
from ua_tui.core.view.activity import Activity, describe_call
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, Box, Choice, Dialog, Foot, Words, fields


class DeleteScreen(Dialog[bool]):
    """Asks whether to delete; keeping has the focus.

    Args:
        name: what is deleted, already cleaned.
        facts: details, such as its size.
    """

    FIRST = "keep"

    def __init__(self, name: str, facts: str) -> None:
        box = Box(
            "Delete",
            "-asks",
            Words(name, "heading"),
            Words(f"{facts} This cannot be undone.", "advice"),
            Foot(
                Choice("n", "Keep", "keep", "answer(False)"), Choice("d", "Delete", "delete", "answer(True)")
            ),
        )
        super().__init__(box, requested=True, quiet=QUIET_SECONDS)


class ConfirmScreen(Dialog[bool]):
    """Asks a `question` with yes and no, where no has the focus.

    `yes` and `no` are what the answers are called; with `risky` the box looks like that of a failure.
    """

    FIRST = "no"

    def __init__(
        self, title: str, question: str, advice: str, *, yes: str, no: str, risky: bool = False
    ) -> None:
        box = Box(
            title,
            "-fails" if risky else "-asks",
            Words(clean(question), "heading"),
            Words(clean(advice), "advice"),
            Foot(Choice("n", no, "no", "answer(False)"), Choice("y", yes, "yes", "answer(True)")),
        )
        # A key that was held down must not be an answer.
        super().__init__(box, requested=True, quiet=QUIET_SECONDS)


ADVICE = (
    "The session can be resumed with a new conversation in the same folder. Its files and journal are kept, "
    "but the agent does not know what was said before."
)


class FreshScreen(Dialog[bool]):
    """Asks whether to start a new conversation; `why` says what happened to the earlier one."""

    FIRST = "fresh"

    def __init__(self, why: str) -> None:
        box = Box(
            "The conversation is lost",
            "-asks",
            Words(as_sentence(clean(why)), "facts"),
            Words(ADVICE, "advice"),
            Foot(
                Choice("f", "New conversation", "fresh", "answer(True)"),
                Choice("q", "Quit", "quit", "answer(False)"),
            ),
        )
        super().__init__(box)


QuitAnswer = Literal["stay", "wait", "stop"]
_MOST_CALLS = 4


class QuitScreen(Dialog[QuitAnswer]):
    """Asks whether to quit while the agent works; staying has the focus.

    Args:
        queued: the number of queued queries.
        activity: returns what the session does; it is read again every second.
        now: the time of day, in seconds.
    """

    FIRST = "stay"

    def __init__(
        self,
        queued: int,
        activity: Callable[[], Activity],
        now: Callable[[], float] = time.time,
    ) -> None:
        # A key that is held down must not be an answer.
        super().__init__(requested=True, quiet=QUIET_SECONDS)
        self._queued = queued
        self._activity = activity
        self._now = now

    def compose(self) -> ComposeResult:
        """Show what runs, what would be stopped and what is kept."""
        with Box("Quit", "-asks"):
            yield Words(kind="heading")
            yield Words(kind="facts", id="quit-facts")
            yield Words(self._advice(), "advice")
            yield Foot(
                Choice("n", "Stay", "stay", "answer('stay')"),
                Choice("w", "Quit when done", "wait", "answer('wait')"),
                Choice("y", "Stop and quit", "stop", "answer('stop')"),
            )

    def on_mount(self) -> None:
        """Show what runs, again every second."""
        self._refresh()
        self.set_interval(1.0, self._refresh)

    def _advice(self) -> str:
        key = self.keys.shown("quit")
        queries = "query" if self._queued == 1 else "queries"
        them = "it" if self._queued == 1 else "them"
        waiting = f"{self._queued} queued {queries} will not run; queue.json keeps {them}. "
        return (waiting if self._queued else "") + f"Saved files are kept. Press {key} again to stop at once."

    def _refresh(self) -> None:
        activity = self._activity()
        for heading in self.query(".heading").results(Words):
            heading.update("The agent is still working." if activity.queries else "The agent has finished.")
        for facts in self.query(".facts").results(Words):
            facts.update(fields(*_rows(activity, self._now())))
        for wait in self.query("#wait"):
            wait.display = bool(activity.queries)


def _rows(activity: Activity, now: float) -> list[tuple[str, str]]:
    """The newest query and its oldest open calls, each with its duration; empty if nothing is running."""
    rows: list[tuple[str, str]] = []
    for query in list(activity.queries.values())[-1:]:
        rows.append(("Query", f"{duration(now - query.at.timestamp())}  {clean_line(query.text, 120)}"))
        for call in list(activity.calls.values())[:_MOST_CALLS]:
            text = f"{duration(now - call.at.timestamp())}  {describe_call(call.name, call.input)}"
            rows.append(("" if len(rows) > 1 else "Running", text))
        if len(activity.calls) > _MOST_CALLS:
            rows.append(("", f"and {len(activity.calls) - _MOST_CALLS} more"))
    return rows
