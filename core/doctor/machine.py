"""What a session needs of this machine: Python, the agent's command line, a folder that can be written to."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from core.agent.environment import cli_environment
from core.doctor.check import Finding, failed, ok, warning
from core.provider.claude_login import claude_program
from core.settings.model import Settings
from core.text import clean_line

__all__ = ["look_at_agent", "look_at_folder", "look_at_python"]

OLDEST_PYTHON = (3, 11)
OLDEST_AGENT = (2, 0, 0)
FEW_BYTES = 100 << 20

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_REINSTALL = "reinstall claude-agent-sdk, or set cli_path to an installed `claude`"


async def look_at_python(
    version: tuple[int, ...] = sys.version_info[:3], system: str = platform.system()
) -> Finding:
    """Tell the version of Python and whether the system is one of those that it was made for."""
    told = f"{'.'.join(map(str, version))} on {system}"
    if version[:2] < OLDEST_PYTHON:
        return failed(told, "install Python 3.11 or later")
    if system not in {"Linux", "Darwin"}:
        return warning(told, "only Linux and macOS are supported: use WSL on Windows")
    return ok(told)


async def look_at_agent(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Start the command line of the agent and have it tell its version."""
    path = claude_program(settings)
    if path is None:
        missing = (
            f"{settings.cli_path} is not there" if settings.cli_path else "there is no Claude command line"
        )
        return failed(missing, _REINSTALL)
    name = "the bundled Claude command line" if path.parent.name == "_bundled" else str(path)
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**environ, **cli_environment(environ, {"DISABLE_AUTOUPDATER": "1"})},
        )
    except OSError as error:
        return failed(f"{name} cannot be started: {error.strerror}", _REINSTALL)
    try:
        assert process.stdout is not None
        said = clean_line((await process.stdout.read(4096)).decode("utf-8", "replace"), 80)
        code = await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    found = _VERSION.search(said)
    if code or found is None:
        told = f"ended with {code}" if code else f"says {said!r}"
        return failed(f"{name} {told} when it is asked for its version", _REINSTALL)
    if tuple(map(int, found.groups())) < OLDEST_AGENT:
        return failed(f"{name} is {found[0]}, which is too old", "update it, or leave cli_path unset")
    return ok(f"{name}, {found[0]}")


async def look_at_folder(settings: Settings) -> Finding:
    """Write a file where sessions would be kept, and take it away again."""
    return await asyncio.to_thread(_write, settings.workspace_base)


def _write(base: Path) -> Finding:
    # The folder is made with the first session: the nearest one there is must let that happen.
    advice = "choose another folder with --workspace"
    try:
        place = next(folder for folder in (base, *base.absolute().parents) if folder.exists())
    except OSError as error:
        # The name is too long, or a folder on the way may not be entered.
        return failed(f"{base} cannot be looked for: {error.strerror}", advice)
    if not place.is_dir():
        return failed(f"{place} is in the way: it is no folder", advice)
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".ua-tui-") as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(place).free
    except OSError as error:
        return failed(f"{place} cannot be written to: {error.strerror}", advice)
    if free < FEW_BYTES:
        return warning(f"{place} has only {free >> 20} MB left", "make room on the disk, or use --workspace")
    return ok(f"{base} can be written to")
