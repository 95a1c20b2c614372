"""Checks the machine: Python, the Claude Code CLI, the folder of the sessions, and the knowledge base."""

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

from ua_tui.core.agent.environment import cli_environment
from ua_tui.core.doctor.findings import Finding, failed, ok, skipped, warning
from ua_tui.core.events.units import quantity, size
from ua_tui.core.knowledge.place import place_of
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.plugins import PluginProblem, list_plugins
from ua_tui.core.provider.credentials import claude_program
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line

OLDEST_AGENT = (2, 0, 0)
FEW_BYTES = 100 << 20

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_REINSTALL = "reinstall claude-agent-sdk, or set cli_path to an installed `claude`"


async def check_python() -> Finding:
    """Report the version of Python, and whether the system is supported."""
    system = platform.system()
    found = f"{'.'.join(map(str, sys.version_info[:3]))} on {system}"
    if system not in {"Linux", "Darwin"}:
        return warning(found, "only Linux and macOS are supported: use WSL on Windows")
    return ok(found)


async def check_plugins(settings: Settings) -> Finding:
    """Import what other packages add, and list it."""
    if not settings.plugins:
        return skipped("off, by --no-plugins or the setting plugins")
    problems: list[PluginProblem] = []
    found = await asyncio.to_thread(list_plugins, problems.append)
    if problems:
        names = ", ".join(each.plugin for each in problems)
        why = problems[0].message if len(problems) == 1 else "each is skipped; `ua-tui config` says why"
        return failed(f"{names}: {why}", "fix or uninstall what is skipped; sessions run without it")
    return ok("; ".join(found) or "none")


async def check_agent(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Start the agent's command line and read its version."""
    path = claude_program(settings)
    if path is None:
        missing = (
            f"{settings.cli_path} does not exist"
            if settings.cli_path
            else "the Claude Code CLI was not found"
        )
        return failed(missing, _REINSTALL)
    name = "the bundled Claude Code CLI" if path.parent.name == "_bundled" else str(path)
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
        output = clean_line((await process.stdout.read(4096)).decode("utf-8", "replace"), 80)
        code = await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    found = _VERSION.search(output)
    if code or found is None:
        result = f"ended with {code}" if code else f"printed {output!r}"
        return failed(f"{name} --version {result}", _REINSTALL)
    if tuple(map(int, found.groups())) < OLDEST_AGENT:
        return failed(f"{name} is {found[0]}, which is too old", "update it, or leave cli_path unset")
    return ok(f"{name}, {found[0]}")


async def check_folder(settings: Settings) -> Finding:
    """Write a file where sessions are kept, and delete it again."""
    return await asyncio.to_thread(_write, settings.workspace_base)


def _write(base: Path) -> Finding:
    # The first session creates the folder: its nearest existing parent must be writable.
    advice = "choose another folder with --workspace"
    try:
        place = next(folder for folder in (base, *base.absolute().parents) if folder.exists())
    except OSError as error:
        # The name is too long, or a parent folder may not be entered.
        return failed(f"{base} cannot be checked: {error.strerror}", advice)
    if not place.is_dir():
        return failed(f"{place} is not a folder", advice)
    try:
        with tempfile.TemporaryFile(dir=place, prefix=".ua-tui-") as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(place).free
    except OSError as error:
        return failed(f"{place} is not writable: {error.strerror}", advice)
    if free < FEW_BYTES:
        return warning(
            f"{place} has only {free >> 20} MB left",
            f"free some space, or {advice}",
        )
    return ok(f"{base} is writable")


async def check_knowledge(settings: Settings) -> Finding:
    """Read the file of the knowledge base, if there is one."""
    path = place_of(settings)
    if path is None:
        return skipped("turned off (setting knowledge)")
    status = await asyncio.to_thread(read_status, path)
    if status.problems:
        return warning(
            status.problems[0], "`ua-tui knowledge` shows more; sessions run without the knowledge base"
        )
    if not status.exists:
        return ok(f"{path} will be created by the first session")
    documents = quantity(sum(status.documents.values()), "document")
    return ok(f"{path}, {documents} from {quantity(status.sessions, 'session')}, {size(status.size)}")
