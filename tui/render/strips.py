"""Painted lines: without reference cycles, so that each is freed when replaced, and in few bytes for the terminal.

Also how parts of a line are highlighted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.cache import FIFOCache
from textual.strip import SGR_STYLES, Strip

_NO_LINK = "\x1b]8;;\x1b\\"
_UNSEEN_ON_SPACES = {"1", "2", "3", "5", "6", "8"}
"""Bold, dim, italic, blinking and concealed: a space looks the same with and without them."""

_divide, _crop_extend = Strip.divide, Strip.crop_extend

_CACHES: Final = {
    name: value._maxsize
    for name in Strip.__slots__
    if isinstance(value := getattr(Strip([], 0), name), FIFOCache)
}
"""The sizes of a line's caches, most of which stay empty."""


def improve_strips() -> None:
    """Change some methods of Textual's lines; a second call changes nothing.

    A line is made with seven caches of two objects each, and a frame makes hundreds of lines: here a cache is made when
    it is first needed.

    A line stores itself in its own cache when it is painted at its full width. Only a full collection frees it then,
    which is rare, as it blocks every thread: a session would keep some hundred lines of each query, a third of a
    megabyte.
    """
    Strip.__init__ = _make_line  # type: ignore[method-assign, assignment]
    Strip.__getattr__ = _make_cache  # type: ignore[attr-defined]
    Strip.divide = _divide_line  # type: ignore[method-assign, assignment]
    Strip.crop_extend = _crop_extend_line  # type: ignore[method-assign, assignment]


def _make_line(line: Strip, segments: Iterable[Segment], cell_length: int | None = None) -> None:
    line._segments = list(segments)
    line._cell_length = cell_length
    line._render_cache = line._link_ids = line._cell_count = None


def _make_cache(line: Strip, name: str) -> object:
    """Python asks for an attribute here only if it is not set."""
    if name not in _CACHES:
        raise AttributeError(name)
    cache: FIFOCache[object, object] = FIFOCache(_CACHES[name])
    setattr(line, name, cache)
    return cache


def _divide_line(line: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    width = line.cell_length
    inside = [cut for cut in cuts if cut <= width]
    return [line] if inside == [width] else _divide(line, inside)


def _crop_extend_line(line: Strip, start: int, end: int, style: Style | None) -> Strip:
    return line if start == 0 and end == line.cell_length else _crop_extend(line, start, end, style)


Range = tuple[int, int, bool]
"""A range of characters in a line, and whether it belongs to the current match."""


def highlight(strip: Strip, ranges: Iterable[Range], style: Style, current: Style) -> Strip:
    """Lay `style` over ranges of characters that do not overlap, or `current` over those of the current match.

    What is behind the end of the line is left out: a match may be longer than its text, as "ß" is found by "ss".
    """
    text, last = strip.text, strip.cell_length
    parts: list[Strip] = []
    at = 0
    for start, end, is_current in sorted(ranges):
        first, behind = (min(cell_len(text[:place]), last) for place in (start, end))
        if behind > first:
            over = Segment.apply_style(strip.crop(first, behind), post_style=current if is_current else style)
            parts += [strip.crop(at, first), Strip(over)]
            at = behind
    return Strip.join([*parts, strip.crop(at)]) if parts else strip


class _TerminalStyle(NamedTuple):
    """What a terminal has to be sent for a style: parameters of SGR sequences, and the start of a hyperlink."""

    attributes: str = ""
    color: str = ""
    background: str = ""
    link: str = ""
    seen_on_spaces: bool = False


_PLAIN = _TerminalStyle()


@lru_cache(maxsize=16_384)
def _terminal_style(style: Style | None, system: ColorSystem) -> _TerminalStyle:
    if style is None:
        return _PLAIN
    shown = style._attributes & style._set_attributes
    attributes = [SGR_STYLES[bit] for bit in range(shown.bit_length()) if shown & (1 << bit)]
    color, background = style.color, style.bgcolor
    return _TerminalStyle(
        ";".join(attributes),
        ";".join(color.downgrade(system).get_ansi_codes()) if color is not None else "",
        ";".join(background.downgrade(system).get_ansi_codes(foreground=False))
        if background is not None
        else "",
        f"\x1b]8;id={style._link_id};{style.link}\x1b\\" if style.link else "",
        not _UNSEEN_ON_SPACES.issuperset(attributes),
    )


class Pen:
    """Turns lines into what the terminal is sent for them: between two pieces only what differs in their styles."""

    def __init__(self, console: Console) -> None:
        self.sent: list[str] = []
        self._system = console._color_system or ColorSystem.TRUECOLOR
        self._now = _PLAIN

    def move_to(self, x: int, y: int) -> None:
        """Go to a cell; columns and rows are counted from 0."""
        self.sent.append(f"\x1b[{y + 1};{x + 1}H")

    def draw(self, segments: Iterable[Segment]) -> None:
        """Draw a line, or a part of one, from where the pen is."""
        now, sent = self._now, self.sent
        for text, style, _ in segments:
            look = _terminal_style(style, self._system)
            if look is not now:
                if look.link != now.link:
                    sent.append(look.link or _NO_LINK)
                    now = now._replace(link=look.link)
                looks_the_same = (
                    look.background == now.background
                    and not (look.seen_on_spaces or now.seen_on_spaces)
                    and text.isspace()
                )
                if not looks_the_same:
                    sent.append(_change(now, look))
                    now = look
            sent.append(text)
        self._now = now

    def finish(self) -> str:
        """Return everything that is to be sent; after it the terminal writes without a style, as before it."""
        if self._now.link:
            self.sent.append(_NO_LINK)
        self.sent.append(_change(self._now, _PLAIN))
        return "".join(self.sent)


@lru_cache(maxsize=16_384)
def _change(before: _TerminalStyle, after: _TerminalStyle) -> str:
    """Return the sequence that turns one look into another; only a reset ends what the second one does not have."""
    kept = (
        before.attributes == after.attributes
        and (after.color or not before.color)
        and (after.background or not before.background)
    )
    old = before if kept else _PLAIN
    codes = [new for new, was in zip(after[:3], old[:3], strict=True) if new != was]
    if not kept and before[:3] != _PLAIN[:3]:
        codes.insert(0, "0")
    return f"\x1b[{';'.join(codes)}m" if codes else ""
