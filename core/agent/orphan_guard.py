"""Ends the command-line agent, and what it has started, when this program is killed or dies without doing so."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress

from ua_tui.core.agent.bounds import STEP_SECONDS

log = logging.getLogger(__name__)

# The agent continues to retry a request for minutes after its input has ended. Only its input shows it that we have
# ended, and only Linux can end a child with its parent: instead, a shell, which needs little memory, waits for the end
# of a pipe.
_SCRIPT = """
read -r _ && exit
exec "$2" -I -m ua_tui.core.concurrency.process_tree "$1"
"""


class OrphanGuard:
    """A small process that ends another one some seconds after this program has ended, unless it is released."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._shell: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the guard; without a shell there is none, which is logged."""
        try:
            self._shell = await asyncio.create_subprocess_exec(
                "/bin/sh", "-c", _SCRIPT, "ua-tui-guard", str(self._pid), sys.executable,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                # A signal to everything at the terminal must not end it first.
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            log.warning("the agent has no guard: %s", error)

    def release(self) -> None:
        """End the guard's watch: the process has ended, or is about to."""
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
            await asyncio.wait_for(shell.wait(), STEP_SECONDS)
        except TimeoutError:
            log.warning("the guard of the agent did not end and is killed")
            with suppress(ProcessLookupError):
                shell.kill()
            await shell.wait()
