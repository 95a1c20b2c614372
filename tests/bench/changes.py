"""What changes a whole screen at once: a key typed, the focus, the size and the theme, each until all is painted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.bench.child import COLUMNS, ROWS
from tests.bench.driven import Driven, Taken, reported

SECONDS = 120.0
PAUSE = 0.15
SIZES = ((108, 32), (132, 44), (COLUMNS, ROWS))
THREE_COLUMNS = ((150, 44), (COLUMNS, ROWS))
FOCUS_OUT, FOCUS_IN = "\x1b[O", "\x1b[I"
CLEAR = "\x15"


@dataclass
class Changes:
    """How long each change took."""

    key: list[Taken] = field(default_factory=list)
    focus: list[Taken] = field(default_factory=list)
    resize: list[Taken] = field(default_factory=list)
    columns: list[Taken] = field(default_factory=list)
    theme: list[Taken] = field(default_factory=list)

    @property
    def longest(self) -> float:
        """The longest of all, in milliseconds."""
        return max(each.took for kind in self._kinds.values() for each in kind)

    @property
    def described(self) -> str:
        """The longest of each kind, and how much of it this machine kept the program waiting."""
        return "; ".join(f"{name} {reported([max(kind)])}" for name, kind in self._kinds.items() if kind)

    @property
    def _kinds(self) -> dict[str, list[Taken]]:
        return {
            "key": self.key,
            "focus": self.focus,
            "resize": [*self.resize, *self.columns],
            "theme": self.theme,
        }


def measure(
    driven: Driven, letters: Iterator[str], repeats: int, themes_opened_by: str, themes: Sequence[str]
) -> Changes:
    """Change everything in a program at rest, `repeats` times where that is the same again."""
    changes = Changes()
    for _ in range(repeats):
        changes.key.append(_key(driven, next(letters)))
    for _ in range(repeats):
        changes.focus.append(_focus(driven, next(letters)))
    for size in SIZES[:repeats]:
        changes.resize.append(_resize(driven, size, next(letters)))
    for size in THREE_COLUMNS:
        changes.columns.append(_resize(driven, size, next(letters)))
    for theme in themes:
        changes.theme.append(_theme(driven, themes_opened_by, theme))
    return changes


def _key(driven: Driven, letter: str) -> Taken:
    """A key is typed: until its echo."""
    driven.watch(PAUSE)
    driven.forget()
    began = driven.send(letter)
    took = driven.taken(began, driven.until(letter, SECONDS))
    driven.rest(SECONDS)
    return took


def _focus(driven: Driven, letter: str) -> Taken:
    """The focus leaves the terminal and comes back, and a key is typed: until its echo."""
    driven.watch(PAUSE)
    driven.forget()
    began = driven.send(FOCUS_OUT + FOCUS_IN + letter)
    took = driven.taken(began, driven.until(letter, SECONDS))
    driven.rest(SECONDS)
    return took


def _resize(driven: Driven, size: tuple[int, int], letter: str) -> Taken:
    """The terminal gets another size, and a key is typed: until all is painted, the key too."""
    driven.watch(PAUSE)
    driven.forget()
    began = driven.resize(*size)
    driven.send(letter)
    driven.until(letter, SECONDS)
    driven.rest(SECONDS)
    return driven.taken(began, driven.last())


def _theme(driven: Driven, opened_by: str, theme: str) -> Taken:
    """Another theme is chosen from the list: until all is painted in it."""
    driven.send(CLEAR)
    driven.rest(SECONDS)
    driven.send(opened_by)
    driven.rest(SECONDS)
    driven.send(theme)
    driven.rest(SECONDS)
    driven.forget()
    began = driven.send("\r")
    driven.watch(PAUSE)
    driven.rest(SECONDS)
    return driven.taken(began, driven.last())
