"""Plain text, logs among it, and every file that no other viewer shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from textual.content import Span

from ua_tui.tui.viewers.bodies.text import TextBody, line_facts
from ua_tui.tui.viewers.contract import Sample, View, Viewer

_LOGS = frozenset({".log", ".out", ".err"})
_TIME = re.compile(r"^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?")
_WORDS = re.compile(
    r"(?P<bad>\b(?:ERROR|CRITICAL|FATAL|Traceback|failed)\b|✗)"
    r"|(?P<warn>\b(?:WARN|WARNING)\b|⊘|⟲)"
    r"|(?P<good>✓)"
    r"|(?P<dim>\b(?:DEBUG|INFO)\b)"
    r"|(?P<link>https?://[^\s<>\"')\]]+)"
)
_STYLED_CHARACTERS = 4_000


def _style_log_line(number: int, line: str) -> Sequence[Span]:
    spans: list[Span] = []
    if time := _TIME.match(line):
        spans.append(Span(0, time.end(), "dim"))
    spans += (
        Span(match.start(), match.end(), str(match.lastgroup))
        for match in _WORDS.finditer(line, 0, _STYLED_CHARACTERS)
    )
    return spans


def _view(sample: Sample) -> View:
    is_log = sample.suffix in _LOGS
    kind = "Log" if is_log else "Text"
    body = TextBody(sample.text, style=_style_log_line if is_log else None)
    if not sample.data:
        return View(kind, body, notice="This file is empty.")
    return View(kind, body, None, line_facts(body) if sample.complete else ())


VIEWER = Viewer("text", lambda sample: True, _view, priority=0)
