"""The way out: asked for when work runs, taken once, and finished even when something hangs."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp
    from tui.screens.session.quit import QuitAnswer

__all__ = ["Leaving", "end_within"]

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_BUSY = ("running", "stopping")
_CLOSE_SECONDS = 30.0
_EXIT_SECONDS = 4.0
WAITING = "quits when this is done"

log = logging.getLogger(__name__)


class Leaving:
    """Closes the session of `app`, then the screen, when the person or a signal wants it."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._begun = False
        self._after: int | None = None

    @property
    def _key(self) -> str:
        return self._app.keys.shown("quit").replace("Ctrl+", "^")

    def heed_signals(self) -> None:
        """Leave in good order when a signal asks for the end."""
        if not self._app.is_headless:
            loop = asyncio.get_running_loop()
            for number in _SIGNALS:
                loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        self.leave("signal", code=128 + number)

    def ask(self) -> None:
        """Leave; ask first while work runs, whether to wait for it; end at once when asked again."""
        from tui.screens.session.quit import QuitScreen

        if self._begun:
            self._app.exit(return_code=1)
        elif isinstance(self._app.screen, QuitScreen) or self._app.state not in _BUSY:
            self.leave("quit")
        else:
            self._app.push_screen(QuitScreen(self._app.waiting, self._app.at_work), self._answered)

    def _answered(self, answer: QuitAnswer | None) -> None:
        match answer:
            case "stop":
                self.leave("quit")
            case "wait":
                self._after = self._app.at_work.finished
                self._app.status.hint = f"{WAITING}  {self._key} asks again"
                # The query may have ended while the dialog was read.
                if self._app.state not in _BUSY:
                    self.leave("quit")
            case "stay" if self._after is not None:
                self._after = None
                self._app.status.hint = ""
            case _:
                pass

    def look(self) -> None:
        """Leave if that was to be done when the query is done, and it is."""
        if self._after is not None and self._app.at_work.finished > self._after:
            self.leave("quit")

    def leave(self, reason: str, *, code: int = 0, result: str | None = None) -> None:
        """Close everything for `reason` and end with this exit code and result of the application."""
        if self._begun:
            return
        self._begun = True
        self._app.status.hint = f"closing…  {self._key} leaves at once"
        self._app.spawn(self._close(reason, code, result), "close", "close")

    async def _close(self, reason: str, code: int, result: str | None) -> None:
        try:
            if self._app.session is not None:
                self._app.queries.keep()
                await asyncio.wait_for(self._app.session.close(reason), _CLOSE_SECONDS)
        except TimeoutError:
            log.warning("the session did not close within %g s", _CLOSE_SECONDS)
        except Exception:
            log.exception("the session could not be closed")
        if not self._app.is_headless and result is None:
            end_within(_EXIT_SECONDS, code)
        self._app.exit(result, return_code=code)

    async def finish(self) -> None:
        """Give the signals back, and close the session after a failure of the screen itself."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        if not self._begun and self._app.session is not None:
            with suppress(Exception):
                await asyncio.wait_for(self._app.session.close("screen ended"), _CLOSE_SECONDS)


def end_within(seconds: float, code: int) -> None:
    """End the process with this exit code if it still lives `seconds` from now.

    A terminal that is gone takes no more output, and Textual waits for it forever; a thread that hangs in a
    library holds up the interpreter's own exit. By the time this is called everything is saved.
    """
    timer = threading.Timer(seconds, os._exit, (code,))
    timer.daemon = True
    timer.start()
