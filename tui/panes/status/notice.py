"""The bar for problems: one at a time, until the person or the next query clears it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from ua_tui.tui.terminal.output_filter import strip_controls

LIMIT = 400


class NoticeBar(Static):
    """Shows in at most three lines what failed and which key helps; takes no room when it is empty.

    A click does what its hint says, if that is given, and clears it.
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.display = False
        self.text = ""
        self._timer: Timer | None = None
        self._follow: Callable[[], object] = lambda: None

    @property
    def is_counting(self) -> bool:
        """Whether it shows a text that changes each second."""
        return self._timer is not None

    def count(self, text: Callable[[], str], hint: str = "") -> None:
        """Show a warning whose text changes each second, until it is cleared or replaced."""
        self.show(text(), hint, "warning")
        self._timer = self.set_interval(1.0, lambda: self._show(text(), hint, "warning"), name="notice")

    def show(
        self,
        text: str,
        hint: str = "",
        level: Literal["error", "warning"] = "error",
        *,
        follow: Callable[[], object] = lambda: None,
    ) -> None:
        """Show `text`, with a `hint` what to do, which a click does with `follow`; replaces what was shown."""
        self._stop_counting()
        self._follow = follow
        self._show(text, hint, level)

    def _show(self, text: str, hint: str, level: Literal["error", "warning"]) -> None:
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

    def on_click(self) -> None:
        """Do what the hint says, and clear it; what counts the time stays."""
        if self.is_counting:
            return
        follow = self._follow
        self.clear()
        follow()

    def clear(self) -> None:
        """Show nothing, and take no room."""
        self._stop_counting()
        if self.display:
            self.display = False
            self.text = ""
            self.update("")

    def _stop_counting(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
