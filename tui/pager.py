"""The person's own pager, given the terminal and a text for as long as it runs."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence

from textual.app import App, SuspendNotSupported

from core.errors import UniversalAgentError
from core.text import clean_line

__all__ = ["NoPager", "page", "pager_command"]

_USUAL = ("less", "more")


class NoPager(UniversalAgentError):
    """No pager can be started; the message says why and what to do."""


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the pager: that of `PAGER`, else the first usual one there is.

    Raises:
        NoPager: what is set cannot be read or found, or nothing is set and nothing usual is there.
    """
    search = environment.get("PATH", os.defpath)
    if told := environment.get("PAGER", "").strip():
        try:
            command = shlex.split(told)
        except ValueError as error:
            raise NoPager(f"$PAGER cannot be read: {error}. Set it to the command of a pager.") from error
        if shutil.which(command[0], path=search) is None:
            shown = clean_line(command[0], 80)
            raise NoPager(
                f"The pager '{shown}' of $PAGER cannot be found. Set $PAGER to one that is installed."
            )
        return command
    for usual in _USUAL:
        if (found := shutil.which(usual, path=search)) is not None:
            return [found]
    raise NoPager("There is no pager. Set $PAGER to the command of one.")


def page(app: App[object], text: str, command: Sequence[str]) -> int:
    """Give the terminal and `text`, which must be clean, to the pager until it ends; returns its exit code.

    Raises:
        NoPager: it cannot be started, or there is no terminal to give away.
    """
    try:
        with app.suspend():
            # Ctrl+C is a key of pagers; it must not end the application that waits for one.
            before = signal.signal(signal.SIGINT, lambda *_: None)
            try:
                # The command is the person's own setting.
                data = text.encode("utf-8", "replace")
                return subprocess.run([*command], input=data, check=False).returncode  # noqa: S603
            finally:
                signal.signal(signal.SIGINT, before)
    except SuspendNotSupported as error:
        raise NoPager("A pager needs a terminal of its own, and there is none here.") from error
    except OSError as error:
        told = f"The pager '{clean_line(command[0], 80)}' cannot be started: {error.strerror}."
        raise NoPager(f"{told} Set $PAGER to another one.") from error
