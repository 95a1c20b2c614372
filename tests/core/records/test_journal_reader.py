"""Tests of reading single things from a journal."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    PermissionAnswered,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.records.journal_reader import PastJournal, read_call, read_events
from ua_tui.core.view.calls import OpenCalls
from ua_tui.core.view.session import fold

_EVENTS: tuple[Event, ...] = (
    ToolCallStarted(query_id="q1", tool_use_id="a", name="Read", input={"file_path": "b"}),
    ToolCallStarted(query_id="q1", tool_use_id="b", name="Write", input={"file_path": "x"}),
    PermissionAnswered(request_id="r", decision="allow", tool_use_id="b", tool_name="Write", input={"file_path": "y"},
                       changes=["file_path"]),
    ToolCallFinished(tool_use_id="a", status="error"),
    ToolCallFinished(tool_use_id="b", status="success"),
    ArtifactSaved(tool_use_id="b", kind="written", path="y", size=1, sha256="0", observer="o"),
)  # fmt: skip


def journal_of(folder: Path, events: Iterable[Event]) -> PastJournal:
    (folder / "journal.jsonl").write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    return PastJournal(folder)


def test_a_call_is_read_with_its_end_its_files_and_its_changed_arguments(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be opened"):
        read_call(tmp_path, "a")
    lines = [encode_event(event) + b"\n" for event in _EVENTS]
    (tmp_path / "journal.jsonl").write_bytes(b'torn "b"\n' + b"".join(lines))
    call = read_call(tmp_path, "b")
    assert call is not None
    assert call.started.input == {"file_path": "y"}
    assert call.finished is not None
    assert call.finished.status == "success"
    assert [each.path for each in call.artifacts] == ["y"]
    assert call.changes == ("file_path",)
    assert read_call(tmp_path, "c") is None


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path: Path) -> None:
    with open(tmp_path / "journal.jsonl", "wb") as file:
        file.truncate(128 << 20)
    tracemalloc.start()
    try:
        assert read_call(tmp_path, "call_1") is None
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@given(st.integers(0, 8))
def test_the_view_after_an_event_is_the_fold_of_what_came_until_then(seq: int) -> None:
    events = [msgspec.structs.replace(event, seq=number) for number, event in enumerate(_EVENTS, 1)]
    with TemporaryDirectory() as folder, closing(journal_of(Path(folder), events)) as journal:
        assert journal.view(seq=seq) == fold([*read_events(Path(folder))][:seq])


def test_only_events_of_the_wanted_kinds_that_name_something_are_found(tmp_path: Path) -> None:
    with closing(journal_of(tmp_path, _EVENTS)) as journal:
        ended = journal.find(ToolCallFinished, naming=b'"tool_use_id":"b"')
        assert [event.status for event in ended if isinstance(event, ToolCallFinished)] == ["success"]
        assert len([*journal.find(ToolCallStarted, PermissionAnswered)]) == 3
        (saved,) = journal.find(ArtifactSaved)
        assert isinstance(saved, ArtifactSaved)
        assert isinstance(saved.place, int)
        assert journal.event_at(saved.place) == msgspec.structs.replace(saved, place=msgspec.UNSET)
        assert [*journal.find(ArtifactSaved, end=saved.place)] == []
        assert journal.first() == _EVENTS[0]
        assert journal.last() == _EVENTS[-1]


def test_each_end_of_a_call_comes_with_its_start_and_the_arguments_that_it_ran_with() -> None:
    calls = OpenCalls()
    ended = [call for event in _EVENTS if (call := calls.ended_by(event)) is not None]
    assert [(call.started.name, call.finished.status) for call in ended] == [
        ("Read", "error"),
        ("Write", "success"),
    ]
    assert ended[1].started.input == {"file_path": "y"}
    assert not calls
