"""JSON Lines: every record indented under its number."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Span

from core.text import clean
from tui.viewers.json_style import format_json, style_json_line
from tui.viewers.registry import Sample, View, Viewer
from tui.viewers.text_body import TextBody

__all__ = ["VIEWER"]

_RECORD_MARK = "▸ "
_RENDERED_RECORDS = 20_000


def _wants(sample: Sample) -> bool:
    return sample.suffix in {".jsonl", ".ndjson"}


def _view(sample: Sample) -> View:
    raw = TextBody(sample.text, style=style_json_line, numbers=True)
    records = sample.data.split(b"\n")
    torn = not sample.complete
    if torn:
        records.pop()
    parts: list[str] = []
    bad = 0
    shown = [record for record in records if record.strip()]
    for number, record in enumerate(shown[:_RENDERED_RECORDS], 1):
        parts.append(f"{_RECORD_MARK}{number}")
        try:
            parts.append(format_json(record))
        except (ValueError, RecursionError):
            bad += 1
            parts.append(record.decode("utf-8", "replace"))
    facts = [f"{'at least ' if torn else ''}{len(shown):,} record{'' if len(shown) == 1 else 's'}"]
    if bad:
        facts.append(f"{bad:,} not JSON")
    return View("JSON Lines", raw, TextBody(clean("\n".join(parts)), style=_style), tuple(facts))


def _style(number: int, line: str) -> Sequence[Span]:
    if line.startswith(_RECORD_MARK):
        return [Span(0, len(line), "heading")]
    return style_json_line(number, line)


VIEWER = Viewer("JSON Lines", _wants, _view)
