"""Calls the person back to the screen: by the bell or a notification of the desktop, and only when nobody looks.

A query that took long and came to its end is told while the terminal does not have the focus. A question is
told to whoever is away: without the focus, or without having touched anything for a while. Where the terminal
does not say whether it has the focus, whoever touched something just now is taken to look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from os import environ
from typing import Literal

from textual import events
from textual.app import App

from core.events.types import (
    AuthFinished,
    AuthRequired,
    Event,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    ServerTrustAnswered,
    ServerTrustAsked,
)
from core.redaction.redactor import Redactor
from core.settings.model import Settings
from core.settings.secrets import secrets
from core.text import clean_line

__all__ = ["Attention", "AttentiveApp", "SetupMethod", "notification", "way_of"]

SetupMethod = Literal["bell", "osc9", "osc777", "off"]

LONG_SECONDS = 10.0
"""A query that took no longer is not worth a call."""
HERE_SECONDS = 10.0
"""Whoever pressed or clicked something within this time looks at the screen."""
MOST_OF_QUERY = 60

_OSC9_TERMS = ("xterm-kitty", "xterm-ghostty", "ghostty", "wezterm")
_OSC9_PROGRAMS = frozenset({"iterm.app", "wezterm", "ghostty", "kitty"})
_OSC777_TERMS = ("foot", "contour")
_OSC777_PROGRAMS = frozenset({"contour"})
# What a multiplexer passes on depends on its settings; the bell it always takes.
_BETWEEN = ("TMUX", "STY", "ZELLIJ")
_BETWEEN_TERMS = ("screen", "tmux")


def way_of(setting: str, environment: Mapping[str, str]) -> SetupMethod:
    """Choose how this terminal is to call: as the person chose, or for `auto` as its environment tells."""
    match setting:
        case "bell" | "osc9" | "osc777" | "off":
            chosen: SetupMethod = setting
            return chosen
    term = environment.get("TERM", "").lower()
    program = environment.get("TERM_PROGRAM", "").lower()
    if any(environment.get(name) for name in _BETWEEN) or term.startswith(_BETWEEN_TERMS):
        return "bell"
    if term.startswith(_OSC9_TERMS) or program in _OSC9_PROGRAMS:
        return "osc9"
    if term.startswith(_OSC777_TERMS) or program in _OSC777_PROGRAMS:
        return "osc777"
    return "bell"


def notification(way: SetupMethod, text: str) -> str:
    """Return what makes the terminal call; `text` is one line."""
    # Nothing in it may end the sequence, whoever wrote it.
    text = clean_line(text, 200)
    match way:
        case "osc9":
            return f"\x1b]9;{text}\x07"
        case "osc777":
            # Semicolons part the fields of this one.
            return f"\x1b]777;notify;ua-tui;{text.replace(';', ',')}\x07"
        case "bell":
            return "\x07"
        case "off":
            return ""


class Attention:
    """Knows whether somebody looks, and what has to be told when nobody does.

    Args:
        settings: how to call, and whose secrets no notification may show.
        write: sends to the terminal, on the loop's thread.
        environment: by which the terminal is known; the process's own by default.
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
        self._query = ""
        self.focused: bool | None = None
        """Whether the terminal has the focus; None as long as it has not said so."""

    def touched(self) -> None:
        """Note that somebody pressed or clicked something."""
        self._touched_at = self._now()
        if self.focused is False:
            self.focused = True

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, and call at most once for all of it."""
        told = ""
        questions: dict[str, str] = {}
        for event in events:
            match event:
                case QueryReceived():
                    self._query = event.text
                case QueryFinished() if event.status != "interrupted" and self._is_long(event):
                    how = "has its answer" if event.status == "success" else "failed"
                    told = f"ua-tui: the query {how}"
                case PermissionAsked():
                    questions[event.request_id] = "ua-tui: a tool call waits for your permission"
                case PermissionAnswered():
                    questions.pop(event.request_id, None)
                case AuthRequired():
                    questions[""] = "ua-tui: an account waits to be connected"
                case AuthFinished():
                    questions.pop("", None)
                case ServerTrustAsked():
                    questions["server " + event.server] = (
                        "ua-tui: a server of this folder waits to be trusted"
                    )
                case ServerTrustAnswered():
                    questions.pop("server " + event.server, None)
                case _:
                    pass
        if questions and self._is_away():
            self._tell(list(questions.values())[-1])
        elif told and self._is_out_of_sight():
            self._tell(told)

    def _is_long(self, event: QueryFinished) -> bool:
        return event.duration_ms > LONG_SECONDS * 1000

    def _is_quiet(self) -> bool:
        return self._now() - self._touched_at >= HERE_SECONDS

    def _is_out_of_sight(self) -> bool:
        return self._is_quiet() if self.focused is None else not self.focused

    def _is_away(self) -> bool:
        """Whether a question might not be seen: a terminal that has the focus may still have nobody before it."""
        return self.focused is False or self._is_quiet()

    def _tell(self, what: str) -> None:
        if self._way == "off":
            return
        if self._way != "bell" and self._query:
            what = f"{what}: {self._title()}"
        self._write(notification(self._way, what))

    def _title(self) -> str:
        # Masked before it is cut: of a secret that is cut in two nothing would be recognised.
        redacted = Redactor(secrets(self._settings, environ)).redact(self._query[:10_000])
        return clean_line(redacted, MOST_OF_QUERY)


class AttentiveApp(App[str]):
    """An application that tells its `attention` of the terminal's focus and of everything that is pressed."""

    attention: Attention | None = None
    typed_at = float("-inf")
    """When somebody typed into the prompt last, whether or not that stands there yet."""

    async def on_event(self, event: events.Event) -> None:
        """Note what somebody pressed or clicked on its way to where it belongs."""
        if isinstance(event, events.InputEvent) and self.attention is not None:
            self.attention.touched()
        if isinstance(event, events.Key | events.Paste) and self._is_typed(event):
            self.typed_at = time.monotonic()
        await super().on_event(event)

    def _is_typed(self, event: events.Key | events.Paste) -> bool:
        if len(self.screen_stack) != 1 or (isinstance(event, events.Key) and not event.is_printable):
            return False
        # Before the prompt is there nothing has the focus.
        return self.focused is None or self.focused.id == "prompt"

    def on_app_focus(self) -> None:
        """Note that the terminal has the focus."""
        if self.attention is not None:
            self.attention.focused = True

    def on_app_blur(self) -> None:
        """Note that the terminal has lost the focus."""
        if self.attention is not None:
            self.attention.focused = False

    def call_back(self, batch: Sequence[Event]) -> None:
        """Call somebody who does not look, when something of this is worth it."""
        if self.attention is not None:
            self.attention.handle_events(batch)

    def write_to_terminal(self, text: str) -> None:
        """Send a sequence to the terminal; there is none before the start and after the end."""
        if self._driver is not None:
            self._driver.write(text)
