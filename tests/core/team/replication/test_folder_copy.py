"""What is new in the files of a session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.storage.files import Root
from ua_tui.core.team.replication.folder_copy import LineTail, TranscriptTail, files_of, journal_line_of


def test_only_complete_lines_are_read_and_only_once(tmp_path: Path) -> None:
    tail = LineTail(Root(tmp_path), "a.jsonl")
    file = tmp_path / "a.jsonl"
    assert tail.read() == ([], 0)
    file.write_bytes(b"one\ntw")
    lines, end = tail.read()
    assert (lines, end) == ([b"one"], 4)
    # Nothing is lost if it could not be copied.
    assert tail.read() == (lines, end)
    tail.advance(end)
    assert tail.read() == ([], 4)
    with file.open("ab") as more:
        more.write(b"o\r\x85\n\nthree\n")
    assert tail.read() == ([b"two\r\x85", b"", b"three"], 17)
    tail.advance(17)
    file.write_bytes(b"new\n")
    assert tail.read() == ([b"new"], 4)


def test_a_line_that_is_longer_than_a_piece_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * (3 << 20) + b"\nshort\n")
    tail = LineTail(Root(tmp_path), "a")
    read = list[bytes]()
    while True:
        lines, end = tail.read()
        if end == tail.offset:
            break
        read += lines
        tail.advance(end)
    assert [len(line) for line in read] == [3 << 20, 5]


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"seq":0}', b'{"seq":-1}', b'{"seq":"1"}', b'{"seq":9e99}', b"\xff"]
)
def test_what_is_no_event_is_recognised(line: bytes) -> None:
    assert journal_line_of(line) is None


def test_files_are_announced_by_three_events() -> None:
    saved = '{"event":"artifact_saved","seq":1,"path":"a","sha256":"0"}'
    assert files_of(saved, "artifact_saved") == [("a", "0")]
    assert files_of(saved, "query_received") == []
    attached = '{"seq":1,"files":[{"path":"attachments/a"},{"path":"b"}]}'
    assert files_of(attached, "files_attached") == [("attachments/a", ""), ("b", "")]
    assert files_of('{"path":[]}', "artifact_saved") == []


ENTRIES = st.lists(st.sampled_from(["mode", "title", "a", "b", "c", "d"]), max_size=12)


@given(ENTRIES, st.integers(0, 12))
def test_copying_begins_exactly_where_the_database_ends(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], stored: int
) -> None:
    folder = tmp_path_factory.mktemp("tail")
    # Entries of one letter have a uuid, which is their own; markers are equal to each other.
    lines = [
        {"type": "x", "uuid": f"{name}{at}"} if len(name) == 1 else {"type": name}
        for at, name in enumerate(names)
    ]
    (folder / "t").write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in lines))
    there = lines[:stored]
    last = next((each["uuid"] for each in reversed(there) if "uuid" in each), None)
    behind = there[next((at + 1 for at in reversed(range(len(there))) if "uuid" in there[at]), 0) :]
    tail = TranscriptTail(Root(folder), "t", {})
    tail.align(last, [json.dumps(each, separators=(",", ":")) for each in behind])
    assert tail.read_entries()[0] == lines[stored:]
