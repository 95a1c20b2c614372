"""A table of records: a list of JSON objects that have the same keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ua_tui.core.concurrency.cancellation import checked
from ua_tui.core.text import clean_line
from ua_tui.tui.viewers.bodies.json_text import json_body
from ua_tui.tui.viewers.bodies.json_values import Level, Value, kind_of, open_level, shown_scalar, text_of
from ua_tui.tui.viewers.bodies.table import Table, TableColumn
from ua_tui.tui.viewers.document import Body

_SAMPLE = 200
_MAX_COLUMNS = 60
_MAX_CELL = 400
_MAX_PARSED = 64 * 1024
_MAX_DETAIL = 256 * 1024
_DEEPEST = 3
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class JsonRecords:
    """The records of a list, each parsed when it is used."""

    def __init__(self, values: Sequence[Value], names: Sequence[str]) -> None:
        self.values = values
        self.names = names

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.values)

    def __getitem__(self, number: int) -> Sequence[str]:
        """Return the cells of a record, each on one line; the text of a line that is no object is its only cell."""
        members = _members(self.values[number])
        if members is None:
            return [clean_line(bytes(memoryview(self.values[number])[:_MAX_CELL]).decode("utf-8", "replace"))]
        return [_cell(members[name]) if name in members else "" for name in self.names]


class RecordTable(Table):
    """A table whose detail is the whole record."""

    records: JsonRecords

    def whole_rows(self) -> Iterator[Sequence[str]]:
        """Yield the keys and the records that are shown, with the whole of their texts.

        Keys that only late records have are columns, too.

        Raises:
            Stopped: the result is no longer needed.
        """
        values = self.records.values
        names = dict.fromkeys(self.records.names)
        for number in checked(self.order):
            names.update(dict.fromkeys(_members(values[number]) or ()))
        yield list(names)
        for number in checked(self.order):
            members = _members(values[number])
            if members is None:
                yield [bytes(memoryview(values[number])).decode("utf-8", "replace")]
            else:
                yield [_text(members[name]) if name in members else "" for name in names]

    def detail(self) -> Body | None:
        """Return the record under the cursor as JSON."""
        number = self.record
        if number is None:
            return None
        value = memoryview(self.records.values[number])
        try:
            return json_body(bytes(value)) if len(value) <= _MAX_DETAIL else super().detail()
        except (ValueError, RecursionError):
            return super().detail()


def record_table(level: Level) -> RecordTable | None:
    """Return the table of a list of like records, or of the only such list in an object; None if there is none.

    Records are alike if each has at least half of the keys that any of the first 200 has, and most of their values
    are no objects or lists. What else the object has is written above the table if it is short.

    Raises:
        ValueError: a part is not JSON.
        RecursionError: it is nested too deeply.
    """
    notes: list[str] = []
    for _ in range(_DEEPEST):
        names, values = level
        if names is None:
            columns = _columns(values)
            return _table(values, columns, notes) if columns else None
        nested = [place for place, value in enumerate(values) if kind_of(value) in ("object", "list")]
        if len(nested) != 1:
            return None
        notes += [
            f"{clean_line(name, 40)}: {cell}"
            for place, (name, value) in enumerate(zip(names, values, strict=True))
            if place != nested[0] and (cell := _cell(value))
        ]
        inner = open_level(values[nested[0]])
        if inner is None:
            return None
        level = inner
    return None


def _table(values: Sequence[Value], columns: Sequence[str], notes: Sequence[str]) -> RecordTable:
    head = [(clean_line(" · ".join(notes), 1_000), "dim")] if notes else []
    titles = [TableColumn(clean_line(name, 60)) for name in columns]
    return RecordTable(titles, JsonRecords(values, columns), notes=head)


def _columns(values: Sequence[Value]) -> list[str]:
    """The keys of like records, in the order in which they appear; none if the values are not alike."""
    sample = [_members(value) for value in values[:_SAMPLE]]
    if len(values) < 2 or not all(sample):
        return []
    records = [members for members in sample if members]
    names = list(dict.fromkeys(name for members in records for name in members))
    cells = [value for members in records for value in members.values()]
    plain = sum(kind_of(value) not in ("object", "list") for value in cells)
    is_alike = all(2 * len(members) >= len(names) for members in records) and 2 * plain >= len(cells)
    return names if is_alike and 2 <= len(names) <= _MAX_COLUMNS else []


def _members(value: Value) -> dict[str, msgspec.Raw] | None:
    if kind_of(value) != "object":
        return None
    try:
        return _decode(memoryview(value))
    except (ValueError, RecursionError):
        return None


def _cell(value: Value) -> str:
    if len(memoryview(value)) > _MAX_PARSED:
        return shown_scalar(value, _MAX_CELL)[0]
    return clean_line(_text(value), _MAX_CELL)


def _text(value: Value) -> str:
    if bytes(memoryview(value)[:4]) == b"null":
        return ""
    return text_of(value, len(memoryview(value))) or ""
