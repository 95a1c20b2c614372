"""Runs the person's editor on the terminal; edits a text, such as that of the prompt."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from textual.app import App
from textual.widget import Widget

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.text import clean_line
from ua_tui.tui.terminal.foreground import NoProgram, run_suspended, start_in_front

LARGEST_DRAFT = 4 << 20
"""Bytes; a longer text is not accepted from the editor."""


class DraftError(UniversalAgentError):
    """The draft was not changed; the message says why."""


async def edit_draft(
    text: str, edit: Callable[[Path], Awaitable[int]], name: str = "prompt.md"
) -> str | None:
    """Call `edit` with a private file that contains `text`; returns the new text, or None if it is unchanged.

    The file is called `name`: editors colour by its ending.

    The file has mode 0600 in a folder of mode 0700, as a draft may be confidential. Both are deleted afterwards, with
    everything the editor left there. The line break that editors append is removed.

    Raises:
        DraftError: the editor failed, or its result cannot be read.
        UniversalAgentError: whatever `edit` raises.
    """
    before = text.encode("utf-8", "replace")
    try:
        folder = Path(tempfile.mkdtemp(prefix="ua-tui-"))
    except OSError as error:
        raise DraftError(
            f"The editor cannot be started: {error.strerror}. Check the folder for temporary files."
        ) from error
    try:
        _write(folder / name, before)
        if (code := await edit(folder / name)) != 0:
            raise DraftError(f"The editor exited with code {code}. The text is unchanged.")
        after = _read(folder / name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if after in (before, before + b"\n"):
        return None
    return after.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def _write(path: Path, text: bytes) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text)
    except OSError as error:
        raise DraftError(f"The draft cannot be written to a file: {error.strerror}.") from error


def _read(path: Path) -> bytes:
    try:
        with open(open_regular(path), "rb") as file:
            text = file.read(LARGEST_DRAFT + 1)
    except OSError as error:
        message = f"The edited text cannot be read ({error.strerror}). The text is unchanged."
        raise DraftError(message) from error
    if len(text) > LARGEST_DRAFT:
        raise DraftError(f"The text is longer than {LARGEST_DRAFT >> 20} MB. The text is unchanged.")
    return text


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the editor: the one in $VISUAL or $EDITOR, or else the first usual one that exists.

    Raises:
        NoProgram: the variable is invalid, or no editor was found.
    """
    search = environment.get("PATH", os.defpath)
    for variable in ("VISUAL", "EDITOR"):
        value = environment.get(variable, "").strip()
        if not value:
            continue
        try:
            command = shlex.split(value)
        except ValueError as error:
            raise NoProgram(
                f"${variable} is invalid ({error}): set it to the command of an editor."
            ) from error
        if shutil.which(command[0], path=search) is None:
            message = f"The editor '{clean_line(command[0], 80)}' in ${variable} was not found"
            raise NoProgram(f"{message}: set ${variable} to one that is installed.")
        return command
    for usual in ("nano", "vi"):
        if (found := shutil.which(usual, path=search)) is not None:
            return [found]
    raise NoProgram("No editor found: set $EDITOR to its command.")


async def edit(app: App[object], path: Path) -> int:
    """Open a file in the person's editor on the terminal, in a job of `start_in_front`; returns its exit code.

    Raises:
        NoProgram: there is none, it cannot be started, or there is no terminal.
    """
    command = editor_command(os.environ)
    name = f"The editor '{clean_line(command[0], 80)}'"
    return await run_suspended(app, [*command, os.fspath(path)], name, advice="set $EDITOR to another one")


def edit_file(owner: Widget, path: Path, edited: Callable[[], object]) -> None:
    """Open a file in the person's editor, call `edited` when it ends, and notify them of problems."""
    start_in_front(owner.app, partial(_edit_file, owner, path.absolute(), edited))


async def _edit_file(owner: Widget, path: Path, edited: Callable[[], object]) -> None:
    try:
        code = await edit(owner.app, path)
    except NoProgram as error:
        owner.notify(str(error), severity="warning")
        return
    if code:
        why = f"The editor exited with code {code}: {clean_line(path.name, 120)} may not have been saved."
        owner.notify(why, severity="warning")
    edited()
