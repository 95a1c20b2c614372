"""The bar for problems: one at a time, until the person or the next query clears it."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.widgets import Static

from tui.terminal.output_filter import strip_controls

__all__ = ["NoticeBar"]

LIMIT = 400


class NoticeBar(Static):
    """Shows in at most three lines what failed and which key helps; takes no room when it is empty."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.display = False
        self.text = ""

    def show(self, text: str, hint: str = "", level: Literal["error", "warning"] = "error") -> None:
        """Show `text`, with a `hint` what to do; replaces what was shown."""
        plain = " ".join(strip_controls(line.replace("\t", " ")).strip() for line in text.splitlines())
        if len(plain) > LIMIT:
            plain = f"{plain[: LIMIT - 1]}…"
        mark = "✗" if level == "error" else "⚠"
        self.text = plain
        self.set_class(level == "warning", "-warning")
        self.update(
            Content.assemble(
                (f"{mark} ", "bold $error" if level == "error" else "bold $warning"),
                plain,
                (f"  {hint}" if hint else "", "$text-muted"),
            )
        )
        self.display = True

    def clear(self) -> None:
        """Show nothing, and take no room."""
        if self.display:
            self.display = False
            self.text = ""
            self.update("")
