"""The process behind one browser tab: started for it, and ended with it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from ua_tui.core.errors import SettingsError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.secrets import secrets
from ua_tui.core.text import clean
from ua_tui.tui.terminal.links import browser_link

log = logging.getLogger(__name__)

CHILD = (sys.executable, "-I", "-m", "ua_tui.tui.cli.served_tab")
LEAVE_SECONDS = 15.0
"""How long a session may take to close before it is killed."""

# Variables that describe the terminal in which the server was started; the screen is not in that one.
_ELSEWHERE = (
    "TMUX",
    "TMUX_PANE",
    "STY",
    "ZELLIJ",
    "KITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
    "WEZTERM_PANE",
    "WT_SESSION",
    "MLTERM",
    "NO_COLOR",
    "COLORTERM",
)
_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")


class BrowserTab(AppService):
    """Starts the session, and forwards input and output.

    Args:
        arguments: those of `ua-tui`.
        write_bytes: sends what is drawn to the browser.
        write_str: sends what the browser is to do.
        close: ends the connection.
        here: whether the browser is on this machine, and may use its desktop.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        write_bytes: Callable[[bytes], Awaitable[None]],
        write_str: Callable[[str], Awaitable[None]],
        close: Callable[[], Awaitable[object]],
        here: bool,
    ) -> None:
        async def closing() -> None:
            await close()

        super().__init__(
            "",
            write_bytes=write_bytes,
            write_str=write_str,
            close=closing,
            download_manager=DownloadManager(),
        )
        self._arguments = arguments
        self._here = here
        self._ending: asyncio.Task[None] | None = None
        self._said = b""
        self._hearing: asyncio.Task[None] | None = None

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        environment = super()._build_environment(width, height)
        for name in _ELSEWHERE if self._here else (*_ELSEWHERE, *_DESKTOP):
            environment.pop(name, None)
        return {**environment, "TERM": "xterm-256color"}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # A session of its own: Ctrl+C at the server's terminal is for the server, which then ends this.
        self._process = process = await asyncio.create_subprocess_exec(
            *CHILD,
            *self._arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(width, height),
            start_new_session=True,
        )
        self._stdin = process.stdin
        if process.stderr is not None:
            self._hearing = asyncio.create_task(self._hear(process.stderr))
        # The library would write it to the server's terminal as it is.
        process.stderr = asyncio.StreamReader()
        process.stderr.feed_eof()
        return process

    async def _hear(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(65536):
            self._said = (self._said + data)[-4_000:]

    async def run(self) -> None:
        """Forward output until the process or the connection ends, then end the other."""
        await super().run()
        if self._ending is None:
            await self._report_end()
            await self.remote_close()

    async def _report_end(self) -> None:
        """Show on the page why the session ended, if it failed."""
        process = self._process
        if process is None:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 6.0)
            if self._hearing is not None:
                await asyncio.wait_for(asyncio.shield(self._hearing), 1.0)
        if process.returncode == 0:
            return
        said = _masked(self._said.decode("utf-8", "replace")).strip()
        how = _how(process.returncode)
        log.warning("a session %s: %s", how, said or "it said nothing")
        with suppress(Exception):
            await self.remote_write_str(json.dumps(["ended", {"how": how, "said": said}]))

    async def on_meta(self, data: bytes) -> None:
        """Handle a request of the session to the browser: to open web links, and nothing else.

        The end of its screen is ignored: the end of the process follows, with its exit code.
        """
        asked = json.loads(data)
        match asked.get("type"):
            case "open_url" if browser_link(str(asked.get("url"))) is not None:
                await super().on_meta(data)
            case _:
                pass

    async def stop(self) -> None:
        """Close the session in order, and end the process in any case."""
        if self._process is None:
            return
        if self._ending is None:
            self._ending = asyncio.create_task(self._end(self._process))
        # Whoever comes later waits for the same end, and who gives up waiting does not cut it short.
        await asyncio.shield(self._ending)

    async def _end(self, process: Process) -> None:
        drains: list[asyncio.Task[None]] = [] if self._hearing is None else [self._hearing]
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGTERM)
            # A process whose drawings nobody takes would stand still.
            drains.append(asyncio.create_task(_drain(process.stdout)))
            await asyncio.wait_for(process.wait(), LEAVE_SECONDS)
        except TimeoutError:
            pass
        finally:
            # What the session started and left behind goes, too.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            for drain in drains:
                drain.cancel()
            await asyncio.gather(process.wait(), *drains, return_exceptions=True)

    async def handle_message(self, text: str) -> None:
        """Handle a message of the browser; an invalid one is ignored."""
        try:
            match json.loads(text):
                case ["stdin", str(keys)]:
                    await self.send_bytes(keys.encode("utf-8", "replace"))
                case ["resize", {"width": int(width), "height": int(height)}]:
                    await self.set_terminal_size(cells(width), cells(height))
                case ["focus", *_]:
                    await self.focus()
                case ["blur", *_]:
                    await self.blur()
                case ["ping", str(sent)]:
                    await self.remote_write_str(json.dumps(["pong", sent[:40]]))
                case _:
                    pass
        except (ValueError, RecursionError):
            return


def cells(wanted: int) -> int:
    """Return a valid size in cells."""
    return min(max(wanted, 1), 1000)


def _how(code: int | None) -> str:
    if code is None:
        return "came to its end, but its process did not"
    return f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"


def _masked(text: str) -> str:
    """What a session said on its standard error, as a browser may see it: clean and without secrets."""
    try:
        settings = load_settings()
    except SettingsError:
        # That may be what it is about; the environment has its secrets all the same.
        settings = Settings()
    return clean(Redactor(secrets(settings, os.environ)).redact(text))


async def _drain(stream: asyncio.StreamReader | None) -> None:
    while stream is not None and await stream.read(65536):
        pass
