"""JSON, indented and coloured."""

from __future__ import annotations

import msgspec

from core.text import clean
from tui.viewers.json_style import format_json, style_json_line
from tui.viewers.registry import Sample, View, Viewer
from tui.viewers.text_body import TextBody

__all__ = ["VIEWER", "json_body"]


def json_body(data: bytes | str) -> TextBody:
    """Indented, coloured JSON.

    Raises:
        ValueError: the data are not JSON.
        RecursionError: they are nested too deeply.
    """
    return TextBody(clean(format_json(data)), style=style_json_line)


def _wants(sample: Sample) -> bool:
    if sample.suffix in {".json", ".geojson", ".webmanifest"}:
        return True
    return not sample.suffix and sample.data[:64].lstrip()[:1] in {b"{", b"["}


def _view(sample: Sample) -> View:
    raw = TextBody(sample.text, style=style_json_line)
    if not sample.data.strip():
        return View("JSON", raw, notice="This file is empty.")
    if not sample.complete:
        return View("JSON", raw, notice="Too large to indent; shown as it is written.")
    return View("JSON", raw, json_body(sample.data), _facts(sample.data))


def _facts(data: bytes) -> tuple[str, ...]:
    try:
        top = msgspec.json.decode(data, type=dict[str, msgspec.Raw] | list[msgspec.Raw])
    except (ValueError, RecursionError):
        return ()
    word = "key" if isinstance(top, dict) else "item"
    return (f"{len(top):,} {word}{'' if len(top) == 1 else 's'}",)


VIEWER = Viewer("JSON", _wants, _view)
