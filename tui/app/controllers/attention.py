"""Calls an absent user back to the screen, by the bell or a desktop notification.

The end of a long query is announced while the terminal does not have the focus. A question is announced if the user is
away: the terminal does not have the focus, or there was no input for a while. Recent input counts as focus if the
terminal does not report its focus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from os import environ
from typing import Literal

from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
)
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.text import clean_line
from ua_tui.core.view.session import SessionView
from ua_tui.tui.graphics.capabilities import is_multiplexed

NotificationMethod = Literal["bell", "osc9", "osc777", "off"]

LONG_SECONDS = 10.0
"""A query that took no longer is not announced."""
HERE_SECONDS = 10.0
"""A user who pressed or clicked something within this time is at the screen."""

_OSC9_TERMS = ("xterm-kitty", "xterm-ghostty", "ghostty", "wezterm")
_OSC9_PROGRAMS = frozenset({"iterm.app", "wezterm", "ghostty", "kitty"})
_OSC777_TERMS = ("foot", "contour")
_OSC777_PROGRAMS = frozenset({"contour"})


def way_of(setting: str, environment: Mapping[str, str]) -> NotificationMethod:
    """Choose how to notify in this terminal: as set, or for `auto` according to its environment."""
    match setting:
        case "bell" | "osc9" | "osc777" | "off":
            chosen: NotificationMethod = setting
            return chosen
    term = environment.get("TERM", "").lower()
    program = environment.get("TERM_PROGRAM", "").lower()
    if is_multiplexed(environment):
        # It always passes the bell on.
        return "bell"
    if term.startswith(_OSC9_TERMS) or program in _OSC9_PROGRAMS:
        return "osc9"
    if term.startswith(_OSC777_TERMS) or program in _OSC777_PROGRAMS:
        return "osc777"
    return "bell"


def notification(way: NotificationMethod, text: str) -> str:
    """Return the sequence that makes the terminal show `text`, which becomes one line."""
    # Untrusted text must not end the sequence.
    text = clean_line(text, 200)
    match way:
        case "osc9":
            return f"\x1b]9;{text}\x07"
        case "osc777":
            # Semicolons separate the fields of this sequence.
            return f"\x1b]777;notify;ua-tui;{text.replace(';', ',')}\x07"
        case "bell":
            return "\x07"
        case "off":
            return ""


class Attention:
    """Knows whether the user is at the screen, and notifies them of important events if not.

    Args:
        settings: how to notify, and the secrets that no notification may show.
        write: sends to the terminal, on the loop's thread.
        environment: identifies the terminal; the process's own by default.
        now: a clock in seconds.
    """

    def __init__(
        self,
        settings: Settings,
        write: Callable[[str], object],
        environment: Mapping[str, str] = environ,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._write = write
        self._environment = environment
        self._now = now
        self._way = way_of(settings.notify, environment)
        self._touched_at = float("-inf")
        self._query = self._ended = ""
        self._questions: dict[str, str] = {}
        self.focused: bool | None = None
        """Whether the terminal has the focus; None until it reports that."""
        self.is_suspended = False
        """Whether another program has the terminal."""

    def touched(self) -> None:
        """Note that the user pressed or clicked something."""
        self._touched_at = self._now()
        if self.focused is False:
            self.focused = True

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Note what to notify of."""
        match event:
            case QueryReceived():
                self._query = event.text
            case QueryFinished() if event.status != "interrupted" and event.duration_ms > LONG_SECONDS * 1000:
                how = "is answered" if event.status == "success" else "failed"
                self._ended = f"ua-tui: the query {how}"
            case PermissionAsked():
                self._questions[event.request_id] = "ua-tui: a tool call needs your permission"
            case ElicitationAsked():
                self._questions[event.request_id] = f"ua-tui: {event.server} has a question for you"
            case PermissionAnswered() | ElicitationAnswered():
                self._questions.pop(event.request_id, None)
            case AuthRequired():
                self._questions[""] = "ua-tui: an account needs to be connected"
            case AuthFinished():
                self._questions.pop("", None)
            case _:
                pass

    def show_view(self, view: SessionView) -> None:
        """Notify at most once of all that was noted."""
        questions, ended = self._questions, self._ended
        self._questions, self._ended = {}, ""
        if questions and self._is_away():
            self._notify(list(questions.values())[-1])
        elif ended and (self._is_away() if self.focused is None else self.is_suspended or not self.focused):
            self._notify(ended)

    def announce(self, text: str) -> None:
        """Notify a user who is away of a question in another session."""
        if self._is_away():
            self._notify(f"ua-tui: {text}")

    def _is_away(self) -> bool:
        """Whether a question might not be seen: nobody may sit at a terminal that has the focus."""
        is_quiet = self._now() - self._touched_at >= HERE_SECONDS
        return self.is_suspended or self.focused is False or is_quiet

    def _notify(self, text: str) -> None:
        if self._way == "off":
            return
        if self._way != "bell" and self._query:
            text = f"{text}: {self._title()}"
        self._write(notification(self._way, text))

    def _title(self) -> str:
        from ua_tui.core.redaction.redactor import Redactor

        # Redacted before it is cut: half a secret would not be recognised.
        redacted = Redactor(secrets(self._settings, environ)).redact(self._query[:10_000])
        return clean_line(redacted, 60)
