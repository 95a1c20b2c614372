from __future__ import annotations

import gc
import importlib.util
import re
from collections.abc import Sequence

import pyte
import textual.strip
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ua_tui.tui.render.strips import Pen, highlight, improve_strips


def test_a_line_that_was_painted_is_freed_without_a_collection() -> None:
    improve_strips()
    gc.collect()
    gc.disable()
    try:
        # Imports and earlier tests leave garbage of other kinds, also after a collection.
        before = count_lines()
        for _ in range(100):
            line = Strip([Segment("x" * 80)], 80)
            assert line.divide([80, 120]) == [line]
            assert [part.text for part in line.divide([30, 80])] == ["x" * 30, "x" * 50]
            assert line.crop_extend(0, 80, None) == line
            assert line.crop_extend(10, 90, None).text == "x" * 70 + " " * 10
        del line
        assert count_lines() - before < 100
    finally:
        gc.enable()


def count_lines() -> int:
    return sum(isinstance(each, Strip) for each in gc.get_objects())


def test_a_line_is_made_as_textual_makes_it_with_caches_when_they_are_needed() -> None:
    improve_strips()
    spec = importlib.util.spec_from_file_location("ordinary_strip", textual.strip.__file__)
    assert spec is not None
    assert spec.loader is not None
    ordinary = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ordinary)
    segments = [Segment("one "), Segment("two")]
    for made, expected in (
        (Strip(segments, 7), ordinary.Strip(segments, 7)),
        (Strip([]), ordinary.Strip([])),
    ):
        for slot in ordinary.Strip.__slots__:
            assert repr(getattr(made, slot)) == repr(getattr(expected, slot))
        assert made._crop_cache is made._crop_cache
        assert not hasattr(made, "colour")


_COLORS = st.none() | st.sampled_from(["default", "red", "#123456"])
_STYLES = st.none() | st.builds(
    Style, color=_COLORS, bgcolor=_COLORS, bold=st.booleans(), dim=st.booleans(), italic=st.booleans(),
    underline=st.booleans(), reverse=st.booleans(), strike=st.booleans(),
    link=st.none() | st.sampled_from(["https://a.example/", "https://b.example/"]),
)  # fmt: skip
_PIECES = st.lists(st.builds(Segment, st.sampled_from(["a", " ", "    ", "bc "]), _STYLES), max_size=8)


_LINK = re.compile(r"\x1b\]8;[^;]*;([^\x1b]*)\x1b\\|\x1b\[[0-9;]*m|(.)")


def _cells(sent: str) -> list[tuple[object, ...]]:
    """What a terminal shows of each cell; bold and the color of the text do not show on a plain space."""
    screen = pyte.Screen(50, 1)
    pyte.Stream(screen).feed(sent)
    cells: list[tuple[object, ...]] = []
    for cell in map(screen.buffer[0].__getitem__, range(50)):
        marked = (cell.underscore, cell.reverse, cell.strikethrough)
        text = (cell.fg, cell.bold, cell.italics) if cell.data != " " or any(marked) else ()
        cells.append((cell.data, cell.bg, marked, text))
    return cells


def _links(sent: str) -> list[str]:
    """The address behind each character."""
    link, links = "", []
    for found in _LINK.finditer(sent):
        if found[2]:
            links.append(link)
        elif found[1] is not None:
            link = found[1]
    return links


@given(_PIECES)
def test_a_line_is_sent_so_that_it_paints_as_its_pieces_do(pieces: Sequence[Segment]) -> None:
    pen = Pen(Console(color_system="truecolor"))
    pen.draw(pieces)
    whole = pen.finish()
    apart = "".join(
        Strip.render_style(piece.style or Style(), piece.text, ColorSystem.TRUECOLOR) for piece in pieces
    )
    assert _cells(whole + "x") == _cells(apart + "x")
    assert _links(whole + "x") == _links(apart + "x")
    assert len(whole) <= len(apart) + len("0;") * len(pieces)


def test_a_match_that_is_longer_than_its_line_marks_what_there_is() -> None:
    bold, dim = Style(bold=True), Style(dim=True)
    # "straße" is found as "strasse", and a row without text may be marked, too.
    marked = highlight(Strip([Segment("Maß 9")]), [(2, 4, False), (5, 6, True), (7, 9, True)], bold, dim)
    assert [(each.text, each.style) for each in marked] == [("Ma", None), ("ß ", bold), ("9", None)]
    assert highlight(Strip([]), [(0, 1, True)], bold, dim).text == ""
    # The whole text measures wider than its pieces, one of which begins with a variation selector.
    apart = Strip([Segment("🇪🇪❤"), Segment("\ufe0fe")])
    assert highlight(apart, [(3, 3, False), (6, 9, True)], bold, dim).text == apart.text
