"""Checks that Python finds our packages, and not others with their names."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

__all__ = ["check_packages"]

PACKAGES = ("core", "observers", "styles", "tui")
_MARK = b'__distribution__ = "ua-tui"'
_ISOLATE = "install ua-tui in an environment of its own, for example with `uv tool install`"


def check_packages() -> None:
    """Check where Python finds our packages, without importing them: a few calls to the file system.

    Raises:
        ImportError: another package is found instead; the message is one line for a person, with its path.
    """
    home = os.path.dirname(os.path.dirname(__file__))
    for name in PACKAGES:
        ours = os.path.join(home, name, "__init__.py")
        try:
            spec = find_spec(name)
        except ValueError:  # It is in `sys.modules`, made by hand.
            spec = None
        found = spec.origin if spec is not None else None
        if found is None or not _is_same(found, ours):
            if found is None or not os.path.exists(ours):
                raise ImportError(f"the installation of ua-tui is incomplete, {ours} is missing: {_ISOLATE}")
            raise ImportError(
                f"{_shown(found)} is used instead of the package {name} of ua-tui: {_remedy(found)}"
            )
        with open(ours, "rb") as file:
            if _MARK not in file.read():
                raise ImportError(f"another package has overwritten {_shown(ours)} of ua-tui: {_ISOLATE}")


def _is_same(path: str, other: str) -> bool:
    return path == other or os.path.realpath(path) == os.path.realpath(other)


def _remedy(path: str) -> str:
    """How to have our package found instead of the one at `path`."""
    entry = os.path.dirname(path if os.path.basename(path) != "__init__.py" else os.path.dirname(path))
    given = os.environ.get("PYTHONPATH", "")
    if given and any(_is_same(os.path.abspath(each), entry) for each in given.split(os.pathsep)):
        return f"remove {_shown(entry)} from PYTHONPATH"
    if sys.path and _is_same(os.path.abspath(sys.path[0]), entry):
        return "rename it, or start Python in another folder"
    return _ISOLATE


def _shown(path: str) -> str:
    """A path without what could control a terminal."""
    return "".join(char if char.isprintable() else "?" for char in path)
