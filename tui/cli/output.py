"""The output of commands without a screen: results on standard output, errors on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime

from ua_tui.tui.terminal.exit_codes import EXIT_FAILED


def print_line(text: str, *, flush: bool = False) -> None:
    """Write a line, or several, to standard output; what its encoding lacks is written as an escape."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    if flush:
        sys.stdout.flush()


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows, of which the first is the header, with their columns aligned; a row needs a cell for each."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        print_line("  ".join(cells).rstrip())


def print_json(value: object) -> None:
    """Write a value as indented JSON; what JSON does not know, such as a date, is written as its text."""
    import json

    print_line(json.dumps(value, indent=2, default=str))


def local_time(moment: datetime) -> str:
    """Return a moment as it is shown in a table."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def is_dumb() -> bool:
    """Whether the terminal cannot move its cursor."""
    return os.environ.get("TERM", "") in {"", "dumb"}


def has_screen() -> bool:
    """Whether a person can use a screen: standard input and output are a terminal that can move its cursor."""
    return not is_dumb() and sys.stdin.isatty() and sys.stdout.isatty()


def page_width(most: int) -> int | None:
    """Return the cells of a line of standard output, at most so many; None if it is no terminal."""
    return min(shutil.get_terminal_size().columns, most) if not is_dumb() and sys.stdout.isatty() else None


def complain(message: str, code: int = EXIT_FAILED) -> int:
    """Write an error in one line to standard error; returns the exit code."""
    # A command without errors need not wait for this import.
    from ua_tui.core.text import clean_line

    sys.stderr.write(f"ua-tui: {clean_line(message, 1000)}\n")
    return code
