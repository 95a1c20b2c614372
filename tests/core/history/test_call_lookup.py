"""Tests of finding a call in a journal."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from ua_tui.core.errors import JournalError
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    PermissionAnswered,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.history.call_lookup import read_call

_EVENTS: tuple[Event, ...] = (
    ToolCallStarted(query_id="q1", tool_use_id="a", name="Read", input={"file_path": "b"}),
    ToolCallStarted(query_id="q1", tool_use_id="b", name="Write", input={"file_path": "x"}),
    PermissionAnswered(request_id="r", decision="allow", tool_use_id="b", tool_name="Write", input={"file_path": "y"},
                       changes=["file_path"]),
    ToolCallFinished(tool_use_id="a", status="error"),
    ToolCallFinished(tool_use_id="b", status="success"),
    ArtifactSaved(tool_use_id="b", kind="written", path="y", size=1, sha256="0", observer="o"),
)  # fmt: skip


def test_a_call_is_read_with_its_end_its_files_and_its_changed_arguments(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be read"):
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
