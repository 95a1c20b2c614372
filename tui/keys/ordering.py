"""A queue of keys: each takes effect before the next one is delivered, however fast they come.

Textual gives every key at once to the widget that has the focus at that moment, and runs the binding of a key only
when the event has gone up through all the widgets. So of keys that come in one read, such as those of a person who
types ahead over a slow line, the later ones would reach a widget that the first one leads away from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget

_CHECK_SECONDS = 0.1
_MOST_CHECKS = 30
"""How often to wait that long for the message. While the event loop is busy or starved no check comes, either."""
_NOBODY = -1
"""In place of the number of a key: keys are paused."""


class KeyQueue:
    """Holds a key until the one before it was handled.

    Args:
        app: gets the keys; it passes `KeyFollowed` on to `on_key_followed`.
        deliver: gives an event to the widget that has the focus.
    """

    @dataclass
    class KeyFollowed(Message, verbose=True):
        """Goes the way of a key, behind it."""

        number: int
        rounds: int

    def __init__(self, app: App[Any], deliver: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._number = 0
        self._waiting_for = 0
        self._target: Widget | None = None
        self._held: deque[events.Key | events.Paste] = deque()

    def pause(self) -> None:
        """Until `resume` hold all keys, and ignore the mouse: the widgets they are for do not exist yet."""
        self._waiting_for = _NOBODY

    def drop(self) -> None:
        """Forget the keys that are held."""
        self._held.clear()

    async def resume(self) -> None:
        """Deliver the keys that were held, in order, and then those that come."""
        await self._deliver_next(_NOBODY)

    async def handle(self, event: events.Event) -> None:
        """Deliver an event; hold it if it is a key or a paste, and an earlier one is not done."""
        if isinstance(event, events.MouseEvent) and self._waiting_for == _NOBODY:
            return
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await self._deliver(event)
        elif not self._waiting_for:
            await self._deliver_key(event)
        else:
            if not self._held and self._waiting_for != _NOBODY:
                self._check_later(self._waiting_for)
            self._held.append(event)

    def on_key_followed(self, message: KeyFollowed) -> None:
        """Deliver the next key when all effects of this one are done."""
        message.stop()
        if message.rounds > 1:
            self._follow(message.number, message.rounds - 1)
        else:
            # Deferred effects, such as giving the focus to another widget, come first.
            self._app.call_later(self._deliver_next, message.number)

    async def _deliver_key(self, event: events.Key | events.Paste, *, anyway: bool = False) -> None:
        self._number += 1
        self._waiting_for = number = self._number
        target = self._receiver()
        if target is not None and not (target.is_mounted or anyway):
            # Its actions look for widgets that it does not have yet.
            self._held.appendleft(event)
            self._follow(number, 1, target)
            self._check_later(number)
            return
        await self._deliver(event)
        if (
            target is not None
            and isinstance(event, events.Key)
            and target.check_consume_key(event.key, event.character)
        ):
            # It only adds text to the focused widget; there may be very many of those.
            self._waiting_for = 0
        else:
            # The effects of a key, such as the submission of an input, are complete with the second message.
            self._follow(number, 2, target)

    def _follow(self, number: int, rounds: int, target: Widget | None = None) -> None:
        self._target = target = target or self._receiver()
        if target is None or not target.post_message(self.KeyFollowed(number, rounds)):
            self._app.call_later(self._deliver_next, number)

    async def _deliver_next(self, number: int, *, anyway: bool = False) -> None:
        if number != self._waiting_for:
            return
        self._waiting_for = 0
        while self._held and not self._waiting_for:
            await self._deliver_key(self._held.popleft(), anyway=anyway)
        if self._held:
            self._check_later(self._waiting_for)

    def _check_later(self, number: int, checks: int = _MOST_CHECKS) -> None:
        self._app.set_timer(_CHECK_SECONDS, partial(self._check, number, checks - 1))

    async def _check(self, number: int, checks: int) -> None:
        """Stop waiting for the message if a widget that was removed never handles it, or one that hangs."""
        if not checks or self._target is None or not self._target.is_attached:
            await self._deliver_next(number, anyway=not checks)
        elif number == self._waiting_for:
            self._check_later(number, checks)

    def _receiver(self) -> Widget | None:
        """The first widget to get a key that no binding handles; None while there is no screen."""
        return (self._app.focused or self._app.screen) if self._app.screen_stack else None
