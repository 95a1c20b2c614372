"""The view of the session on the screen: each event is folded into it once, then shown by the panes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from ua_tui.core.events.types import Event
from ua_tui.core.log import log
from ua_tui.core.view.session import SessionView


@runtime_checkable
class EventHandler(Protocol):
    """A pane or a controller that acts on what happens in the session."""

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Handle an event, which `view` has already."""


@runtime_checkable
class ViewHandler(Protocol):
    """A pane or a controller that shows the session."""

    def show_view(self, view: SessionView) -> None:
        """Show what the events since the last time have changed."""


Handler = EventHandler | ViewHandler


class EventFeed:
    """Owns the view of a session, and hands what happens in it to everything that shows it.

    Attributes:
        view: what is known of the session.
        view_handlers: those that are shown the view.

    Args:
        report_failure: is given a handler that raised; the others get the event all the same.
        handlers: get each event, or are shown the view after each batch, or both.
    """

    def __init__(self, report_failure: Callable[[Handler], None], handlers: Iterable[Handler] = ()) -> None:
        self.view = SessionView(changed={})
        self._report_failure = report_failure
        self.use(handlers)

    def use(self, handlers: Iterable[Handler]) -> None:
        """Hand everything to these from now on, one after the other."""
        handlers = list(handlers)
        self._event_handlers = [each for each in handlers if isinstance(each, EventHandler)]
        self.view_handlers = [each for each in handlers if isinstance(each, ViewHandler)]

    def handle(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order, and show what they changed."""
        self.add(events)
        for handler in self.view_handlers:
            self.show(handler)

    def add(self, events: Sequence[Event]) -> None:
        """Add events to the view, and to what the handlers know."""
        view, handlers = self.view, self._event_handlers
        for event in events:
            view.add(event)
            for handler in handlers:
                try:
                    handler.handle_event(event, view)
                except Exception:
                    self._failed(handler)

    def show(self, handler: ViewHandler) -> None:
        """Let a handler show what has changed."""
        try:
            handler.show_view(self.view)
        except Exception:
            self._failed(handler)

    def _failed(self, handler: Handler) -> None:
        log.exception("%s could not handle an event", type(handler).__name__)
        self._report_failure(handler)
