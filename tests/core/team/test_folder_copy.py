"""What is new in the files of a session."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team.folder_copy import FolderCopy, Piece

JOURNAL, TRANSCRIPT = "journal.jsonl", ".conversation/a/b.jsonl"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace.create(tmp_path, datetime(2026, 1, 2, tzinfo=UTC))
    (workspace.path / TRANSCRIPT).parent.mkdir(parents=True)
    yield workspace
    workspace.close()


class StoredPiece(NamedTuple):
    """As the database gives it."""

    path: str
    start: int
    end: int
    sha256: str


def stored(piece: Piece) -> StoredPiece:
    return StoredPiece(piece.path, piece.start, piece.end, hashlib.sha256(piece.data).hexdigest())


def test_only_complete_lines_are_read_and_only_once(workspace: Workspace) -> None:
    copy, file = FolderCopy(workspace), workspace.path / JOURNAL
    (workspace.path / "title.txt").write_text("long " * 50 + "secret")
    assert copy.read() == []
    # All of it, so that a secret is masked before it is cut.
    assert copy.title.endswith(" secret")
    file.write_bytes(b"one\ntw")
    (piece,) = copy.read()
    assert piece == Piece(JOURNAL, 0, b"one\n")
    # Nothing is lost if it could not be copied.
    assert copy.read() == [piece]
    copy.advance([piece])
    assert copy.read() == []
    with file.open("ab") as more:
        more.write(b"o\r\x85\n\nthree\n")
    (workspace.path / TRANSCRIPT).write_bytes(b"{}\n")
    pieces = copy.read()
    assert pieces == [Piece(JOURNAL, 4, b"two\r\x85\n\nthree\n"), Piece(TRANSCRIPT, 0, b"{}\n")]
    copy.advance(pieces)
    file.write_bytes(b"new\n")
    with pytest.raises(WorkspaceError, match="was recreated"):
        copy.read()


def test_a_line_that_is_longer_than_a_piece_is_read_in_parts(workspace: Workspace) -> None:
    data = b"x" * (5 << 19) + b"\nshort\n"
    (workspace.path / JOURNAL).write_bytes(data)
    copy, read = FolderCopy(workspace), list[Piece]()
    while pieces := copy.read():
        copy.advance(pieces)
        read += pieces
    assert b"".join(each.data for each in read) == data
    assert [each.start for each in read] == [0, 1 << 20, 2 << 20]


def test_copying_begins_where_the_database_ends_if_that_is_of_this_folder(workspace: Workspace) -> None:
    event = b'{"event":"artifact_saved","seq":1,"path":"a","sha256":"0"}\n'
    (workspace.path / JOURNAL).write_bytes(2 * event)
    (workspace.path / TRANSCRIPT).write_bytes(b"{}\n")
    first, other = Piece(JOURNAL, 0, event), Piece(TRANSCRIPT, 0, b"[]\n")
    copy = FolderCopy(workspace)
    gone = StoredPiece(".conversation/gone.jsonl", 0, 3, "")
    assert copy.begin([stored(first), stored(other), gone]) == {TRANSCRIPT: 0}
    assert copy.read() == [Piece(JOURNAL, len(event), event), Piece(TRANSCRIPT, 0, b"{}\n")]
    (workspace.path / gone.path).write_bytes(b"{}\n{}\n")
    with pytest.raises(WorkspaceError, match="was recreated"):
        copy.read()


def test_only_what_the_folder_does_not_have_is_copied_anew(workspace: Workspace) -> None:
    (workspace.path / JOURNAL).write_bytes(b"one\ntwo\n")
    copy, torn = FolderCopy(workspace), Piece(JOURNAL, 8, b"x" * 9)
    for last, start in ((torn, 8), (torn._replace(start=5), 5), (torn._replace(start=99), 8)):
        assert copy.begin([stored(last)]) == {JOURNAL: start}
    assert copy.begin([stored(Piece(JOURNAL, 4, b"two\n"))]) == {}
    assert copy.read() == []
