"""JSON as a tree that folds."""

from __future__ import annotations

import re

from core.text import clean
from tui.viewers.bodies.json_style import format_json, style_json_line
from tui.viewers.bodies.json_tree import JsonTree
from tui.viewers.bodies.json_values import Value, open_level
from tui.viewers.bodies.text import TextBody
from tui.viewers.registry import LARGE_LIMIT, Sample, View, Viewer

__all__ = ["VIEWER", "closed_beginning", "json_body"]

_TEXT = re.compile(rb"(?:\xef\xbb\xbf)?\s*+(?=\S)")
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\],]')


def json_body(data: bytes | str) -> TextBody:
    """Indented, coloured JSON.

    Raises:
        ValueError: the data are not JSON.
        RecursionError: they are nested too deeply.
    """
    return TextBody(clean(format_json(data)), style=style_json_line)


def closed_beginning(data: bytes) -> bytes:
    """The beginning of a JSON document made whole: cut behind its last complete member, every bracket closed.

    Raises:
        ValueError: there is no complete member in it.
    """
    closers: list[bytes] = []
    end = depth = 0
    for token in _TOKEN.finditer(data):
        match token.group():
            case b"{":
                closers.append(b"}")
            case b"[":
                closers.append(b"]")
            case b"}" | b"]":
                if closers:
                    closers.pop()
                end, depth = token.end(), len(closers)
            case b'"':
                break
            case b",":
                end, depth = token.start(), len(closers)
    if not end:
        raise ValueError("no complete member")
    # Behind the end brackets were only opened: what is open there is still at the bottom.
    return data[:end] + b"".join(reversed(closers[:depth]))


def _wants(sample: Sample) -> bool:
    if sample.suffix in {".json", ".geojson", ".webmanifest"}:
        return True
    return not sample.suffix and sample.data[:64].lstrip()[:1] in {b"{", b"["}


def _view(sample: Sample) -> View:
    raw = TextBody(sample.beginning, style=style_json_line)
    text = _TEXT.match(sample.data)
    if text is None:
        return View("JSON", raw, notice="This file is empty.")
    data: Value = memoryview(sample.data)[text.end() :]
    notice = None
    if not sample.complete:
        data = closed_beginning(bytes(data))
        notice = "Only the beginning of this file is in the tree."
    level = open_level(data)
    if level is None:
        return View("JSON", raw, json_body(bytes(data)))
    word = "item" if level[0] is None else "key"
    count = len(level[1])
    facts = (f"{'at least ' if notice else ''}{count:,} {word}{'' if count == 1 else 's'}",)
    return View("JSON", raw, JsonTree(level), facts, notice, all_rendered=sample.complete)


VIEWER = Viewer("JSON", _wants, _view, limit=LARGE_LIMIT)
