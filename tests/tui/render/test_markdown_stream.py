from __future__ import annotations

import pytest

from tui.render.markdown_stream import closed


@pytest.mark.parametrize(("source", "shown"), [
    ("**bol", "**bol**"),
    ("a **b** `c` **", "a **b** `c` "),
    ("one\n\n- a **b", "one\n\n- a **b**"),
    ("use `a` and `b", "use `a` and `b`"),
    ("see [the te", "see the te"),
    ("see [text](http://x", "see text"),
    ("| a | b |", "| a | b |\n|---|---|"),
    ("x\n\n| a | b |\n|--", "x\n\n| a | b |\n|---|---|"),
    ("| a |\n|---|\n| 1", "| a |\n|---|\n| 1"),
    ("```py\nx = **2", "```py\nx = **2"),
    ("2 ** 3 is `", "2 ** 3 is "),
    ("whole.", "whole."),
    ("", ""),
])  # fmt: skip
def test_what_is_open_at_the_end_is_closed(source: str, shown: str) -> None:
    assert closed(source) == shown
