"""The spending limit of the session: what is spent, and a line to set the limit."""

from __future__ import annotations

from ua_tui.core.events.units import money, quantity, spent_of
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.requests.text_answer import TextAnswer, WritingDialog
from ua_tui.tui.widgets.dialog import Box, Choice, Foot, Words, fields


def amount_of(text: str) -> float | None:
    """Parse an amount of US dollars, with or without `$`; None if it is not a number above 0."""
    try:
        amount = float(text.strip().removeprefix("$").replace(",", ""))
    except ValueError:
        return None
    return amount if 0 < amount < 1e9 else None


class BudgetScreen(WritingDialog[float | None]):
    """Shows what was spent and the limit; closes with the new limit in US dollars, or None. Close has the focus.

    Args:
        spent_usd: the cost of the session so far.
        limit_usd: the limit; None for no limit.
        unpriced: the models of the session whose price is unknown.
        cached: the share of what the model read that came from the cache, which costs less; None if unknown.
        running: whether a query runs, to which a new limit does not apply.
        waiting: the number of queued queries.
        requested: whether the person opened it; otherwise it appears because the limit is reached.
    """

    FIRST = "leave"
    RETURNS_TO = "#leave"

    def __init__(
        self,
        spent_usd: float,
        limit_usd: float | None,
        *,
        unpriced: tuple[str, ...] = (),
        cached: float | None = None,
        running: bool = False,
        waiting: int = 0,
        requested: bool = False,
    ) -> None:
        self._spent = spent_usd
        self._limit = limit_usd
        self._unpriced = clean_line(", ".join(unpriced), 100)
        self._cached = cached
        self._works = running
        self._queued = waiting
        wanted = max(spent_usd, limit_usd or 0.0) * 2
        box = Box(
            "Budget",
            "-asks",
            Words(self._heading(), "heading"),
            Words(fields(*self._rows()), "facts"),
            Words(self._advice(), "advice"),
            Foot(
                Choice("r", "Raise the limit" if limit_usd is not None else "Set a limit", "raise", "write"),
                Choice("Esc", "Close", "leave", "answer(None)"),
                id="answers",
            ),
            TextAnswer(
                "Spending limit of this session, in US dollars:",
                "Set limit",
                self._explain,
                text=f"{wanted:.2f}" if wanted else "",
                most=12,
                replaceable=True,
                restrict=r"[\d.,$ ]*",
                id="amount",
            ),
        )
        super().__init__(box, requested=requested)

    @property
    def _is_spent(self) -> bool:
        return self._limit is not None and self._spent >= self._limit

    def _rows(self) -> list[tuple[str, str]]:
        spent, limit = money(self._spent), "none"
        if self._limit is not None:
            spent, limit = spent_of(self._spent, self._limit)
        total = f"{spent or 'nothing'}, including sub-agents"
        if self._unpriced:
            total = f"{spent} plus an unknown amount" if self._spent else "unknown"
        rows = [("Spent", total), ("Limit", limit)]
        if self._cached is not None:
            rows.append(("Cached", f"{self._cached:.0%} of the input"))
        if self._queued:
            rows.append(("Queued", quantity(self._queued, "query", "queries")))
        return rows

    def _heading(self) -> str:
        if self._limit is None:
            return "No spending limit."
        if self._is_spent:
            return "Spending limit reached."
        return f"{self._spent / self._limit:.0%} of the spending limit is used."

    def _advice(self) -> str:
        parts = []
        if self._unpriced:
            parts.append(f"A limit needs the price of {self._unpriced}: set it with the setting prices.")
        if self._is_spent:
            parts.append("No query runs until you raise the limit. The conversation and all files are kept.")
        elif self._limit is not None:
            parts.append("When the limit is reached, the running query stops and no other one starts.")
        if self._works:
            parts.append("A new limit applies from the next query.")
        return " ".join(parts)

    def _explain(self, text: str) -> tuple[str, bool]:
        if self._unpriced:
            return f"A limit needs the price of {self._unpriced} (setting prices).", False
        if not text:
            return "Enter an amount, e.g. 2.50.", False
        amount = amount_of(text)
        if amount is None:
            return "Enter an amount above 0, e.g. 2.50.", False
        if amount <= self._spent:
            return f"{spent_of(self._spent, amount)[0]} is already spent. Enter a higher amount.", False
        return f"{money(amount - self._spent)} left to spend.", True

    def on_text_answer_submitted(self, event: TextAnswer.Submitted) -> None:
        """Close with the amount."""
        self.answer(amount_of(event.text))

    def leave(self) -> None:
        """Close the dialog."""
        self.answer(None)
