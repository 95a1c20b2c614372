"""The desktop's own programs for files: whether there is a desktop to speak of, and the way to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from core.errors import UniversalAgentError
from core.text import clean_line

__all__ = ["NoDesktop", "opener", "start", "why_out_of_reach"]

# Whatever opens the file gets what leads it to the display and its settings, and none of the keys that may stand
# in the environment.
_PASSED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "DISPLAY",
    "XAUTHORITY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "KDE_FULL_SESSION",
    "KDE_SESSION_VERSION",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
)
_PASSED_BEGINNINGS = ("XDG_",)
_SECONDS = 3.0
_NO_DESKTOP = "There is no desktop here to open it"


class NoDesktop(UniversalAgentError):
    """No program of a desktop can be asked; the message says why and where the file is."""


def why_out_of_reach(environment: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """Why no desktop can be reached from here; None when one can be.

    Over SSH the display of this machine is one nobody sits at, unless it is a forwarded one.
    """
    remote = bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    display = environment.get("DISPLAY", "")
    if remote:
        forwarded = bool(display) and not display.startswith((":", "unix:"))
        return None if forwarded else f"{_NO_DESKTOP}: this is a remote session without a display."
    if platform == "darwin" or display or environment.get("WAYLAND_DISPLAY"):
        return None
    return f"{_NO_DESKTOP}: neither DISPLAY nor WAYLAND_DISPLAY is set."


def opener(path: Path, environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the program that opens files with those of the desktop.

    Raises:
        NoDesktop: there is no desktop, or nothing that speaks to it; `path` is named.
    """
    if (why := why_out_of_reach(environment, platform)) is not None:
        raise NoDesktop(_with_path(why, path))
    name = "open" if platform == "darwin" else "xdg-open"
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    # A relative entry of PATH would find what an agent put into the folder one works in.
    if found is None or not os.path.isabs(found):
        raise NoDesktop(_with_path(f"{name} cannot be found: install it, or open the file yourself.", path))
    return found


def start(path: Path, environment: Mapping[str, str], platform: str = sys.platform) -> None:
    """Have the desktop open a file, which goes on when this program ends. Runs in a thread.

    Raises:
        NoDesktop: it cannot be asked, or says at once that it cannot open the file.
    """
    program = opener(path, environment, platform)
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED or name.startswith(_PASSED_BEGINNINGS)
    }
    try:
        # No shell, and an absolute path, which no program takes for an option.
        process = subprocess.Popen(  # noqa: S603
            [program, os.fspath(path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=passed,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise NoDesktop(_with_path(f"{program} cannot be started: {error.strerror}.", path)) from error
    try:
        code = process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        # Some openers stay for as long as the program they started: somebody has to take note of their end.
        threading.Thread(target=process.wait, name="opener", daemon=True).start()
        return
    if code:
        raise NoDesktop(_with_path(f"{os.path.basename(program)} could not open it (code {code}).", path))


def _with_path(why: str, path: Path) -> str:
    return f"{why} The file is {clean_line(os.fspath(path), 1000)}"
