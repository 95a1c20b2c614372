"""Sections of a document that takes the place of an older form of itself."""

from __future__ import annotations

import pytest

from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.cursor_body import BodyCommand
from ua_tui.tui.viewers.tool_call.sections import Part, Section, SectionsBody


def result(*texts: str) -> SectionsBody:
    body = SectionsBody([Section("Result", [Part(TextBody(text)) for text in texts])])
    body.lay_out(60, MarkdownTheme())
    return body


@pytest.mark.parametrize("order", ["fold", "copy", "open"])
def test_the_cursor_goes_to_the_heading_when_its_part_is_gone(order: str) -> None:
    before, now = result("one", "two", "three"), result("the whole")
    before.cursor = 3
    now.restore(before)
    assert now.cursor == 0
    now.execute(BodyCommand(order))
    assert now.sections[0].open is (order == "copy")


def test_the_cursor_stays_in_a_part_that_is_there() -> None:
    before, now = result("one", "two"), result("one", "two", "three")
    before.cursor = 2
    now.restore(before)
    assert now.cursor == 2
