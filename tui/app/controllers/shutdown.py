"""The end of the application: confirmed while work runs, begun once, and completed even if something hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.events.types import Event, ObserverFinished, ObserverStarted, QueryFinished
from ua_tui.core.log import log
from ua_tui.core.view.session import SessionView
from ua_tui.tui.terminal.foreground import KILLED_AFTER
from ua_tui.tui.terminal.signals import SIGNALS

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.app.base_app import BaseApp
    from ua_tui.tui.screens.session.confirm import QuitAnswer

_BUSY = ("running", "stopping")
_CLOSE_SECONDS = 30.0
_SLOW_SECONDS, _LOOK_SECONDS, _RESTORE_SECONDS = 15.0, 1.0, 3.0
_HANGING = 0.02
"""The part of a core below which the main thread waits for something that does not come."""


class Shutdown:
    """Closes the session, then the screen, when the user or a signal asks for it.

    Args:
        app: has the session, and the queries that wait.
        stops_work: whether that ends with the session here, and is confirmed first; not if it runs elsewhere.
    """

    def __init__(self, app: UaTuiApp, *, stops_work: bool = True) -> None:
        self._app = app
        self._stops_work = stops_work
        self._begun = False
        self._when_done = False
        self._observing: dict[str, str] = {}

    @property
    def _key(self) -> str:
        return self._app.keys.shown("quit").replace("Ctrl+", "^")

    def install_signal_handlers(self) -> None:
        """Shut down in order when a signal asks the process to end."""
        if not self._app.is_headless:
            loop = asyncio.get_running_loop()
            for number in SIGNALS:
                loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        self.begin("signal", code=128 + number)

    def request(self) -> None:
        """Shut down; confirm first while work runs; end at once when requested again."""
        from ua_tui.tui.screens.session.confirm import QuitScreen

        if self._begun:
            # What is not ended by then is ended by the guard of the agent.
            end_soon(self._app, 1)
            self._app.exit(return_code=1, message=self._lost())
        elif isinstance(self._app.screen, QuitScreen) or not (self._stops_work and self._app.state in _BUSY):
            self.begin("quit")
        else:
            dialog = QuitScreen(len(self._app.queries.waiting), lambda: self._app.view.activity)
            self._app.push_screen(dialog, self._on_answer)

    def _lost(self) -> str:
        lost = "ua-tui: stopped before everything was saved"
        if self._observing:
            names = ", ".join(sorted(set(self._observing.values())))
            lost += f"; unfinished: {names} (`ua-tui observe` runs them again)"
        return f"{lost}."

    def _on_answer(self, answer: QuitAnswer | None) -> None:
        match answer:
            case "stop":
                self.begin("quit")
            case "wait":
                self._when_done = True
                self._app.status.hint = f"quits when this is done  {self._key} asks again"
                # The query may have ended while the dialog was open.
                if self._app.state not in _BUSY:
                    self.begin("quit")
            case "stay" if self._when_done:
                self._when_done = False
                self._app.status.hint = ""
            case _:
                pass

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Shut down if that is to happen after the running query, and it has ended."""
        if isinstance(event, ObserverStarted):
            self._observing[event.run_id] = event.observer
        elif isinstance(event, ObserverFinished):
            self._observing.pop(event.run_id, None)
        elif isinstance(event, QueryFinished) and self._when_done:
            if self._app.is_suspended:
                # The person first finishes what they do in a program that has the terminal.
                self._app.app_resume_signal.subscribe(self._app, self._on_resume, immediate=True)
            else:
                self.begin("quit")

    def _on_resume(self, _app: object) -> None:
        # The end of a query that has begun meanwhile calls this again.
        if self._when_done and self._app.state not in _BUSY:
            self.begin("quit")

    def begin(self, reason: str, *, code: int = 0, result: str | None = None) -> None:
        """Close everything for `reason`, then end with this exit code and result of the application."""
        if self._begun:
            return
        self._begun = True
        self._app.status.hint = f"closing…  {self._key} quits at once"
        self._app.spawn(partial(self._close, reason, code, result), "close", "close")

    async def _close(self, reason: str, code: int, result: str | None) -> None:
        try:
            if self._app.session is not None:
                self._app.queries.store_unsent()
                await asyncio.wait_for(self._app.session.close(reason), _CLOSE_SECONDS)
        except TimeoutError:
            log.warning("the session did not close within %g s", _CLOSE_SECONDS)
        except Exception:
            log.exception("the session could not be closed")
        if result is None:
            end_soon(self._app, code)
        self._app.exit(result, return_code=code)

    async def finish(self) -> None:
        """Remove the signal handlers, and close the session if the screen itself failed."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        if not self._begun and self._app.session is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._app.session.close("screen ended"), _CLOSE_SECONDS)


def end_soon(app: BaseApp, code: int) -> None:
    """End the process with this exit code if the application hangs at its end; call this when everything is saved."""
    if not app.is_headless:
        # A program that has the terminal is ended first; it may have to close a session, too.
        end_within(KILLED_AFTER + 10.0 if app.is_suspended else 4.0, code, app.restore_terminal)


def end_within(seconds: float, code: int, restore: Callable[[], None]) -> None:
    """End the process with this exit code if it hangs after `seconds`, and `restore` the terminal before.

    A terminal that is gone takes no more output, and Textual waits for it forever; a thread that hangs in a
    library delays the interpreter's own exit. Call this when everything is saved.
    """

    def end() -> None:
        until = time.monotonic() + _SLOW_SECONDS
        before = _computed()
        while time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
            # A busy machine only takes longer: what is left to do and to say would be lost.
            if (now := _computed()) - before < _HANGING * _LOOK_SECONDS:
                break
            before = now
        restoring = threading.Thread(target=restore, name="restore", daemon=True)
        restoring.start()
        restoring.join(_RESTORE_SECONDS)
        os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _computed() -> float:
    """The seconds that the main thread has computed; 0 where no system tells."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    main = threading.main_thread().ident
    return time.clock_gettime(clock_of(main)) if clock_of is not None and main is not None else 0.0
