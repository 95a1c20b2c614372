"""The way of what a person sends: kept until the session takes it, shown while it waits, open to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp
    from tui.ports import SessionPort

__all__ = ["Queries"]

_TAKES = ("idle", "running", "stopping")
_TOLD_SECONDS = 20.0


class Queries:
    """Hands queries to the session of `app` and shows above the prompt what waits, here and there.

    What is sent before there is a session, or while the agent is gone, is kept here, behind what the session has.
    """

    def __init__(self, app: UaTuiApp, first: str | None = None) -> None:
        self._app = app
        self._unsent: list[str] = [first] if first else []

    @property
    def waiting(self) -> tuple[str, ...]:
        """Everything that waits, the next one first."""
        session = self._app.session
        # An idle session takes up what it was given in the same breath: that is not waiting.
        theirs = session is not None and (session.queue_paused or self._app.state != "idle")
        return (*(session.queued if session is not None and theirs else ()), *self._unsent)

    def send(self, text: str) -> None:
        """Hand a query on, or keep it until the session can take it."""
        self._unsent.append(text)
        self.send_on()

    def send_on(self) -> None:
        """Hand on what could not be handed on before."""
        session = self._app.session
        while session is not None and self._unsent and str(session.state) in _TAKES:
            session.submit(self._unsent.pop(0))
        self.show()

    def steer(self, text: str) -> None:
        """Say something into the running query; without one it is sent like any other."""
        if self._app.session is None or self._app.state != "running":
            self.send(text)
        else:
            self._app.spawn(self._steer(self._app.session, text), "steer", "agent")

    async def _steer(self, session: SessionPort, text: str) -> None:
        heard = await session.steer(text)
        told = (
            "The agent hears it at its next step." if heard else "The agent cannot hear it now: it runs next."
        )
        self._app.notify(told, markup=False)
        self.show()

    def go_on(self) -> None:
        """Let queries run that are held since one before them did not succeed."""
        session = self._app.session
        if session is None or not session.queue_paused:
            return
        if self._app.state == "failed":
            key = self._app.keys.shown("restart")
            self._app.notify(f"The agent is gone: {key} restarts it first.", markup=False)
        else:
            session.resume_queue()
        self.show()

    def take_back(self) -> None:
        """Put the newest waiting query back into the prompt."""
        text = self._unsent.pop() if self._unsent else self._app.session and self._app.session.unqueue()
        if text:
            self._app.frame.prompt.put(text)
        self.show()

    def change(self, seen: Sequence[str], wanted: Sequence[str]) -> bool:
        """Let `wanted` wait instead of `seen`; False when that is no longer what waits."""
        session = self._app.session
        if tuple(seen) != self.waiting:
            return False
        theirs = len(self.waiting) - len(self._unsent)
        if session is not None and theirs:
            if not session.change_queue(session.queued, wanted):
                return False
            self._unsent.clear()
        else:
            self._unsent[:] = wanted
        self.show()
        return True

    def tell_unsent(self) -> None:
        """Say of what waits for the person, now that there is an agent, that it never was sent."""
        session = self._app.session
        if session is None or not session.queue_paused or str(session.state) not in _TAKES:
            return
        count = len(session.queued)
        what, them = (
            ("The query at the prompt was", "it") if count == 1 else (f"{count} queries were", "them")
        )
        send = self._app.keys.shown("prompt.send")
        told = f"{what} never sent: {send} in the empty prompt sends {them}, ↑ takes {them} back."
        self._app.notify(told, severity="warning", timeout=_TOLD_SECONDS, markup=False)

    def keep(self) -> None:
        """Have the session keep, for when it goes on, what could not be handed to it; none of it runs any more."""
        session = self._app.session
        if session is not None and self._unsent:
            waiting = session.queued
            if session.change_queue(waiting, (*waiting, *self._unsent)):
                self._unsent.clear()

    def open(self) -> None:
        """Show all that waits, to put it in order."""
        from tui.screens.session.queue import QueueScreen

        def settle(text: str | None) -> None:
            if text is not None:
                self._app.frame.show("prompt")
                self._app.frame.prompt.put(text)

        if self.waiting:
            self._app.push_screen(QueueScreen(lambda: self.waiting, self.change), settle)
        else:
            self._app.notify("Nothing waits.", markup=False)

    def show(self) -> None:
        """Show what waits now."""
        session = self._app.session
        held = session is not None and session.queue_paused
        self._app.frame.prompt.show_queue(self.waiting, held=held)
        if (renew := getattr(self._app.screen, "renew", None)) is not None:
            renew()
