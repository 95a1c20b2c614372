"""Routes to a clipboard, tried in an order that fits the environment.

Tools of the desktop and tmux are asked afterwards what they hold. A terminal never answers to OSC 52, so a message
about that route says only that the text was sent.
"""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.terminal.desktop import find_program, has_display, is_remote, passed_on

Route = Literal["pbcopy", "wl-copy", "xclip", "xsel", "tmux", "terminal", "file", "none"]

SECONDS = 2.0
MOST_FOR_TERMINAL = 74_994
"""Bytes; many terminals accept sequences of 100,000 characters and no longer ones."""
FILE = "copied.txt"

# tmux updates these when a client attaches; a pane still has the old ones.
_UPDATED_BY_TMUX = ("SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")
_NO_OSC52 = frozenset({"linux", "dumb"})


class _Tool(NamedTuple):
    write: Sequence[str]
    read: Sequence[str]


_TOOLS: Mapping[str, _Tool] = {
    "pbcopy": _Tool(("pbcopy",), ("pbpaste",)),
    "wl-copy": _Tool(("wl-copy", "--type", "text/plain;charset=utf-8"), ("wl-paste", "--no-newline")),
    "xclip": _Tool(("xclip", "-selection", "clipboard"), ("xclip", "-selection", "clipboard", "-out")),
    "xsel": _Tool(("xsel", "--clipboard", "--input"), ("xsel", "--clipboard", "--output")),
    "tmux": _Tool(("tmux", "load-buffer", "-w", "-"), ("tmux", "save-buffer", "-")),
}


@dataclass(frozen=True)
class Copied:
    """The result of a copy: the route, and the file that holds the text; a tool's text was read back."""

    route: Route
    path: Path | None = None
    why: str = ""

    @property
    def done(self) -> bool:
        """Whether the text was copied or saved."""
        return self.route != "none"

    def describe(self, what: str) -> str:
        """Describe in one sentence what happened to `what`, such as "Path"."""
        match self.route:
            case "none":
                return f"{what} could not be copied: {self.why}"
            case "file":
                return f"{what} saved to {clean_line(str(self.path), 400)}: {self.why}"
            case "terminal":
                return f"{what} sent to the terminal (OSC 52), which does not confirm it"
            case "tmux":
                return f"{what} copied to tmux's buffer and sent to the terminal (OSC 52)"
            case _:
                return f"{what} copied with {self.route} (verified)"


def routes(environment: Mapping[str, str], platform: str, size: int) -> list[Route]:
    """Return the routes to try for a text of `size` bytes, best first, without the file.

    Over SSH the tools of this machine reach the wrong desktop, unless the display is forwarded.
    """
    remote = is_remote(environment)
    found: list[Route] = []
    if platform == "darwin" and not remote:
        found.append("pbcopy")
    if environment.get("WAYLAND_DISPLAY") and not remote:
        found.append("wl-copy")
    if has_display(environment):
        found += ["xclip", "xsel"]
    if environment.get("TMUX"):
        found.append("tmux")
    unsupported = (
        environment.get("TERM", "") in _NO_OSC52 or environment.get("TERM_PROGRAM") == "Apple_Terminal"
    )
    if not unsupported and size <= MOST_FOR_TERMINAL:
        found.append("terminal")
    return found


def osc52(text: str, environment: Mapping[str, str]) -> str:
    """Return the sequence that copies `text`, wrapped so that tmux or GNU screen passes it on."""
    sequence = f"\x1b]52;c;{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}\x07"
    if environment.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY"):
        # GNU screen passes on short strings only.
        parts = (sequence[at : at + 250] for at in range(0, len(sequence), 250))
        return "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return sequence


class Clipboard:
    """Copies text by the first route that works.

    Args:
        environment: the environment; by default that of this process.
        platform: as in `sys.platform`.
        seconds: the time limit of one tool.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        platform: str = sys.platform,
        seconds: float = SECONDS,
    ) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._platform = platform
        self._seconds = seconds
        self._lock = asyncio.Lock()

    async def copy(
        self, text: str, send: Callable[[str], object] | None = None, folder: Path | None = None
    ) -> Copied:
        """Copy `text`; a route that fails raises nothing.

        Args:
            text: the text; secrets are masked already.
            send: writes to the terminal; None if there is none.
            folder: where a file may be written if no clipboard is available.
        """
        data = text.encode("utf-8", "replace")
        async with self._lock:
            environment = await self._current_environment()
            tried: list[str] = []
            for route in routes(environment, self._platform, len(data)):
                if route == "terminal":
                    if send is not None:
                        send(osc52(text, self._environment))
                        return Copied("terminal")
                    continue
                if await self._pipe_to(_TOOLS[route], data, environment):
                    return Copied(route)
                tried.append(route)
        why = f"{', '.join(tried)} failed" if tried else "no clipboard is available here"
        return await self.save(text, folder, why)

    async def save(self, text: str, folder: Path | None, why: str) -> Copied:
        """Write `text` to a new file in `folder`; `why` is part of the message."""
        if folder is None:
            return Copied("none", why=f"{why}, and there is no session folder for a file")
        from ua_tui.core.storage.files import Root

        try:
            written = await asyncio.to_thread(
                lambda: Root(folder).write_new(FILE, text.encode("utf-8", "replace"))
            )
        except UniversalAgentError as error:
            return Copied("none", why=f"{why}; {error}")
        return Copied("file", path=folder / written.path, why=why)

    async def _current_environment(self) -> dict[str, str]:
        environment = dict(self._environment)
        if environment.get("TMUX"):
            output = await self._run(("tmux", "show-environment"), b"", environment)
            for line in (output or b"").decode("utf-8", "replace").splitlines():
                name, _, value = line.partition("=")
                if name in _UPDATED_BY_TMUX:
                    environment[name] = value
                elif name[1:] in _UPDATED_BY_TMUX and name.startswith("-"):
                    environment.pop(name[1:], None)
        return environment

    async def _pipe_to(self, tool: _Tool, data: bytes, environment: Mapping[str, str]) -> bool:
        """Send data to a tool; returns whether it can be read back."""
        if await self._run(tool.write, data, environment, answers=False) is None:
            return False
        return await self._run(tool.read, b"", environment) == data

    async def _run(
        self, command: Sequence[str], data: bytes, environment: Mapping[str, str], *, answers: bool = True
    ) -> bytes | None:
        """Run a tool; None if it is missing, fails, or takes too long."""
        program = find_program(command[0], environment.get("PATH", ""))
        if program is None:
            return None
        # A tool that keeps serving the clipboard keeps its outputs open: do not wait for their end.
        output = asyncio.subprocess.PIPE if answers else asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *command[1:],
                stdin=asyncio.subprocess.PIPE,
                stdout=output,
                stderr=asyncio.subprocess.DEVNULL,
                env=passed_on(environment),
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            return None
        try:
            async with asyncio.timeout(self._seconds):
                answer, _ = await process.communicate(data)
        except (TimeoutError, OSError):
            return None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return (answer or b"") if process.returncode == 0 else None
