"""Opens files with the programs of the desktop, if there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line

_PASSED = (
    "PATH HOME USER LOGNAME LANG LC_ALL LC_CTYPE TZ DISPLAY XAUTHORITY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS "
    "DESKTOP_SESSION KDE_FULL_SESSION KDE_SESSION_VERSION WSL_DISTRO_NAME WSL_INTEROP TMUX TMUX_PANE TMUX_TMPDIR"
)
_NO_DESKTOP = "No desktop session"
_FAILS_WITHIN = 3.0


class NoDesktop(UniversalAgentError):
    """The desktop cannot open a file; the message says why and where the file is."""


def is_remote(environment: Mapping[str, str]) -> bool:
    """Return whether this is a remote shell."""
    return bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))


def has_display(environment: Mapping[str, str]) -> bool:
    """Return whether there is an X display: in a remote shell, a forwarded one, as that of this machine is wrong."""
    display = environment.get("DISPLAY", "")
    return bool(display) and not (is_remote(environment) and display.startswith((":", "unix:")))


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a program needs to reach the display and its settings, and no API keys of the environment."""
    names = frozenset(_PASSED.split())
    return {name: value for name, value in environment.items() if name in names or name.startswith("XDG_")}


def find_program(name: str, path: str) -> str | None:
    """Find a program in `path`; a relative entry of it is ignored, as it could find one that the agent wrote."""
    found = shutil.which(name, path=path)
    return found if found is not None and os.path.isabs(found) else None


def why_no_desktop(environment: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """Return why no desktop is available; None if one is."""
    if is_remote(environment):
        return None if has_display(environment) else f"{_NO_DESKTOP} (remote shell without a display)."
    if platform == "darwin" or has_display(environment) or environment.get("WAYLAND_DISPLAY"):
        return None
    return f"{_NO_DESKTOP} (DISPLAY is not set)."


def opener(path: Path, environment: Mapping[str, str], platform: str = sys.platform) -> str:
    """Return the program that opens files on the desktop.

    Raises:
        NoDesktop: there is no desktop or no such program; the message names `path`.
    """
    if (why := why_no_desktop(environment, platform)) is not None:
        raise NoDesktop(_with_path(why, path))
    name = "open" if platform == "darwin" else "xdg-open"
    found = find_program(name, environment.get("PATH", os.defpath))
    if found is None:
        raise NoDesktop(_with_path(f"{name} was not found, so open the file yourself", path))
    return found


def start(path: Path, environment: Mapping[str, str], platform: str = sys.platform) -> None:
    """Open a file on the desktop, with a program that outlives this one. Runs in a thread.

    Raises:
        NoDesktop: no program can be started, or it fails at once.
    """
    program = opener(path, environment, platform)
    try:
        # No shell, and an absolute path, which cannot be read as an option.
        process = subprocess.Popen(  # noqa: S603
            [program, os.fspath(path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=passed_on(environment),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise NoDesktop(_with_path(f"{program} cannot be started: {error.strerror}.", path)) from error
    try:
        code = process.wait(_FAILS_WITHIN)
    except subprocess.TimeoutExpired:
        # Some openers run as long as the program they start; wait for them, to leave no zombie.
        threading.Thread(target=process.wait, name="opener", daemon=True).start()
        return
    if code:
        raise NoDesktop(_with_path(f"{os.path.basename(program)} failed with code {code}.", path))


def _with_path(why: str, path: Path) -> str:
    return f"{why.rstrip('.')}: {clean_line(os.fspath(path), 1000)}"
