"""Runs the person's editor and pager on the terminal."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.app import App, SuspendNotSupported

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.terminal.foreground import run_suspended


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
PAGER = Program("a pager", ("PAGER",), ("less", "more"))


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


def page(app: App[object], text: str, command: Sequence[str]) -> int:
    """Show `text`, which must be clean, in the pager on the terminal; returns its exit code.

    Raises:
        NoProgram: it cannot be started, or there is no terminal.
    """
    return _run_suspended(app, PAGER, command, text.encode("utf-8", "replace"))


def _run_suspended(
    app: App[object], program: Program, command: Sequence[str], data: bytes | None = None
) -> int:
    try:
        return run_suspended(app, command, data)
    except SuspendNotSupported as error:
        message = f"{program.one.capitalize()} needs a terminal, and there is none here."
        raise NoProgram(message) from error
    except OSError as error:
        message = f"The {program.name} '{clean_line(command[0], 80)}' cannot be started ({error.strerror})"
        raise NoProgram(f"{message}: set ${program.variables[-1]} to another one.") from error
