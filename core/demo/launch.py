"""Starts the demo's servers as a child process and ends them again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.errors import DemoError

__all__ = ["DemoEndpoints", "demo_servers"]

START_SECONDS = 30.0
STOP_SECONDS = 3.0
KEPT_LINES = 20
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "TZ")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DemoEndpoints:
    """Where the demo's servers listen, all on loopback.

    `model_url` goes into ANTHROPIC_BASE_URL, `composio_url` and `composio_api_key` to the Composio SDK,
    `article_route` (".example=127.0.0.1:PORT") to the toolkit's `--route`.
    """

    model_url: str
    composio_url: str
    composio_api_key: str
    article_route: str

    @property
    def address(self) -> str:
        """HOST:PORT, for whoever has to allow it."""
        return self.article_route.partition("=")[2]


@asynccontextmanager
async def demo_servers(pace: float) -> AsyncIterator[DemoEndpoints]:
    """Run the demo's servers while the block runs; raises DemoError when they do not come up.

    The child has a session of its own, so a Ctrl+C in the terminal does not reach it, and it ends by itself
    when this process dies, because its standard input ends then.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-m", "core.demo", "--pace", str(pace),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise DemoError(f"The demo's servers could not be started: {error.strerror}.") from error
    errors: deque[str] = deque(maxlen=KEPT_LINES)
    reader = asyncio.create_task(_keep_errors(process, errors))
    try:
        yield await _endpoints(process, reader, errors)
    finally:
        try:
            await _end(process)
        finally:
            await _end_reading(reader)


async def _endpoints(
    process: asyncio.subprocess.Process, reader: asyncio.Task[None], errors: deque[str]
) -> DemoEndpoints:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
    except TimeoutError as error:
        raise DemoError(f"The demo's servers did not start within {START_SECONDS:.0f} seconds.") from error
    if not line:
        await asyncio.wait({reader}, timeout=STOP_SECONDS)
        reason = errors[-1] if errors else "they ended without a word"
        raise DemoError(f"The demo's servers could not be started: {reason}")
    try:
        return DemoEndpoints(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise DemoError("The demo's servers started, but did not say where they listen.") from error


async def _keep_errors(process: asyncio.subprocess.Process, errors: deque[str]) -> None:
    """Read what the child logs, so that it never blocks, and keep the last lines to explain a failure."""
    assert process.stderr is not None
    while True:
        try:
            line = await process.stderr.readline()
        except ValueError:
            continue
        if not line:
            return
        text = line.decode("utf-8", "replace").rstrip()
        if text:
            errors.append(text)
            log.debug("%s", text)


async def _end_reading(reader: asyncio.Task[None]) -> None:
    """Read what the child wrote last, and no longer: a process of its own may hold the pipe open."""
    try:
        await asyncio.wait({reader}, timeout=STOP_SECONDS)
    finally:
        reader.cancel()
        await asyncio.wait({reader})
    if not reader.cancelled() and (error := reader.exception()) is not None:
        log.warning("what the demo's servers wrote could not be read to its end", exc_info=error)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the child: by closing its input, else by a signal, else by force."""
    if process.stdin is not None:
        process.stdin.close()
    for harder in (process.terminate, process.kill, None):
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
            return
        except TimeoutError:
            if harder is not None:
                with contextlib.suppress(ProcessLookupError):
                    harder()


def _environment() -> dict[str, str]:
    """No secrets for a child that needs none, and no pydantic plug-ins: they import a tracing library."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**kept, "PYDANTIC_DISABLE_PLUGINS": "__all__"}
