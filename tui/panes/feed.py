"""The view of the session on the screen: each event is folded into it once, then shown by the panes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from ua_tui.core.events.types import Event
from ua_tui.core.view.session import SessionView

log = logging.getLogger(__name__)


@runtime_checkable
class EventHandler(Protocol):
    """A pane or a controller that shows the session, or acts on what happens in it."""

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Handle an event, which `view` has already."""

    def show_view(self, view: SessionView) -> None:
        """Show what the events since the last time have changed."""


class EventFeed:
    """Owns the view of a session, and hands what happens in it to everything that shows it.

    Args:
        report_failure: is given a handler that raised; the others get the event all the same.
        handlers: get each event, and are shown the view after each batch, one after the other.
        view: the session before the first event.
    """

    def __init__(
        self,
        report_failure: Callable[[EventHandler], None],
        handlers: Iterable[EventHandler] = (),
        view: SessionView | None = None,
    ) -> None:
        self.handlers: list[EventHandler] = list(handlers)
        self.view = view or SessionView(changed={})
        self._report_failure = report_failure

    def handle(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order, and show what they changed."""
        self.add(events)
        view = self.view
        for handler in self.handlers:
            try:
                handler.show_view(view)
            except Exception:
                self._failed(handler)

    def add(self, events: Sequence[Event]) -> None:
        """Add events to the view, and to what the handlers know."""
        view, handlers = self.view, self.handlers
        for event in events:
            view.add(event)
            for handler in handlers:
                try:
                    handler.handle_event(event, view)
                except Exception:
                    self._failed(handler)

    def show(self, handler: EventHandler) -> None:
        """Let a handler show what has changed."""
        try:
            handler.show_view(self.view)
        except Exception:
            self._failed(handler)

    def _failed(self, handler: EventHandler) -> None:
        log.exception("%s could not handle an event", type(handler).__name__)
        self._report_failure(handler)
