"""The output of commands without a screen: results on standard output, errors on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from ua_tui.tui.terminal.exit_codes import EXIT_FAILED


def print_line(text: str, *, flush: bool = False) -> None:
    """Write a line, or several, to standard output; what its encoding lacks is written as an escape."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    if flush:
        sys.stdout.flush()


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows, of which the first is the header, with their columns aligned; a row needs a cell for each."""
    for line in table_lines(rows):
        print_line(line)


def table_lines(rows: Sequence[Sequence[str]], most: int | None = None) -> Iterator[str]:
    """Give the lines of a table; no cell but the last of a row has more than `most` cells of the terminal."""
    from rich.cells import cell_len

    from ua_tui.tui.render.format import tail_cut

    cut = [[*(tail_cut(cell, most) if most else cell for cell in row[:-1]), row[-1]] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cut, strict=True)]
    for row in cut:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def print_list(
    fields: Iterable[object],
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    as_json: bool,
    empty: str = "",
) -> None:
    """Write entries as JSON with their fields, or as the rows of a table; `empty` instead of a table without rows."""
    if as_json:
        print_json([*fields])
    elif (cells := [*rows]) or not empty:
        print_table([header, *cells])
    else:
        print_line(empty)


def print_json(value: object) -> None:
    """Write a value or a record as indented JSON; what JSON does not know, such as a path, is written as its text."""
    import json

    import msgspec

    print_line(json.dumps(msgspec.to_builtins(value, enc_hook=str), indent=2))


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
    """Write an error, which begins with a small letter or a name, to standard error; returns the exit code."""
    # A command without errors need not wait for this import.
    from ua_tui.core.text import clean_line

    sys.stderr.write(f"ua-tui: {clean_line(message, 1000)}\n")
    return code


def screen_problem() -> str:
    """Why this terminal cannot have the full screen; empty if it can."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        return "the full-screen interface needs a terminal"
    return (
        "the full-screen interface needs a terminal that can move its cursor, but TERM is dumb"
        if is_dumb()
        else ""
    )


def agrees(question: str) -> bool:
    """Whether a person at the terminal answers yes; anything else is no."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        print_line("")
        return False


@contextmanager
def quiet_libraries(level: str) -> Iterator[None]:
    """Keep what libraries log away from the terminal: those that find no handler write to it."""
    from ua_tui.core.records.log import install_root_handler

    handler = install_root_handler(level)
    try:
        yield
    finally:
        handler.uninstall()


def wrapped(
    pieces: Sequence[tuple[str, bool]], width: int | None, indent: str = "", later: str | None = None
) -> Iterator[str]:
    """Give the lines of a paragraph, with another indent from the second line on; pieces may be bold.

    It is wrapped for a terminal of `width` cells; without a width it is one line without marks.
    """
    if width is None:
        yield indent + "".join(text for text, _ in pieces)
        return
    from rich.style import Style

    from ua_tui.tui.render.layout import PLAIN, wrap

    later = indent if later is None or len(later) > width // 2 else later
    # The first line is not longer than the others, as `wrap` has one width.
    room = max(width - max(len(indent), len(later)), 20)
    styled = [(text, Style(bold=True) if is_bold else PLAIN) for text, is_bold in pieces]
    for number, line in enumerate(wrap(styled, room)):
        yield (later if number else indent) + "".join(
            (part.style or PLAIN).render(part.text) for part in line
        )


class StepReporter:
    """Reports the steps of a login, as text or as lines of JSON, each with the given facts; they are read at once."""

    def __init__(self, *, as_json: bool, **facts: str) -> None:
        self._as_json = as_json
        self._facts = facts

    def link(self, intro: str, url: str, *hints: str, **more: str) -> None:
        """Show the address that a person is to open."""
        if self._as_json:
            self._print_event("link", url=url, **more)
            return
        for line in (f"{intro}:\n\n  {url}\n", *hints):
            print_line(line, flush=True)

    def done(self, event: str, words: str, **more: str) -> int:
        """Report that all is well; returns the exit code."""
        if self._as_json:
            self._print_event(event, message=words, **more)
        else:
            print_line(words, flush=True)
        return 0

    def failed(self, status: str, words: str, code: int = EXIT_FAILED) -> int:
        """Report why not, and what to do; returns the exit code."""
        if self._as_json:
            self._print_event("failed", status=status, message=words)
            return code
        return complain(words, code)

    def _print_event(self, event: str, **more: Any) -> None:
        import json

        print_line(json.dumps({"event": event, **self._facts, **more}), flush=True)
