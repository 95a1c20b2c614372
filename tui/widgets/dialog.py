"""What every dialog shares: a box above the rest, its answers, and a guard against keys meant for the prompt."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, TypeVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Button, Static

from tui.keys.keymap import written_key
from tui.widgets.modal import Modal

__all__ = ["NARROW", "QUIET_SECONDS", "ActiveClock", "Box", "Choice", "Dialog", "Foot", "fields"]

QUIET_SECONDS = 0.3
TYPING_SECONDS = 1.5
NARROW = [(0, "-narrow"), (100, "-roomy")]

_BEAT_SECONDS = 0.05
_LONGEST_SECONDS = 0.1

Answer = TypeVar("Answer")


class ActiveClock:
    """The seconds that passed by a clock, at most a tenth of one between two looks.

    A program that got no time from its machine has not read what was typed meanwhile: that is no quiet.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._looked_at = clock()
        self._passed = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        now = self._clock()
        self._passed += min(now - self._looked_at, _LONGEST_SECONDS)
        self._looked_at = now
        return self._passed


class Box(VerticalScroll, can_focus=False):
    """The box of a dialog: as high as what is in it, scrolling above its fixed foot when there is no room."""


class Choice(Button):
    """An answer to choose with the mouse, with Tab and Enter, or with the key it names."""

    def __init__(self, key: str, label: str, id: str, *, disabled: bool = False) -> None:
        self._key, self._words = key, label
        super().__init__(self._told(disabled), id=id, compact=True, disabled=disabled)
        # While a button looks pressed Textual ignores it: an early click would swallow the one that counts.
        self.active_effect_duration = 0

    def on_mount(self) -> None:
        """Name the key that holds."""
        self._key = written_key(self, self._key)
        self.label = self._told(self.disabled)

    def watch_disabled(self, disabled: bool) -> None:
        """Take the colour off the key of an answer that cannot be chosen."""
        super().watch_disabled(disabled)
        self.label = self._told(disabled)

    def _told(self, disabled: bool) -> Content:
        return Content.assemble(self._key if disabled else (self._key, "bold $accent"), f" {self._words}")


class Foot(Horizontal):
    """The answers of a dialog, always in sight."""

    def __init__(self, *choices: Choice, hint: str = "", id: str | None = None) -> None:
        super().__init__(*choices, Static(Content(hint), classes="hint"), id=id)


def fields(*rows: tuple[str, str]) -> Content:
    """Set out `(label, text)` rows, labels dim and of one width; text is shown as it is."""
    width = max((len(label) for label, _ in rows), default=0)
    lines = [Content.assemble((f"{label:<{width}}  ", "$text-muted"), text) for label, text in rows]
    return Content("\n").join(lines)


class Dialog(Modal[Answer]):
    """A dialog that takes no answer until a person can have read it.

    Answers are ignored for 300 ms after the dialog was first painted and for 300 ms after each key
    that was ignored, so that someone typing at speed does not answer by accident; for 1.5 s each when
    somebody was typing just before. Time in which the program stood still is not counted. It never times out.

    A dialog that comes up by itself (`UNREQUESTED`) is no reason to lose what is being typed into the prompt: until it
    takes answers, such keys still go there. One that the person opened has nothing to wait for (`requested`): its
    keys count from the first one on.
    """

    UNREQUESTED: ClassVar[bool] = False
    AUTO_FOCUS: ClassVar[str | None] = ""
    HORIZONTAL_BREAKPOINTS = NARROW
    INHERIT_BINDINGS: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,right", "app.focus_next", show=False),
        Binding("shift+tab,left", "app.focus_previous", show=False),
        Binding("up", "scroll_box(-1)", show=False),
        Binding("down", "scroll_box(1)", show=False),
        Binding("pageup", "scroll_box(-10)", show=False),
        Binding("pagedown", "scroll_box(10)", show=False),
    ]

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, requested: bool = False) -> None:
        super().__init__(classes=None if requested else "-quiet")
        self._clock = clock
        self._requested = requested
        # A clock of somebody else's is taken at its word.
        self._awake = ActiveClock(clock) if clock is time.monotonic else clock
        self._beat: Timer | None = None
        self._quiet = QUIET_SECONDS
        self._quiet_until: float | None = None
        self._typing: bool | None = None
        self._told = ""

    def on_mount(self) -> None:
        """Start the quiet time once the dialog stands on the screen."""
        self.call_after_refresh(self._painted)

    def focus_choice(self, selector: str) -> None:
        """Put the focus on an answer; there is none when the application ends as the dialog comes up."""
        for choice in self.query(selector):
            choice.focus()

    @property
    def accepts_answers(self) -> bool:
        """Whether an answer counts; asking while it does not makes the quiet time start again."""
        if self._requested:
            return True
        if self._quiet_until is None:
            return False
        now = self._awake()
        if now < self._quiet_until:
            self._quiet_until = now + self._quiet
            return False
        return True

    @property
    def passes_typing_on(self) -> bool:
        """Whether what is typed now is still meant for the prompt; asking counts as a key that was typed."""
        return self.UNREQUESTED and self._was_typing and not self.accepts_answers

    def tell(self, text: str) -> None:
        """Write a word into the lower edge of the box."""
        self._told = text
        self._show_told()

    def on_key(self, event: events.Key) -> None:
        """Notice typing that no binding takes."""
        _ = self.accepts_answers

    def answer(self, value: Answer) -> None:
        """Close with `value`, if an answer counts already."""
        if self.accepts_answers and self._on_top:
            self.dismiss(value)

    def action_scroll_box(self, rows: int) -> None:
        """Scroll what has no room."""
        self.query_one(Box).scroll_relative(y=rows, animate=False)

    def withdraw(self) -> None:
        """Close without an answer: it was given elsewhere, or nobody needs it any more."""
        self.dismiss(None)

    @property
    def _on_top(self) -> bool:
        # Textual calls a screen below a modal one current, too.
        return self.app.screen is self

    @property
    def _was_typing(self) -> bool:
        if self._typing is None:
            typed = getattr(self.app, "typed_at", float("-inf"))
            self._typing = time.monotonic() - typed < TYPING_SECONDS
        return self._typing

    def _painted(self) -> None:
        if self._requested:
            self._quiet_until = self._awake()
            return
        if self._was_typing:
            self._quiet = TYPING_SECONDS
        self._quiet_until = self._awake() + self._quiet
        self._show_told()
        self._beat = self.set_interval(_BEAT_SECONDS, self._show_listening)

    def _show_listening(self) -> None:
        if self._beat is not None and self._awake() >= (self._quiet_until or 0.0):
            self._beat.stop()
            self._beat = None
            self.remove_class("-quiet")
            self._show_told()

    def _show_told(self) -> None:
        quiet = self.has_class("-quiet")
        typed = quiet and self.UNREQUESTED and bool(self._typing)
        words = [
            self._told,
            "answers in a moment" if quiet else "",
            "typing goes to the prompt" if typed else "",
        ]
        for box in self.query(".box"):
            box.border_subtitle = Content(" · ".join(word for word in words if word))
