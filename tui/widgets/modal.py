"""What every screen above the panes shares: it closes once, and never closes another screen."""

from __future__ import annotations

from typing import Any, TypeVar

from textual.await_complete import AwaitComplete
from textual.geometry import Size
from textual.reactive import Reactive
from textual.screen import ModalScreen

from ua_tui.tui.keys.bindings import CLASSES, bindings
from ua_tui.tui.keys.keymap import Keys, keys_of


def unscrolled_size() -> Reactive[Size]:
    """Return a `virtual_size` for the class of a widget that never scrolls.

    Textual requests a layout whenever the layout itself has changed the virtual size of a widget, because scroll bars
    may depend on it. Without scroll bars that second layout changes nothing and paints everything again.
    """
    return Reactive(Size(0, 0), layout=False, repaint=False)


NARROW = [(0, "-narrow"), (100, "-roomy")]

Answer = TypeVar("Answer")


class Modal(ModalScreen[Answer]):
    """A screen that can be closed at any time.

    Textual's own `dismiss` removes whichever screen is on top, and a screen that is dismissed before it is composed
    fails to mount. This class waits until the screen is mounted and on top, and ignores a second `dismiss`.
    """

    HORIZONTAL_BREAKPOINTS = NARROW
    BINDINGS = bindings("Modal")

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a screen the keys that the table has under its name, if it does not say which."""
        if "BINDINGS" not in vars(cls) and cls.__name__ in CLASSES:
            cls.BINDINGS = bindings(cls.__name__)
        super().__init_subclass__(**options)

    _pending: tuple[Answer | None] | None = None
    _dismissed = False

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close with `result` as soon as no other screen is above this one."""
        if self._dismissed:
            return AwaitComplete()
        # Textual calls a screen below a modal one current, too.
        if not self.is_mounted or self.app.screen is not self:
            self._pending = self._pending or (result,)
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)

    @property
    def is_closing(self) -> bool:
        """Whether it was dismissed, even if another screen above it delays that."""
        return self._dismissed or self._pending is not None

    @property
    def keys(self) -> Keys:
        """The keys as the person configured them."""
        return keys_of(self.app)

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def warn(self, why: str) -> None:
        """Notify the person of something that did not work."""
        self.notify(why, severity="warning")

    def on_screen_resume(self) -> None:
        """Close now if `dismiss` was called before the screen was ready."""
        if self._pending is not None:
            self.dismiss(self._pending[0])
