"""The base of every dialog: a box with answers, and a guard against keys that were meant for the prompt."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Grid, Horizontal, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Button, Input, Static, TextArea

from ua_tui.tui.keys.keymap import ActiveBindings, written_key
from ua_tui.tui.widgets.input_line import focused_field, writes_character
from ua_tui.tui.widgets.modal import Modal

QUIET_SECONDS = 0.3
TYPING_SECONDS = 1.5
HOLD_SECONDS = 0.5
"""Somebody who types a sentence presses the next key within this time."""


Answer = TypeVar("Answer")


class ActiveClock:
    """The seconds that passed by a clock, counting at most a tenth of a second between two calls.

    While the process gets no processor time it does not read what is typed, so that time is not counted.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = clock()
        self._passed = 0.0

    def __call__(self) -> float:
        """Return the seconds."""
        now = self._clock()
        self._passed += min(now - self._last, 0.1)
        self._last = now
        return self._passed


class Box(VerticalScroll, can_focus=False):
    """The box of a dialog: as high as its content, which scrolls above the fixed foot if there is no room.

    `kind` is `-asks` if the agent or the program asks, and `-fails` for a failure.
    """

    def __init__(self, title: str = "", kind: str = "", *content: Widget) -> None:
        super().__init__(*content, classes=f"box {kind}")
        self.border_title = Content(title)

    @property
    def rows_in_view(self) -> int:
        """The rows above the foot."""
        foot = [each for each in self.children if each.display and each.styles.dock == "bottom"]
        return self.content_size.height - sum(each.outer_size.height for each in foot)


class Choice(Button):
    """An answer: chosen with the mouse, with Tab and Enter, or with the key it shows.

    It runs an action of its dialog: `action`, or the one that is called like its id.
    """

    def __init__(
        self, key: str, label: str | Content, id: str, action: str = "", *, disabled: bool = False
    ) -> None:
        self.key, self._text = key, label
        self.runs = action or id
        super().__init__(self._caption(disabled), id=id, compact=True, disabled=disabled)
        # Textual ignores a button while it looks pressed: a click that is ignored must not block the next one.
        self.active_effect_duration = 0

    def on_mount(self) -> None:
        """Show the key as the person configured it."""
        self.key = written_key(self, self.key)
        self.label = self._caption(self.disabled)

    def watch_disabled(self, disabled: bool) -> None:
        """Show the key without colour while the answer is disabled."""
        super().watch_disabled(disabled)
        self.label = self._caption(disabled)

    def _caption(self, disabled: bool) -> Content:
        return Content.assemble(self.key if disabled else (self.key, "bold $accent"), " ", self._text)


class Words(Static):
    """A text that is never parsed as markup, with a class for its style."""

    def __init__(self, text: str | Content = "", kind: str = "", *, id: str | None = None) -> None:
        super().__init__(text, id=id, classes=kind, markup=False)

    def show(self, text: str | Content) -> None:
        """Replace the text; without one, hide the line."""
        self.update(text)
        self.display = bool(text)


