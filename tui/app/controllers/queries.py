"""The queries a user sends: kept until the session accepts them, shown while they wait, and open to changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.view.session import SessionView
from ua_tui.tui.app.port import controls_or_notify

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.ports import Inbox
    from ua_tui.tui.screens.session.queue import QueueScreen

_ACCEPTS = ("idle", "running", "stopping")


class Queries:
    """Gives queries to the session, and shows above the prompt which ones wait.

    A query that is sent before there is a session, or while the agent has failed, is kept here. It comes after those
    that wait in the session.
    """

    def __init__(self, app: UaTuiApp, first: str | None = None) -> None:
        self._app = app
        self._unsent: list[str] = [first] if first else []
        self._screen: QueueScreen | None = None

    @property
    def waiting(self) -> tuple[str, ...]:
        """All waiting queries, the next one first."""
        session = self._app.session
        # An idle session starts what it was given at once: that is not waiting.
        in_session = session is not None and (self._is_paused or self._app.state != "idle")
        return (*(session.queued if session is not None and in_session else ()), *self._unsent)

    @property
    def _inbox(self) -> Inbox | None:
        return self._app.session.inbox if self._app.session is not None else None

    @property
    def _is_paused(self) -> bool:
        return self._app.controls is not None and self._app.controls.queue_paused

    def show_view(self, view: SessionView) -> None:
        """Show what waits after a batch of events."""
        self.show()

    def send(self, text: str) -> None:
        """Give a query to the session, or keep it until the session accepts it; the conversation follows it."""
        self._app.frame.follow_conversation()
        self._unsent.append(text)
        self.send_unsent()

    def send_unsent(self) -> None:
        """Give the session the queries that it did not accept before."""
        inbox = self._inbox
        while inbox is not None and self._unsent and self._app.state in _ACCEPTS:
            inbox.submit(self._unsent.pop(0))
        self.show()

    def steer(self, text: str) -> None:
        """Send a message to the running query; without one it becomes a query."""
        inbox = self._inbox
        if inbox is None or self._app.state != "running":
            self.send(text)
        else:
            self._app.frame.follow_conversation()
            self._app.spawn(partial(self._steer, inbox, text), "steer", "agent")

    async def _steer(self, inbox: Inbox, text: str) -> None:
        if await inbox.steer(text):
            message = "The agent reads it at its next step."
        else:
            message = "The agent cannot take the query now, so it is queued and runs next."
        self._app.notify(message)
        self.show()

    def stop_subagent(self, tool_use_id: str) -> None:
        """Stop the sub-agent that a call started."""
        if (controls := controls_or_notify(self._app)) is not None:
            self._app.spawn(partial(self._stop_subagent, controls, tool_use_id), "stop", "agent")

    async def _stop_subagent(self, controls: Session, tool_use_id: str) -> None:
        try:
            if await controls.stop_subagent(tool_use_id):
                return
            self._app.notify("This sub-agent is not running.")
        except ConnectionFailed as error:
            stop = self._app.keys.shown("stop")
            message = f"The sub-agent was not stopped ({error}): {stop} stops the query."
            self._app.notify(message, severity="warning")

    def resume(self) -> None:
        """Run the queries that are paused because an earlier one did not succeed."""
        controls = self._app.controls
        if controls is None or not controls.queue_paused:
            return
        if self._app.state == "failed":
            key = self._app.keys.shown("restart")
            self._app.notify(f"The agent has failed: restart it with {key} first.")
        else:
            self._app.frame.follow_conversation()
            controls.resume_queue()
        self.show()

    def edit_last(self) -> None:
        """Move the newest waiting query back into the prompt."""
        text = (
            self._unsent.pop()
            if self._unsent
            else self._app.controls and self._app.controls.queue.pop_newest()
        )
        if text:
            self._app.frame.prompt.put(text)
        self.show()

    def change(self, seen: Sequence[str], wanted: Sequence[str]) -> bool:
        """Replace the waiting queries `seen` by `wanted`; False if other queries wait by now."""
        session, controls = self._app.session, self._app.controls
        if tuple(seen) != self.waiting:
            return False
        in_session = len(self.waiting) - len(self._unsent)
        if session is not None and in_session:
            if controls is None or not controls.queue.change(session.queued, wanted):
                return False
            self._unsent.clear()
        else:
            self._unsent[:] = wanted
        self.show()
        return True

    def notify_unsent(self) -> None:
        """Say that the resumed session has queries that were never sent, once its agent accepts some."""
        session = self._app.session
        if session is None or not self._is_paused or self._app.state not in _ACCEPTS:
            return
        count = len(session.queued)
        what, them = ("1 query was", "it") if count == 1 else (f"{count} queries were", "them")
        send = self._app.keys.shown("prompt.send")
        message = f"{what} never sent: {send} in the empty prompt sends {them}."
        self._app.notify(message, severity="warning", timeout=20.0)

    def store_unsent(self) -> None:
        """Let the session store, for when it is resumed, the queries that it did not accept."""
        session, controls = self._app.session, self._app.controls
        if session is not None and controls is not None and self._unsent:
            waiting = session.queued
            if controls.queue.change(waiting, (*waiting, *self._unsent)):
                self._unsent.clear()

    def open(self) -> None:
        """Open the list of waiting queries."""
        from ua_tui.tui.screens.session.queue import QueueScreen

        if self.waiting:
            self._screen = QueueScreen(lambda: self.waiting, self.change)
            self._app.push_screen(self._screen, self._on_closed)
        else:
            self._app.notify("No query is waiting.")

    def _on_closed(self, text: str | None) -> None:
        self._screen = None
        if text is not None:
            self._app.frame.show("prompt")
            self._app.frame.prompt.put(text)

    def show(self) -> None:
        """Show the waiting queries above the prompt, and in their list if that is open."""
        self._app.frame.prompt.show_queue(self.waiting, paused=self._is_paused)
        if self._screen is not None and self._app.screen is self._screen:
            self._screen.refresh_queue()
