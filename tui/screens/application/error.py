"""The agent failed: what happened, why, what to do, and a key that restarts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ua_tui.tui.screens.requests.arguments import reveal
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, FactRows, Foot, Words

Answer = Literal["restart", "close", "quit"]
TRIES_AGAIN = "Restart tries to start the agent again."
RESTARTS = (
    "Restart starts the agent again in this session, with the conversation so far. No query is sent again."
)


class ErrorScreen(Dialog[Answer | None]):
    """Shows a failure in full; `r` restarts, Esc closes. The result None means that the agent recovered by itself."""

    FIRST = "restart"

    def __init__(
        self, message: str, causes: Sequence[str] = (), *, advice: Sequence[str] = (RESTARTS,)
    ) -> None:
        box = Box(
            "The agent stopped",
            "-fails",
            Words(reveal(message), "heading"),
            FactRows([*_rows("Why", list(dict.fromkeys(causes))), *_rows("Next", advice)]),
            Foot(
                Choice("r", "Restart", "restart", "answer('restart')"),
                Choice("Esc", "Close", "close", "answer('close')"),
                Choice("q", "Quit", "quit", "answer('quit')"),
            ),
        )
        super().__init__(box)


def _rows(label: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(label if not at else "", reveal(text)) for at, text in enumerate(texts)]
