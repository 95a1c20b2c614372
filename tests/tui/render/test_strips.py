from __future__ import annotations

import gc

from rich.segment import Segment
from textual.strip import Strip

from tui.render.strips import avoid_cycles


def test_a_line_that_was_painted_is_freed_without_a_collection() -> None:
    avoid_cycles()
    # Imports and earlier tests leave garbage of their own.
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            line = Strip([Segment("x" * 80)], 80)
            assert line.divide([80, 120]) == [line]
            assert [part.text for part in line.divide([30, 80])] == ["x" * 30, "x" * 50]
            assert line.crop_extend(0, 80, None) == line
            assert line.crop_extend(10, 90, None).text == "x" * 70 + " " * 10
        del line
        assert gc.collect() < 100
    finally:
        gc.enable()
