"""Which graphics this terminal supports, judged by the environment alone, and how large its cells are.

The terminal is not queried: its answers would arrive as key presses or delay the start.
"""

from __future__ import annotations

import fcntl
import struct
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Graphics = Literal["kitty", "sixel", "blocks"]

# Terminals that support Unicode placeholders; WezTerm supports the Kitty protocol, but no placeholders.
_KITTY_TERMS = frozenset({"xterm-kitty", "xterm-ghostty", "ghostty"})
_KITTY_PROGRAMS = frozenset({"kitty", "ghostty"})
_SIXEL_TERMS = ("foot", "mlterm", "contour", "wezterm")
_SIXEL_PROGRAMS = frozenset({"wezterm", "contour", "mlterm"})
# Terminals started inside another terminal inherit these variables, so TERM_PROGRAM takes precedence.
_KITTY_VARIABLES = ("KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR")
_SIXEL_VARIABLES = ("WEZTERM_PANE", "WT_SESSION", "MLTERM")
_MULTIPLEXERS = ("TMUX", "STY", "ZELLIJ")
TERMINAL_VARIABLES = (*_MULTIPLEXERS, *_KITTY_VARIABLES, *_SIXEL_VARIABLES)
"""Variables that describe the terminal in which a program was started."""


@dataclass(frozen=True, slots=True)
class CellSize:
    """The size of one character cell in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Canvas:
    """What a picture is encoded for."""

    graphics: Graphics
    cell: CellSize


DEFAULT_CELL = CellSize(10, 20)
_PLAUSIBLE = range(4, 129)


def detect_graphics(setting: str, environment: Mapping[str, str], *, colours: int) -> Graphics:
    """Choose the graphics in which pictures are shown.

    Args:
        setting: `auto`, or the graphics that the user chose.
        environment: the environment variables, from which the terminal is identified.
        colours: the number of colours of the screen; Kitty's placeholders need 256.
    """
    if "NO_COLOR" in environment:
        return "blocks"
    match setting:
        case "kitty" | "sixel" | "blocks":
            graphics: Graphics = setting
        case _:
            graphics = _identified(environment)
    return "blocks" if graphics == "kitty" and colours < 256 else graphics


def is_multiplexed(environment: Mapping[str, str]) -> bool:
    """Whether a multiplexer is between: what it passes on depends on its settings, which are not visible here."""
    is_named = any(environment.get(name) for name in _MULTIPLEXERS)
    return is_named or environment.get("TERM", "").lower().startswith(("screen", "tmux"))


def _identified(environment: Mapping[str, str]) -> Graphics:
    term = environment.get("TERM", "").lower()
    program = environment.get("TERM_PROGRAM", "").lower()
    if is_multiplexed(environment):
        return "blocks"
    if term in _KITTY_TERMS or program in _KITTY_PROGRAMS:
        return "kitty"
    if term.startswith(_SIXEL_TERMS) or program in _SIXEL_PROGRAMS:
        return "sixel"
    if program:
        return "blocks"
    if any(environment.get(name) for name in _KITTY_VARIABLES):
        return "kitty"
    return "sixel" if any(environment.get(name) for name in _SIXEL_VARIABLES) else "blocks"


def cell_size(descriptor: int | None = None) -> CellSize:
    """Ask the system for the size of a cell; return a common size if it does not know."""
    try:
        if descriptor is None:
            if sys.__stdin__ is None:
                return DEFAULT_CELL
            descriptor = sys.__stdin__.fileno()
        answer = fcntl.ioctl(descriptor, termios.TIOCGWINSZ, bytes(8))
    except (OSError, ValueError):
        return DEFAULT_CELL
    rows, columns, width, height = struct.unpack("HHHH", answer)
    if not rows or not columns:
        return DEFAULT_CELL
    cell = CellSize(width // columns, height // rows)
    return cell if cell.width in _PLAUSIBLE and cell.height in _PLAUSIBLE else DEFAULT_CELL
