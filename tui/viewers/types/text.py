"""Plain text, and everything that nothing else knows."""

from __future__ import annotations

from tui.viewers.bodies.text import TextBody
from tui.viewers.registry import Sample, View, Viewer

__all__ = ["VIEWER"]


def _view(sample: Sample) -> View:
    body = TextBody(sample.text)
    if not sample.data:
        return View("Text", body, notice="This file is empty.")
    facts = (f"{len(body.lines):,} line{'' if len(body.lines) == 1 else 's'}",) if sample.complete else ()
    return View("Text", body, None, facts)


VIEWER = Viewer("text", lambda sample: True, _view)
