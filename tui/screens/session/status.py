"""The status of the session in full sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, FactRows, Foot


class StatusScreen(Dialog[None]):
    """Shows the status at the time it was opened: a label and a sentence for each item."""

    FIRST = "close"

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        foot = Foot(Choice("Esc", "Close", "close"))
        super().__init__(Box("Session status", "", FactRows(rows, "-wide"), foot), requested=True)
