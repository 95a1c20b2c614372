"""What every screen above the frame shares: it closes once, and never another screen in its stead."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

__all__ = ["Closing"]

Answer = TypeVar("Answer")


class Closing(ModalScreen[Answer]):
    """A screen that can be told to close at any time.

    Textual's own `dismiss` takes away whichever screen is on top, and one that leaves before it is composed fails
    in mounting. Here what comes too early waits until the screen is on top, and what comes twice is passed over.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "app.keys_here", "Keys", id="help.here", show=False),
        Binding("f1", "app.help", "All keys", id="help.all", show=False),
    ]

    _answered: tuple[Answer | None] | None = None
    _dismissed = False

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close with `result`, as soon as nothing lies above this screen."""
        if self._dismissed:
            return AwaitComplete()
        # Textual calls a screen below a modal one current, too.
        if not self.is_mounted or self.app.screen is not self:
            self._answered = self._answered or (result,)
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """Close now if that was asked for while the screen was not there yet, or another lay above it."""
        if self._answered is not None:
            self.dismiss(self._answered[0])
