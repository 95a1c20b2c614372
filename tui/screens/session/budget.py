"""What the session may cost: how much of it is spent, and a line to raise it in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from core.events.units import money, spent_of
from tui.ports import ScreenHost
from tui.screens.requests.text_answer import TextAnswer
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import Box, Choice, Dialog, Foot, fields

__all__ = ["COMMAND", "BudgetScreen", "amount_of", "open_screen"]

COMMAND = CommandSpec("budget", "Budget", "Spending limit of the session", order=90)

_LONGEST = 12


def open_screen(app: ScreenHost) -> None:
    """Open the spending limit."""
    app.budget.open()


def amount_of(text: str) -> float | None:
    """Read an amount of US dollars, with or without its sign; None when it is none, or not above 0."""
    try:
        amount = float(text.strip().removeprefix("$").replace(",", ""))
    except ValueError:
        return None
    return amount if 0 < amount < 1e9 else None


class BudgetScreen(Dialog[float | None]):
    """Tells what was spent and of what; closes with the new limit in US dollars, or None. Leaving it has the focus.

    Args:
        spent_usd: what the session has cost.
        limit_usd: what it may cost; None for no limit.
        running: whether a query runs now, which the new limit is too late for.
        waiting: how many queries wait.
        requested: whether the person opened it; else it comes up by itself, as the limit is reached.
    """

    UNREQUESTED = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "write", "Raise the limit", id="budget.raise", show=False),
        Binding("escape,q", "back", "Leave it", id="budget.leave", show=False),
    ]

    def __init__(
        self,
        spent_usd: float,
        limit_usd: float | None,
        *,
        running: bool = False,
        waiting: int = 0,
        requested: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(clock, requested=requested)
        self._spent = spent_usd
        self._limit = limit_usd
        self._works = running
        self._queued = waiting

    @property
    def _is_spent(self) -> bool:
        return self._limit is not None and self._spent >= self._limit

    def compose(self) -> ComposeResult:
        """Say how things stand, what follows from it, and what can be done."""
        wanted = max(self._spent, self._limit or 0.0) * 2
        with Box(classes="box -asks") as box:
            box.border_title = Content("Budget")
            yield Static(Content(self._heading()), classes="heading")
            yield Static(fields(*self._rows()), classes="facts")
            yield Static(Content(self._advice()), classes="advice")
            yield Foot(
                Choice("r", "Raise it" if self._limit is not None else "Set one", "raise"),
                Choice("Esc", "Leave it", "leave"),
                id="answers",
            )
            yield TextAnswer(
                "What may the session cost in all, in US dollars?",
                "Let it cost this",
                self._explain,
                text=f"{wanted:.2f}" if wanted else "",
                most=_LONGEST,
                replaceable=True,
                id="amount",
            )

    def on_mount(self) -> None:
        """Put the focus on what costs nothing."""
        self.focus_choice("#leave")

    def _rows(self) -> list[tuple[str, str]]:
        spent, limit = money(self._spent), "none"
        if self._limit is not None:
            spent, limit = spent_of(self._spent, self._limit)
        rows = [("Spent", f"{spent or 'nothing'}, sub-agents included"), ("Limit", limit)]
        if self._queued:
            rows.append(("Waiting", f"{self._queued} {'query' if self._queued == 1 else 'queries'}"))
        return rows

    def _heading(self) -> str:
        if self._limit is None:
            return "The session may cost what it takes."
        if self._is_spent:
            return "What the session may cost is spent."
        return f"{self._spent / self._limit:.0%} of what the session may cost is spent."

    def _advice(self) -> str:
        parts = []
        if self._is_spent:
            parts.append("No further query runs until the limit is raised. What was said and saved is kept.")
        elif self._limit is not None:
            parts.append("At the limit the running query is stopped, and no further one runs.")
        if self._works:
            parts.append(
                "The running query keeps the limit it began with; another one holds from the next on."
            )
        return " ".join(parts)

    def _explain(self, text: str) -> tuple[str, bool]:
        if not text:
            return "Write an amount, such as 2.50.", False
        amount = amount_of(text)
        if amount is None:
            return f"{text} is no amount above 0: write one such as 2.50.", False
        if amount <= self._spent:
            return f"{spent_of(self._spent, amount)[0]} is spent already: write more than that.", False
        return f"{money(amount - self._spent)} more than what is spent.", True

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take an answer given with the mouse or with Enter."""
        event.stop()
        if event.button.id == "raise":
            self.action_write()
        else:
            self.answer(None)

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Close with the amount."""
        event.stop()
        self.answer(amount_of(event.text))

    def on_text_answer_cancelled(self, event: TextAnswer.Cancelled) -> None:
        """Offer the other answers again."""
        event.stop()
        self.action_back()

    def action_write(self) -> None:
        """Have the person write how much."""
        if self.accepts_answers:
            self.query_one("#answers").display = False
            self.query_one(TextAnswer).begin()

    def action_back(self) -> None:
        """Leave the line that is written in; with none, leave the limit as it is."""
        writing = self.query_one(TextAnswer)
        if writing.display:
            writing.end()
            self.query_one("#answers").display = True
            self.focus_choice("#leave")
        else:
            self.answer(None)
