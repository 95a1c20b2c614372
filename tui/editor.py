"""The person's own editor, given the terminal for as long as it runs."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from textual.app import App, SuspendNotSupported

from core.errors import UniversalAgentError
from core.text import clean_line

__all__ = ["NoEditor", "edit", "editor_command"]

_USUAL = ("nano", "vi")


class NoEditor(UniversalAgentError):
    """No editor can be started; the message says why and what to do."""


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the editor: that of `VISUAL` or `EDITOR`, else the first usual one there is.

    Raises:
        NoEditor: what is set cannot be read or found, or nothing is set and nothing usual is there.
    """
    search = environment.get("PATH", os.defpath)
    for name in ("VISUAL", "EDITOR"):
        told = environment.get(name, "").strip()
        if not told:
            continue
        try:
            command = shlex.split(told)
        except ValueError as error:
            raise NoEditor(f"${name} cannot be read: {error}. Set it to the command of an editor.") from error
        if shutil.which(command[0], path=search) is None:
            shown = clean_line(command[0], 80)
            raise NoEditor(
                f"The editor '{shown}' of ${name} cannot be found. Set ${name} to one that is installed."
            )
        return command
    for usual in _USUAL:
        if (found := shutil.which(usual, path=search)) is not None:
            return [found]
    raise NoEditor("There is no editor. Set $EDITOR to the command of one.")


def edit(app: App[object], path: Path, command: Sequence[str]) -> int:
    """Give the terminal to the editor until it ends; returns its exit code.

    Raises:
        NoEditor: it cannot be started, or there is no terminal to give away.
    """
    try:
        with app.suspend():
            # The command is the person's own setting.
            done = subprocess.run([*command, os.fspath(path.absolute())], check=False)  # noqa: S603
            return done.returncode
    except SuspendNotSupported as error:
        raise NoEditor("An editor needs a terminal of its own, and there is none here.") from error
    except OSError as error:
        told = f"The editor '{clean_line(command[0], 80)}' cannot be started: {error.strerror}."
        raise NoEditor(f"{told} Set $EDITOR to another one.") from error
