"""By what means this terminal shows pictures, judged by its environment alone, and how large its cells are.

A terminal could be asked, but its answers would come in as keys, or hold up the start.
"""

from __future__ import annotations

import fcntl
import struct
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["USUAL_CELL", "Canvas", "Cell", "Means", "cell_size", "means_of"]

Means = Literal["kitty", "sixel", "blocks"]

# Terminals that draw a picture where placeholder characters stand; WezTerm knows the protocol, but not these.
_KITTY_TERMS = frozenset({"xterm-kitty", "xterm-ghostty", "ghostty"})
_KITTY_PROGRAMS = frozenset({"kitty", "ghostty"})
_SIXEL_TERMS = ("foot", "mlterm", "contour", "wezterm")
_SIXEL_PROGRAMS = frozenset({"wezterm", "contour", "mlterm"})
# Variables that a terminal of another name leaves to what is started in it: TERM_PROGRAM goes before them.
_KITTY_MARKS = ("KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR")
_SIXEL_MARKS = ("WEZTERM_PANE", "WT_SESSION", "MLTERM")
_BETWEEN = ("TMUX", "STY", "ZELLIJ")
_BETWEEN_TERMS = ("screen", "tmux")


@dataclass(frozen=True, slots=True)
class Cell:
    """The size of one character cell in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Canvas:
    """What a picture is drawn for."""

    means: Means
    cell: Cell


USUAL_CELL = Cell(10, 20)
_SENSIBLE = range(4, 129)


def means_of(setting: str, environment: Mapping[str, str], *, colours: int) -> Means:
    """Choose how pictures are shown.

    Args:
        setting: `auto`, or the means the person chose.
        environment: what the terminal left in it.
        colours: how many the screen is drawn in; Kitty's cells tell by one of 256 what they show.
    """
    if "NO_COLOR" in environment:
        return "blocks"
    match setting:
        case "kitty" | "sixel" | "blocks":
            means: Means = setting
        case _:
            means = _known(environment)
    return "blocks" if means == "kitty" and colours < 256 else means


def _known(environment: Mapping[str, str]) -> Means:
    term = environment.get("TERM", "").lower()
    program = environment.get("TERM_PROGRAM", "").lower()
    if any(environment.get(name) for name in _BETWEEN) or term.startswith(_BETWEEN_TERMS):
        # What multiplexers pass on depends on their settings, which cannot be seen from here.
        return "blocks"
    if term in _KITTY_TERMS or program in _KITTY_PROGRAMS:
        return "kitty"
    if term.startswith(_SIXEL_TERMS) or program in _SIXEL_PROGRAMS:
        return "sixel"
    if program:
        return "blocks"
    if any(environment.get(name) for name in _KITTY_MARKS):
        return "kitty"
    return "sixel" if any(environment.get(name) for name in _SIXEL_MARKS) else "blocks"


def cell_size(descriptor: int | None = None) -> Cell:
    """Ask the system for the size of a cell; a usual one when it does not know."""
    try:
        if descriptor is None:
            if sys.__stdin__ is None:
                return USUAL_CELL
            descriptor = sys.__stdin__.fileno()
        answer = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return USUAL_CELL
    rows, columns, width, height = struct.unpack("HHHH", answer)
    if not rows or not columns:
        return USUAL_CELL
    cell = Cell(width // columns, height // rows)
    return cell if cell.width in _SENSIBLE and cell.height in _SENSIBLE else USUAL_CELL
