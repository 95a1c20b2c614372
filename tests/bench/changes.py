"""What changes a whole screen at once: a key typed, the focus, the size and the theme, each until all is painted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.bench.child import COLUMNS, ROWS
from tests.bench.driven import Driven, Taken, reported

SECONDS = 120.0
PAUSE = 0.15
SIZES = ((108, 32), (132, 44), (COLUMNS, ROWS), (150, 44), (COLUMNS, ROWS))
FOCUS_OUT, FOCUS_IN = "\x1b[O", "\x1b[I"
CLEAR = "\x15"


@dataclass
class Changes:
    """How long each change of a kind took."""

    kinds: dict[str, list[Taken]] = field(default_factory=dict)

    @property
    def longest(self) -> float:
        """The longest of all, in milliseconds."""
        return max(each.took for kind in self.kinds.values() for each in kind)

    @property
    def described(self) -> str:
        """The longest of each kind, and how much of it this machine kept the program waiting."""
        return "; ".join(f"{name} {reported([max(kind)])}" for name, kind in self.kinds.items())


def measure(
    driven: Driven, letters: Iterator[str], repeats: int, themes_opened_by: str, themes: Sequence[str]
) -> Changes:
    """Change everything in a program at rest; what is the same again, `repeats` times."""
    return Changes(
        {
            "key": [_typed(driven, next(letters)) for _ in range(repeats)],
            "focus": [_typed(driven, next(letters), FOCUS_OUT + FOCUS_IN) for _ in range(repeats)],
            "resize": [_resize(driven, size, next(letters)) for size in SIZES],
            "theme": [_theme(driven, themes_opened_by, theme) for theme in themes],
        }
    )


def _typed(driven: Driven, letter: str, before: str = "") -> Taken:
    """A key is typed, right after something else: until its echo."""
    driven.watch(PAUSE)
    driven.forget()
    began = driven.send(before + letter)
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
    for text in (CLEAR, opened_by, theme):
        driven.send(text)
        driven.rest(SECONDS)
    driven.forget()
    began = driven.send("\r")
    driven.watch(PAUSE)
    driven.rest(SECONDS)
    return driven.taken(began, driven.last())
