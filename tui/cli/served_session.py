"""A session in browsers: the full screen, drawn for the process that serves it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from typing import Any

from textual.color import Color
from textual.drivers import web_driver

from ua_tui.tui.cli import main


class SteadyDriver(web_driver.WebDriver):
    """Draws for a process that may be gone: output it does not read is discarded, and the session ends in order.

    Textual's own driver raises then, and takes the screen down before the session could be closed. The page learns the
    background of the theme, for what is left of the window beside the last column and below the last row.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._gone = False
        self._write = self._write_steadily  # type: ignore[assignment]  # Textual has a partial function there

    def start_application_mode(self) -> None:
        """Start drawing, and give the page the background of the theme and of every theme after it."""
        super().start_application_mode()
        self._app.watch(self._app, "theme", self._write_background)

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle what the serving process says: also that another tab shows the screen from now on."""
        if packet_type == "join":
            self._app.call_later(self._draw_again)
        else:
            super().on_meta(packet_type, payload)

    def _draw_again(self) -> None:
        # The alternative screen without a cursor, as when the screen began.
        self.write("\x1b[?1049h\x1b[?25l")
        self._enable_mouse_support()
        self._enable_bracketed_paste()
        self._write_background()
        self._app.refresh()

    def _write_background(self) -> None:
        background = Color.parse(self._app.get_css_variables()["background"])
        # OSC 11 sets the terminal's background, OSC 111 restores it: its colours are those of a theme of 16 colours.
        self.write(f"\x1b]11;{background.hex6}\x07" if background.ansi is None else "\x1b]111\x07")

    def _write_steadily(self, data: bytes) -> int:
        try:
            return os.write(self.fileno, data)
        except OSError:
            if not self._gone:
                self._gone = True
                os.kill(os.getpid(), signal.SIGTERM)
            return len(data)


def run() -> int:
    """Run the screen with the arguments of this process; returns its exit code."""
    # The screen is drawn through another channel, which this output would disturb.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the process ends
    web_driver.WebDriver = SteadyDriver  # type: ignore[misc]  # named in the environment, for all who read it
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    return main(sys.argv[1:])


def _end_with(parent: int) -> None:
    """Shut down in order when the serving process is gone: nobody could see or stop the session."""
    while os.getppid() == parent:
        time.sleep(2.0)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(run())
