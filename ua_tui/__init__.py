"""The `ua-tui` command and the API, guarded against other packages with the names of ours.

`core`, `observers`, `styles` and `tui` are names that other packages have, too. This folder has a name of its own, so
it is found even where another package is found instead of one of them. The command starts here, programs import
`api.py`, and both first check with `guard.py` that the four packages are ours. Imports `tui` and `core` after that;
nothing imports it.
"""

from __future__ import annotations

import sys

from ua_tui.guard import check_packages

__all__ = ["main"]


def main() -> int:
    """Run the `ua-tui` command; returns the exit code."""
    try:
        check_packages()
    except ImportError as error:
        sys.stderr.write(f"ua-tui: {error}\n")
        return 1
    from tui.cli import main as run_command

    return run_command()
