"""Runs the person's editor on the terminal; edits a text, such as that of the prompt."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from textual.app import App, SuspendNotSupported
from textual.widget import Widget

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.text import clean_line
from ua_tui.tui.terminal.foreground import run_suspended

LARGEST_DRAFT = 4 << 20
"""Bytes; a longer text is not accepted from the editor."""


class DraftError(UniversalAgentError):
    """The draft was not changed; the message says why."""


def edit_draft(text: str, edit: Callable[[Path], int], name: str = "prompt.md") -> str | None:
    """Call `edit` with a private file that contains `text`; returns the new text, or None if it is unchanged.

    The file is called `name`: editors colour by its ending.

    The file has mode 0600 in a folder of mode 0700, as a draft may be confidential. Both are deleted afterwards, with
    everything the editor left there. The line break that editors append is removed.

    Raises:
        DraftError: the editor failed, or its result cannot be read.
        UniversalAgentError: whatever `edit` raises.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="ua-tui-"))
    except OSError as error:
        raise DraftError(
            f"The editor cannot be started: {error.strerror}. Check the folder for temporary files."
        ) from error
    try:
        return _edit(folder / name, text, edit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _edit(path: Path, text: str, edit: Callable[[Path], int]) -> str | None:
    before = text.encode("utf-8", "replace")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(before)
    except OSError as error:
        raise DraftError(f"The draft cannot be written to a file: {error.strerror}.") from error
    code = edit(path)
    if code != 0:
        raise DraftError(f"The editor exited with code {code}. The text is unchanged.")
    try:
        with open(open_regular(path), "rb") as file:
            after = file.read(LARGEST_DRAFT + 1)
    except OSError as error:
        message = f"The edited text cannot be read ({error.strerror}). The text is unchanged."
        raise DraftError(message) from error
    if len(after) > LARGEST_DRAFT:
        raise DraftError(f"The text is longer than {LARGEST_DRAFT >> 20} MB. The text is unchanged.")
    if after in (before, before + b"\n"):
        return None
    return after.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


class NoProgram(UniversalAgentError):
    """The program cannot be started; the message says why and what to do."""


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


def edit(app: App[object], path: Path) -> int:
    """Open a file in the person's editor on the terminal; returns its exit code.

    Raises:
        NoProgram: there is none, it cannot be started, or there is no terminal.
    """
    command = editor_command(os.environ)
    try:
        return run_suspended(app, [*command, os.fspath(path.absolute())])
    except SuspendNotSupported as error:
        raise NoProgram("An editor needs a terminal, and there is none here.") from error
    except OSError as error:
        message = f"The editor '{clean_line(command[0], 80)}' cannot be started ({error.strerror})"
        raise NoProgram(f"{message}: set $EDITOR to another one.") from error


def edit_file(owner: Widget, path: Path) -> bool:
    """Open a file in the person's editor, and notify them of problems; returns whether it was started."""
    try:
        code = edit(owner.app, path)
    except NoProgram as error:
        owner.notify(str(error), markup=False, severity="warning")
        return False
    if code:
        why = f"The editor exited with code {code}: {clean_line(path.name, 120)} may not be saved."
        owner.notify(why, markup=False, severity="warning")
    return True
