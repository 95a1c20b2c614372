"""Keys take effect one after the other, however fast they come.

Textual gives every key at once to the widget that has the focus at that moment, and runs the binding of a key only
when the event has gone up through all the widgets. So of keys that come in one read, such as those of a person who
types ahead over a slow line, the later ones would reach a widget that the first one leads away from.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from textual import events
from textual.app import App
from textual.message import Message
from textual.widget import Widget

__all__ = ["OrderedKeysApp"]

_ROUNDS = 2
"""What a key sets off, such as the answer of an input line, is done when a second message came the same way."""
_LONGEST_SECONDS = 0.25
"""A widget that is taken off the screen may take the message along with it."""
_NOBODY = -1
"""In place of the number of a key: what the keys are for is not there yet."""


class OrderedKeysApp(App[str]):
    """An application that holds a key until the one before it was dealt with."""

    class KeyFollowed(Message, verbose=True):
        """Goes the way of a key, behind it."""

        def __init__(self, number: int, rounds: int) -> None:
            super().__init__()
            self.number = number
            self.rounds = rounds

    _number = 0
    _waiting_for = 0
    _held: deque[events.Key | events.Paste] | None = None

    def hold_keys(self) -> None:
        """Take no key until `release_keys`: what they are for is not there yet."""
        self._waiting_for = _NOBODY

    async def release_keys(self) -> None:
        """Take the keys that were held, in order, and go on with those that come."""
        await self._go_on(_NOBODY)

    async def on_event(self, event: events.Event) -> None:
        """Take a key or a paste only when it is its turn."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif not self._waiting_for:
            await self._take(event)
        else:
            if self._held is None:
                self._held = deque()
            if not self._held and self._waiting_for != _NOBODY:
                self.set_timer(_LONGEST_SECONDS, partial(self._go_on, self._waiting_for))
            self._held.append(event)

    async def on_ordered_keys_app_key_followed(self, message: KeyFollowed) -> None:
        """Go on with the next key when everything that this one set off is done."""
        message.stop()
        if message.rounds > 1:
            self._follow(message.number, message.rounds - 1)
        else:
            # What was put off until later, such as giving the focus to another widget, comes first.
            self.call_later(self._go_on, message.number)

    async def _take(self, event: events.Key | events.Paste) -> None:
        self._number += 1
        self._waiting_for = number = self._number
        target = self._receiver()
        await super().on_event(event)
        if _is_written(event, target):
            self._waiting_for = 0
        else:
            self._follow(number, _ROUNDS, target)

    def _follow(self, number: int, rounds: int, target: Widget | None = None) -> None:
        target = target or self._receiver()
        if target is None or not target.post_message(self.KeyFollowed(number, rounds)):
            self.call_later(self._go_on, number)

    async def _go_on(self, number: int) -> None:
        if number != self._waiting_for:
            return
        self._waiting_for = 0
        while self._held and not self._waiting_for:
            await self._take(self._held.popleft())
        if self._held:
            self.set_timer(_LONGEST_SECONDS, partial(self._go_on, self._waiting_for))

    def _receiver(self) -> Widget | None:
        """The widget that gets a key that no binding takes first; None while there is no screen."""
        return (self.focused or self.screen) if self.screen_stack else None


def _is_written(event: events.Key | events.Paste, target: Widget | None) -> bool:
    """Whether an event only adds text where the focus is: it leads nowhere else, and there may be very many of them."""
    return (
        target is not None
        and isinstance(event, events.Key)
        and target.check_consume_key(event.key, event.character)
    )