class Foot(Horizontal):
    """The answers of a dialog, always visible."""

    def __init__(
        self, *choices: Choice, hint: str = "", id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(*choices, Words(hint, "hint"), id=id, classes=classes)


def fields(*rows: tuple[str, str]) -> Content:
    """Lay out `(label, text)` rows with dim labels of one width; markup in text is not interpreted."""
    width = max((len(label) for label, _ in rows), default=0)
    lines = [Content.assemble((f"{label:<{width}}  ", "$text-muted"), text) for label, text in rows]
    return Content("\n").join(lines)


class FactRows(Grid):
    """Labels with texts beside them, which wrap within their own column."""

    def __init__(self, rows: Sequence[tuple[str, str]], kind: str = "") -> None:
        cells = [
            Words(content, name)
            for label, text in rows
            for name, content in (("label", label), ("text", text))
        ]
        super().__init__(*cells, classes=kind)


class Dialog(Modal[Answer]):
    """A dialog that accepts no answer until a person can have read it.

    A dialog that appears by itself ignores answers for 300 ms after it is first painted and for 300 ms after each key,
    and text that is typed in that time goes to the field below in which the person was typing (`field_below`). Both
    times are 1.5 s if something was typed there just before, or is meanwhile, or if it has an unfinished text. Time in
    which the process did not run is not counted. A dialog never times out.

    A dialog that the person opened (`requested`) accepts answers at once, or after `quiet` seconds. `FIRST` is the id
    of the answer with the focus: a harmless one. `clock` gives seconds; a clock other than Python's is used as it is.

    In every dialog a letter answers only if no other one follows within half a second, or if Enter does; Enter on a
    focused answer and the mouse answer at once. A character that is no key here, a second letter and a paste are the
    beginning of a text. Who opened the dialog knows that it is there: the text goes nowhere, the dialog shows which
    keys answer, and a letter counts again after half a second. Otherwise all of it goes to the field below, or to the
    prompt, and answers are accepted again after a pause of 1.5 s. `AT_ONCE` are the actions of letters that answer
    nothing, such as those that move.

    A dialog that replaces one which somebody else has answered may get a key that was meant for that one: after
    `hold_keys`, the first key or click only shows that its question is another one. `can_wait` says that Esc leaves the
    question open, because others may answer it, too.
    """

    can_wait = False

    FIRST: ClassVar[str] = ""
    AT_ONCE: ClassVar[frozenset[str]] = frozenset({"close", "cursor_down", "cursor_up", "move", "page"})
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(
        self, box: Box | None = None, *, requested: bool = False, quiet: float | None = None
    ) -> None:
        self._quiet = (0.0 if requested else QUIET_SECONDS) if quiet is None else quiet
        super().__init__(classes="-quiet" if self._quiet else None)
        self._box = box
        self.clock: Callable[[], float] = time.monotonic
        self._requested = requested
        self._beat: Timer | None = None
        self._quiet_until: float | None = None
        self._drawn_at = float("inf")
        self._typing = False
        self._note = ""
        self._replaced = ""
        self._holds_keys = False
        self._letters: list[events.Key] = []
        self._held = ""
        self._held_until = 0.0
        self._wrong_until = 0.0

    def compose(self) -> ComposeResult:
        """Show the `box`, if the dialog was made with one."""
        if self._box is not None:
            yield self._box

    def on_mount(self) -> None:
        """Focus the first answer, and start the quiet time once the dialog is painted."""
        if self._replaced:
            self.query_one(Box).mount(Words(self._replaced, "replaced"), before=0)
        if self.FIRST:
            self.focus_choice(f"#{self.FIRST}")
        self.call_after_refresh(self._painted)
        self.app.app_resume_signal.subscribe(self, self._on_resume, immediate=True)

    def _on_resume(self, _app: object) -> None:
        """Accept no answer at first when another program had the terminal: its last keys may come now.

        Arguments are not an answer: whoever edits them has left the editor that was started here.
        """
        if self._quiet and self.is_drawn and not self.has_class("-changing"):
            self._painted()

    async def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button shows."""
        event.stop()
        self._release()
        if self._takes_held_key():
            return
        if isinstance(event.button, Choice):
            await self.run_action(event.button.runs)

    def focus_choice(self, selector: str) -> None:
        """Focus an answer, if it exists: there is none while the application ends."""
        for choice in self.query(selector):
            choice.focus()

    @property
    def accepts_answers(self) -> bool:
        """Whether an answer counts; reading this while it does not restarts the quiet time."""
        return not self._holds_keys and self._was_quiet()

    def _was_quiet(self) -> bool:
        if not self._quiet:
            return True
        if self._quiet_until is None:
            return False
        now = self._awake()
        if now < self._quiet_until:
            self._quiet_until = now + self._quiet
            return False
        return True

    @property
    def is_drawn(self) -> bool:
        """Whether the dialog was on the screen."""
        return self._quiet_until is not None

    @property
    def is_unrequested(self) -> bool:
        """Whether the dialog appeared by itself."""
        return not self._requested

    @property
    def field_below(self) -> Widget | None:
        """The text field below the dialog that has the focus, or the prompt if a text is typed; None without one.

        Dialogs between them that are quiet, too, or about to close, have none.
        """
        stack = self.app.screen_stack
        for screen in reversed(stack[: stack.index(self)] if self in stack else ()):
            if not (isinstance(screen, Modal) and screen.is_closing) and not screen.has_class("-quiet"):
                return focused_field(screen) or (self._prompt if self._typing else None)
        return None

    @property
    def _prompt(self) -> Widget | None:
        stack = self.app.screen_stack
        # What the person opened above another screen hides the prompt.
        in_sight = self.is_unrequested or len(stack) == 2
        return next((each for each in stack[0].query("#prompt") if in_sight and not each.disabled), None)

    def returns_text(self) -> bool:
        """Whether text that is typed now is for the field below; calling this counts as typing there."""
        if self._holds_keys or self._requested or self.accepts_answers:
            return False
        self._expect_text()
        return True

    def _expect_text(self) -> None:
        """Accept no answer until the person pauses."""
        self._typing, self._quiet = True, TYPING_SECONDS
        if self.is_drawn:
            self._begin_quiet()
        else:
            self._show_note()

    def _begin_quiet(self) -> None:
        """Accept no answer until the quiet time is over."""
        self._quiet_until = self._awake() + self._quiet
        self.add_class("-quiet")
        self._start_beat()
        self._show_note()

    def hold_keys(self, why: str) -> None:
        """Show `why` above the question, and let the first key or click answer nothing."""
        self._replaced, self._holds_keys = why, True

    def _takes_held_key(self) -> bool:
        """Whether this key or click answers nothing; it must not come before the dialog could be read, either."""
        if not self._holds_keys:
            return False
        if self._was_quiet():
            self._holds_keys = False
            # A key that is held down comes again.
            self._begin_quiet()
        else:
            self._show_note()
        return True

    def show_note(self, text: str) -> None:
        """Show a short text in the lower edge of the box."""
        self._note = text
        self._show_note()

    def is_typing(self, event: events.Key) -> bool:
        """Whether a key belongs to a text: it is a character that is no key here, or follows a letter at once."""
        is_late = not self._held and self._awake() >= self._wrong_until
        is_answer = bool(self._action_of(event.key)) and is_late
        return writes_character(event) and self.is_drawn and not is_answer

    def is_held_back(self, action: str) -> bool:
        """Whether a letter for this action may be the beginning of a text: it may answer something."""
        return action.partition("(")[0] not in self.AT_ONCE

    def on_key(self, event: events.Key) -> None:
        """Hold a letter back until it is clear that it is an answer; text is none."""
        if self._takes_held_key():
            event.stop()
            event.prevent_default()
            return
        # What was typed before it was drawn may be a part of what the application gives to the prompt.
        if not self.accepts_answers or event.time < self._drawn_at:
            return
        if not self._held and self._awake() >= self._held_until:
            self._letters.clear()
        if self.is_typing(event):
            event.stop()
            event.prevent_default()
            self._handle_text(event.copy())
        elif writes_character(event):
            self._letters.append(event.copy())
            self._held_until = self._awake() + HOLD_SECONDS
            if HOLD_SECONDS and self.is_held_back(self._action_of(event.key)):
                event.stop()
                event.prevent_default()
                self._hold(event.key)
        elif (held := self._release()) and event.key == "enter":
            event.stop()
            event.prevent_default()
            self._press(held)

    def on_paste(self, event: events.Paste) -> None:
        """Answer nothing with what is pasted."""
        event.stop()
        self._handle_text(events.Paste(event.text))

    def _handle_text(self, last: events.Key | events.Paste) -> None:
        """Give the letters that were held back to the field below, and what followed, or show which keys answer."""
        typed = [*self._letters, last]
        self._release()
        if self._requested:
            self._wrong_until = self._awake() + HOLD_SECONDS
            self._start_beat()
            keys = [each.key for each in self.query(Choice) if each.region and not each.disabled]
            self.show_note(f"answer with {', '.join(keys)}" if keys else "not a key of this dialog")
            return
        self._expect_text()
        if (field := self.field_below) is not None:
            for each in typed:
                field._forward_event(each)

    def _action_of(self, key: str) -> str:
        """The action of a key of the dialog; empty if it has none."""
        active = ActiveBindings(self.keys)
        chain = self._modal_binding_chain
        return next((each.action for node, _ in chain for each in active.of(node).get(key, ())), "")

    def _hold(self, key: str) -> None:
        self._held = key
        for choice in self.query(Choice):
            choice.set_class(choice.runs == self._action_of(key), "-held")
        self._start_beat()

    def _release(self) -> str:
        """Forget the letters; returns the key that was held back."""
        held, self._held = self._held, ""
        self._letters.clear()
        self.query(Choice).remove_class("-held")
        return held

    def _press(self, key: str) -> None:
        """Do what a key that was held back is for."""
        if self._on_top:
            self.app.call_later(self.app._check_bindings, key)

    def action_answer(self, value: Answer) -> None:
        """Close with `value`, as an answer."""
        self.answer(value)

    def answer(self, value: Answer) -> None:
        """Close with `value`, if answers are accepted already."""
        if self.accepts_answers and self._on_top:
            self.dismiss(value)

    def wait_or(self, answer: Callable[[], object]) -> None:
        """Let the question wait where it can, or else answer it."""
        if self.can_wait:
            self.dismiss(None)
        else:
            answer()

    def action_scroll_box(self, rows: int) -> None:
        """Scroll the content."""
        self.query_one(Box).scroll_relative(y=rows, animate=False)

    def action_page(self, pages: int) -> None:
        """Scroll by the rows in view, but one."""
        self.action_scroll_box(pages * max(1, self.query_one(Box).rows_in_view - 1))

    def withdraw(self) -> None:
        """Close without an answer, because it was given elsewhere or is no longer needed."""
        self.dismiss(None)

    @cached_property
    def _awake(self) -> Callable[[], float]:
        return ActiveClock(self.clock) if self.clock is time.monotonic else self.clock

    @property
    def _on_top(self) -> bool:
        # Textual calls a screen below a modal one current, too.
        return self.app.screen is self

    def _painted(self) -> None:
        self._drawn_at = events.Event().time
        if not self._quiet:
            self._quiet_until = self._awake()
            return
        if not self._requested and self._was_typing:
            self._typing, self._quiet = True, TYPING_SECONDS
        self._begin_quiet()

    @property
    def _was_typing(self) -> bool:
        """Whether the person typed just before, or paused in the middle of a text."""
        typed = getattr(self.app, "typed_at", float("-inf"))
        field = self.field_below
        unfinished = isinstance(field, Input | TextArea) and bool(
            field.text if isinstance(field, TextArea) else field.value
        )
        return unfinished or time.monotonic() - typed < TYPING_SECONDS

    def _start_beat(self) -> None:
        self._beat = self._beat or self.set_interval(0.05, self._count_time)

    def _count_time(self) -> None:
        """Answer with a letter that was held back long enough, and show when answers are accepted."""
        now = self._awake()
        if self._held and now >= self._held_until:
            self._press(self._release())
        if self.has_class("-quiet") and now >= (self._quiet_until or 0.0):
            self.remove_class("-quiet")
            self._show_note()
        is_waiting = self._held or self.has_class("-quiet") or now < self._wrong_until
        if self._beat is not None and not is_waiting:
            self._beat.stop()
            self._beat = None

    def _show_note(self) -> None:
        quiet = self.has_class("-quiet")
        field = self.field_below if quiet and self._typing else None
        where = "the prompt" if field is not None and field.id == "prompt" else "the field below"
        state = f"typing goes to {where}: pause to answer" if field else "answers accepted in a moment"
        if self._holds_keys:
            state, quiet, field = "press any key first", True, None
        parts = [state if field else "", self._note, state if quiet and not field else ""]
        for box in self.query(Box):
            box.border_subtitle = Content(" · ".join(filter(None, parts)))
