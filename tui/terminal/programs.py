"""The person's own editor and pager, given the terminal for as long as they run."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.app import App, SuspendNotSupported

from core.errors import UniversalAgentError
from core.text import clean_line
from tui.terminal.foreground import run_in_foreground

__all__ = ["EDITOR", "PAGER", "NoProgram", "Program", "command_of", "edit", "page"]


class NoProgram(UniversalAgentError):
    """No such program can be started; the message says why and what to do."""


@dataclass(frozen=True)
class Program:
    """A kind of program that the person chooses."""

    one: str
    """With its article, as in a sentence."""
    variables: tuple[str, ...]
    """That may name its command; the first that is set counts, and the last is the one to tell of."""
    usual: tuple[str, ...]
    """Taken where nothing is set, in this order."""

    @property
    def name(self) -> str:
        """Without its article."""
        return self.one.partition(" ")[2]


EDITOR = Program("an editor", ("VISUAL", "EDITOR"), ("nano", "vi"))
PAGER = Program("a pager", ("PAGER",), ("less", "more"))


def command_of(program: Program, environment: Mapping[str, str]) -> list[str]:
    """Return the command of a program: what the environment names, else the first usual one there is.

    Raises:
        NoProgram: what is set cannot be read or found, or nothing is set and nothing usual is there.
    """
    search = environment.get("PATH", os.defpath)
    for variable in program.variables:
        told = environment.get(variable, "").strip()
        if not told:
            continue
        try:
            command = shlex.split(told)
        except ValueError as error:
            said = f"${variable} cannot be read: {error}. Set it to the command of {program.one}."
            raise NoProgram(said) from error
        if shutil.which(command[0], path=search) is None:
            said = f"The {program.name} '{clean_line(command[0], 80)}' of ${variable} cannot be found."
            raise NoProgram(f"{said} Set ${variable} to one that is installed.")
        return command
    for usual in program.usual:
        if (found := shutil.which(usual, path=search)) is not None:
            return [found]
    raise NoProgram(f"There is no {program.name}. Set ${program.variables[-1]} to the command of one.")


def edit(app: App[object], path: Path, command: Sequence[str]) -> int:
    """Give the terminal and a file to the editor until it ends; returns its exit code.

    Raises:
        NoProgram: it cannot be started, or there is no terminal to give away.
    """
    return _hand_over(app, EDITOR, [*command, os.fspath(path.absolute())])


def page(app: App[object], text: str, command: Sequence[str]) -> int:
    """Give the terminal and `text`, which must be clean, to the pager until it ends; returns its exit code.

    Raises:
        NoProgram: it cannot be started, or there is no terminal to give away.
    """
    return _hand_over(app, PAGER, command, text.encode("utf-8", "replace"))


def _hand_over(app: App[object], program: Program, command: Sequence[str], given: bytes | None = None) -> int:
    try:
        with app.suspend():
            done = _run(command, given)
    except SuspendNotSupported as error:
        said = f"{program.one.capitalize()} needs a terminal of its own, and there is none here."
        raise NoProgram(said) from error
    if isinstance(done, int):
        return done
    told = f"The {program.name} '{clean_line(command[0], 80)}' cannot be started: {done.strerror}."
    raise NoProgram(f"{told} Set ${program.variables[-1]} to another one.") from done


def _run(command: Sequence[str], given: bytes | None) -> int | OSError:
    """Run to the end; an error is returned, as one that goes through `suspend` leaves the terminal away."""
    try:
        return run_in_foreground(command, given)
    except OSError as error:
        return error
