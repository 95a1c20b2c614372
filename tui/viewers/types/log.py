"""Logs: times step back, warnings and errors step forward."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.content import Span

from tui.viewers.bodies.text import TextBody
from tui.viewers.registry import Sample, View, Viewer

__all__ = ["VIEWER"]

_TIME = re.compile(r"^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?")
_WORDS = re.compile(
    r"(?P<bad>\b(?:ERROR|CRITICAL|FATAL|Traceback|failed)\b|✗)"
    r"|(?P<warn>\b(?:WARN|WARNING)\b|⊘|⟲)"
    r"|(?P<good>✓)"
    r"|(?P<dim>\b(?:DEBUG|INFO)\b)"
    r"|(?P<link>https?://[^\s<>\"')\]]+)"
)
_STYLED_CHARACTERS = 4_000


def _style(number: int, line: str) -> Sequence[Span]:
    spans: list[Span] = []
    if time := _TIME.match(line):
        spans.append(Span(0, time.end(), "dim"))
    spans += (
        Span(match.start(), match.end(), str(match.lastgroup))
        for match in _WORDS.finditer(line, 0, _STYLED_CHARACTERS)
    )
    return spans


def _view(sample: Sample) -> View:
    body = TextBody(sample.text, style=_style)
    if not sample.data:
        return View("Log", body, notice="This file is empty.")
    facts = (f"{len(body.lines):,} line{'' if len(body.lines) == 1 else 's'}",) if sample.complete else ()
    return View("Log", body, None, facts)


VIEWER = Viewer("log", lambda sample: sample.suffix in {".log", ".out", ".err"}, _view)
