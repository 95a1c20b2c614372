"""JSON Lines as a tree that folds; every record is a row with its number."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import overload

import msgspec

from ua_tui.core.events.units import quantity
from ua_tui.tui.viewers.bodies.json_text import style_json_line
from ua_tui.tui.viewers.bodies.json_tree import JsonTree
from ua_tui.tui.viewers.bodies.json_values import Value
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.contract import LARGE_LIMIT, Sample, View, Viewer

_CHECKED_BYTES = 4 * 1024 * 1024
_STEP = 1024 * 1024
_LINE = re.compile(rb"[^\s][^\n]*+\n?")


class _Records(Sequence[Value]):
    """The non-empty lines: the start of each is known, its bytes are cut out on demand."""

    def __init__(self, data: bytes, *, incomplete: bool) -> None:
        self._data = data
        self._starts = array("q")
        end = data.rfind(b"\n") + 1 if incomplete else len(data)
        at = 0
        while at < end:
            upto = data.rfind(b"\n", at, at + _STEP) + 1 or data.find(b"\n", at + _STEP) + 1 or end
            self._starts.extend(line.start() for line in _LINE.finditer(data, at, min(upto, end)))
            at = upto

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> Value: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Value]: ...

    def __getitem__(self, place: int | slice) -> Value | Sequence[Value]:
        """Return one record, or several."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        start = self._starts[place]
        end = self._data.find(b"\n", start)
        return self._data[start : end if end >= 0 else len(self._data)].rstrip()


def _accepts(sample: Sample) -> bool:
    return sample.suffix in {".jsonl", ".ndjson"}


def _view(sample: Sample) -> View:
    raw = TextBody(sample.beginning, style=style_json_line, numbers=True)
    records = _Records(sample.data, incomplete=not sample.complete)
    if not records:
        return View("JSON Lines", raw)
    facts = [f"{'' if sample.complete else 'at least '}{quantity(len(records), 'record')}"]
    checked = records if len(sample.data) <= _CHECKED_BYTES else ()
    bad = sum(1 for record in checked if not _valid(record))
    if bad:
        facts.append(f"{bad:,} not JSON")
    tree = JsonTree((None, records), first_number=1)
    return View("JSON Lines", raw, tree, tuple(facts), all_rendered=sample.complete)


def _valid(record: Value) -> bool:
    try:
        msgspec.json.decode(memoryview(record), type=msgspec.Raw)
    except (ValueError, RecursionError):
        return False
    return True


VIEWER = Viewer("JSON Lines", _accepts, _view, limit=LARGE_LIMIT)
