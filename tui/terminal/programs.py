"""Runs the person's editor on the terminal; edits a text, such as that of the prompt."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.app import App, SuspendNotSupported

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


@dataclass(frozen=True)
class Program:
    """A kind of program that the person chooses."""

    one: str
    """The name with its article."""
    variables: tuple[str, ...]
    """Variables with its command; the first that is set counts, and messages name the last."""
    usual: tuple[str, ...]
    """Commands to try if no variable is set, in this order."""

    @property
    def name(self) -> str:
        """The name without its article."""
        return self.one.partition(" ")[2]


EDITOR = Program("an editor", ("VISUAL", "EDITOR"), ("nano", "vi"))


def command_of(program: Program, environment: Mapping[str, str]) -> list[str]:
    """Return the command of a program: the one in the environment, or else the first usual one that exists.

    Raises:
        NoProgram: the variable is invalid, or no program was found.
    """
    search = environment.get("PATH", os.defpath)
    for variable in program.variables:
        value = environment.get(variable, "").strip()
        if not value:
            continue
        try:
            command = shlex.split(value)
        except ValueError as error:
            message = f"${variable} is invalid ({error}): set it to the command of {program.one}."
            raise NoProgram(message) from error
        if shutil.which(command[0], path=search) is None:
            message = f"The {program.name} '{clean_line(command[0], 80)}' in ${variable} was not found"
            raise NoProgram(f"{message}: set ${variable} to one that is installed.")
        return command
    for usual in program.usual:
        if (found := shutil.which(usual, path=search)) is not None:
            return [found]
    raise NoProgram(f"No {program.name} found: set ${program.variables[-1]} to its command.")


def edit(app: App[object], path: Path, command: Sequence[str]) -> int:
    """Open a file in the editor on the terminal; returns its exit code.

    Raises:
        NoProgram: it cannot be started, or there is no terminal.
    """
    return _run_suspended(app, EDITOR, [*command, os.fspath(path.absolute())])


def _run_suspended(app: App[object], program: Program, command: Sequence[str]) -> int:
    try:
        return run_suspended(app, command)
    except SuspendNotSupported as error:
        message = f"{program.one.capitalize()} needs a terminal, and there is none here."
        raise NoProgram(message) from error
    except OSError as error:
        message = f"The {program.name} '{clean_line(command[0], 80)}' cannot be started ({error.strerror})"
        raise NoProgram(f"{message}: set ${program.variables[-1]} to another one.") from error
