"""The process of a session, and the browser tab that shows it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from ua_tui.core.errors import SettingsError
from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.text import clean
from ua_tui.tui.graphics.capabilities import TERMINAL_VARIABLES
from ua_tui.tui.terminal.links import browser_link

CHILD = (sys.executable, "-I", "-m", "ua_tui.tui.cli.served_session")
HAS_ENDED = "has ended; its files are kept"
LEAVE_SECONDS = 15.0
"""How long a session may take to close before it is killed."""

CLOSE_SECONDS = 4.0
"""How long a tab may take to close before it is cut off."""

# Variables that describe the terminal in which the server was started; the screen is not in that one.
_ELSEWHERE = ("TMUX_PANE", "NO_COLOR", "COLORTERM", *TERMINAL_VARIABLES)
_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")


@dataclass(frozen=True, eq=False)
class Tab:
    """The connection to a page."""

    websocket: web.WebSocketResponse
    transport: asyncio.Transport

    async def send(self, data: bytes | str) -> None:
        """Send something to draw, or a message; what a page misses that is gone is drawn again in the next one."""
        with suppress(ConnectionError, RuntimeError):
            if isinstance(data, bytes):
                await self.websocket.send_bytes(data)
            else:
                await self.websocket.send_str(data)

    async def close(self, last: str) -> None:
        """Send a last message, then close the connection; a page that does not answer is cut off."""
        closing = asyncio.create_task(self._close(last))
        # It is not cancelled: that would cancel who else waits to write there, too.
        _, late = await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
        if late:
            self.transport.abort()
        await closing

    async def _close(self, last: str) -> None:
        await self.send(last)
        await self.websocket.close()


class ServedSession(AppService):
    """Runs a session, and forwards input and output of the tab that shows it, if there is one.

    Args:
        arguments: those of `ua-tui`.
        here: whether the browsers are on this machine, and may use its desktop.
    """

    def __init__(self, arguments: Sequence[str], *, here: bool) -> None:
        super().__init__(
            "",
            write_bytes=self._send,
            write_str=self._send,
            close=lambda: self._close_tab(ended(HAS_ENDED)),
            download_manager=DownloadManager(),
        )
        self._arguments = arguments
        self._here = here
        self._tab: Tab | None = None
        self._moving: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._said = b""
        self._hearing: asyncio.Task[None] | None = None

    @property
    def is_shown(self) -> bool:
        """Whether a tab shows it."""
        return self._tab is not None

    @property
    def is_over(self) -> bool:
        """Whether it ends or has ended."""
        return self._ending is not None or (
            self._process is not None and self._process.returncode is not None
        )

    async def show(self, tab: Tab, width: int, height: int) -> None:
        """Start it in a tab, or draw it there from now on; a tab that showed it until now is told so."""
        before, self._tab = self._tab, tab
        if before is not None:
            # Not waited for: it may not answer any more.
            self._moving.add(moving := asyncio.create_task(before.close('["moved"]')))
            moving.add_done_callback(self._moving.discard)
        await self._send(json.dumps(["session", self.app_service_id]))
        if self._starting is None:
            # A page that joins meanwhile must not start another process, and one that gives up must not stop this.
            self._starting = asyncio.create_task(self.start(width, height))
            await asyncio.shield(self._starting)
        else:
            await asyncio.shield(self._starting)
            await self.set_terminal_size(width, height)
            await self.send_meta({"type": "join"})

    async def leave(self, tab: Tab) -> None:
        """Stop drawing in a tab that is gone, if this session still is in it."""
        if self._tab is tab:
            self._tab = None
            if not self.is_over:
                await self.blur()

    async def wait(self) -> None:
        """Wait until its process has ended."""
        if self._process is not None:
            await self._process.wait()

    async def _send(self, data: bytes | str) -> None:
        if self._tab is not None:
            await self._tab.send(data)

    async def _close_tab(self, last: str) -> None:
        if self._tab is not None:
            await self._tab.close(last)

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
            await self._close_tab(await self._describe_end())

    async def _describe_end(self) -> str:
        """The message to the page that the session ended, and why if it failed."""
        process = self._process
        if process is None:
            return ended(HAS_ENDED)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 6.0)
            if self._hearing is not None:
                await asyncio.wait_for(asyncio.shield(self._hearing), 1.0)
        if process.returncode == 0:
            return ended(HAS_ENDED)
        said = _masked(self._said.decode("utf-8", "replace")).strip()
        code = process.returncode
        how = "has ended, but its process has not"
        if code is not None:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        log.warning("a session %s: %s", how, said or "it said nothing")
        return ended(how, said)

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
        if self._starting is not None:
            await asyncio.wait([self._starting])
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
            await asyncio.gather(process.wait(), *drains, *self._moving, return_exceptions=True)
            await self._close_tab(ended("has ended with its server; its files are kept"))

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
                    await self._send(json.dumps(["pong", sent[:40]]))
                case ["alive"]:
                    await self._send('["alive"]')
                case _:
                    pass
        except (ValueError, RecursionError):
            return


def ended(how: str, said: str = "") -> str:
    """The message to the page that a session ended: `how` completes a sentence, `said` is what it said of that."""
    return json.dumps(["ended", {"how": how, "said": said}])


def cells(wanted: int) -> int:
    """Return a valid size in cells."""
    return min(max(wanted, 1), 1000)


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
