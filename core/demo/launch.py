"""Starts the servers of the demo as a child process, and makes the settings of a session that uses them.

There is a recorded research session, too, which `python -m tests.recording` plays and packs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import msgspec

from ua_tui.core.errors import DemoError
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings

START_SECONDS = 45.0
STOP_SECONDS = 3.0
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "TZ")

_MODEL = "claude-sonnet-5"
_KEY = "demo-key-of-no-value"


class DemoEndpoints(msgspec.Struct, frozen=True):
    """Where the demo's server is, on loopback: the model, the Composio that takes the key, and the invented press."""

    url: str
    composio_api_key: str

    @property
    def address(self) -> str:
        """HOST:PORT, for a list of allowed addresses."""
        return self.url.removeprefix("http://")

    @property
    def article_route(self) -> str:
        """The toolkit's `--route` to the press (".example=127.0.0.1:PORT")."""
        return f".example={self.address}"


@asynccontextmanager
async def demo_servers(pace: float) -> AsyncIterator[DemoEndpoints]:
    """Run the demo's servers while the block runs; raises DemoError if they do not start.

    The child has its own session, so that Ctrl+C in the terminal does not reach it. When this process dies, its
    standard input ends, and with it the child.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-m", "ua_tui.core.demo", str(pace),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=_environment(),
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise DemoError(
                f"the demo's servers could not be started: {error.strerror}; try again."
            ) from error
        try:
            yield await _endpoints(process, errors)
        finally:
            await _end(process)


async def _endpoints(process: asyncio.subprocess.Process, errors: IO[bytes]) -> DemoEndpoints:
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
    except TimeoutError as error:
        raise DemoError(
            f"the demo's servers did not start within {START_SECONDS:g} seconds; try again."
        ) from error
    if not line:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").split("\n")
        reason = next((line for line in reversed(lines) if line.strip()), "they ended without a message")
        raise DemoError(f"the demo's servers could not be started: {reason}")
    return msgspec.json.decode(line, type=DemoEndpoints)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the child: close its input, then send SIGTERM, then SIGKILL."""
    if process.stdin is not None:
        process.stdin.close()
    for escalate in (process.terminate, process.kill, None):
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
            return
        except TimeoutError:
            if escalate is not None:
                with contextlib.suppress(ProcessLookupError):
                    escalate()


def _environment() -> dict[str, str]:
    """An environment without secrets, and without pydantic plug-ins, which would import a tracing library."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**kept, "PYDANTIC_DISABLE_PLUGINS": "__all__"}


def demo_settings(settings: Settings, endpoints: DemoEndpoints, *, of_team: bool = False) -> Settings:
    """Direct all connections of a session to the demo's servers, whatever else is configured.

    A session `of_team` keeps the team's knowledge base. What chooses the model counts only if it was given by name, as
    options are.
    """
    given = {
        name: getattr(settings, name) if settings.options.get(name) is not None else None
        for name in ("model", "effort", "context_window")
    }
    return replace(
        settings,
        **given | {"model": given["model"] or _MODEL},
        simple_model=None,
        fallback_model=None,
        custom_headers=None,
        base_url=endpoints.url,
        api_key=_KEY,
        auth_token=None,
        composio_base_url=endpoints.url,
        composio_api_key=endpoints.composio_api_key,
        web_reader_key=None,
        mcp_servers=(),
        knowledge="on" if isinstance(settings.knowledge, Address) and not of_team else settings.knowledge,
        logfire_token=None,
    )


SESSION = "session_20261121_140200"
PACKED = Path(__file__).with_name("recording.tar.xz")


def unpack_recording(base: Path) -> Path:
    """Put the recorded session below a folder; returns its own folder.

    Raises:
        OSError: there is no room for it.
    """
    with tarfile.open(PACKED) as packed:
        for member in packed:
            if (file := packed.extractfile(member)) is not None:
                target = base / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read())
    return base / SESSION
