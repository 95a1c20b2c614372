"""The output of commands without a screen: results on standard output, errors on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

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


def complain(message: str, code: int = EXIT_FAILED, *, prog: str = "ua-tui") -> int:
    """Write an error in one line to standard error, in the name of `prog`; returns the exit code."""
    # A command without errors need not wait for this import.
    from ua_tui.core.text import clean_line

    sys.stderr.write(f"{prog}: {clean_line(message, 1000)}\n")
    return code
