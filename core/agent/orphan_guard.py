"""Ends the command-line agent when this program dies without having done so, as when it is killed."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

__all__ = ["OrphanGuard"]

log = logging.getLogger(__name__)

_RELEASED_WITHIN = 2.0
# The agent goes on with a request it tries again, for minutes, after its input has ended. Nothing but its input tells
# it of our end, and no system but Linux ends a child with its parent: a shell waits for the end of a pipe instead.
_SCRIPT = """
read -r _ && exit
sleep 1; kill -TERM "$1" || exit
sleep 2; kill -KILL "$1"
"""


class OrphanGuard:
    """A small process of its own that ends another one some seconds after this one is gone, unless it is released."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._shell: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Begin to watch; where there is no shell nothing is watched, which is logged."""
        try:
            self._shell = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _SCRIPT, "ua-tui-guard", str(self._pid),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                # What ends everything at the terminal must not end it first.
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            log.warning("the agent is not watched over: %s", error)

    def release(self) -> None:
        """Watch no more: the process has ended, or is going to."""
        if self._shell is not None and self._shell.stdin is not None and not self._shell.stdin.is_closing():
            with suppress(OSError):
                self._shell.stdin.write(b"\n")
            self._shell.stdin.close()

    async def close(self) -> None:
        """Release it and wait until it is gone; never raises."""
        self.release()
        shell, self._shell = self._shell, None
        if shell is None:
            return
        try:
            await asyncio.wait_for(shell.wait(), _RELEASED_WITHIN)
        except TimeoutError:
            log.warning("what watched over the agent did not end and is killed")
            with suppress(ProcessLookupError):
                shell.kill()
            await shell.wait()
