from __future__ import annotations

from pathlib import Path

from tests.core.knowledge.stored import add, document
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import forget
from ua_tui.core.knowledge.forgotten import ForgottenFile
from ua_tui.core.knowledge.index.database import VERSION
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.status import Status, read_status
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL


def test_what_is_in_it_and_what_is_missing(tmp_path: Path) -> None:
    assert read_status(tmp_path / FILE) == Status()
    path = tmp_path / WORKSPACES / FILE
    names = [f"session_2026030{number}_120000" for number in range(5)]
    # The cursors of the sessions are at the bytes 100 and 200.
    for name, size in zip(names, (100, 230, 1_000, 500), strict=False):
        (tmp_path / WORKSPACES / name).mkdir(parents=True)
        (tmp_path / WORKSPACES / name / JOURNAL).write_bytes(b"x" * size)
    with open_store(path) as store:
        add(store, names[0], document("one", url="https://a.org/"))
        add(store, names[1], document("two", kind="report"), document("", path="f", kind="file"))
        add(store, names[1])
        add(store, names[4], document("of a deleted session", kind="report"))
        status = read_status(path, tmp_path)
        forget(path, session=names[3])
    assert status.exists
    assert status.size >= path.stat().st_size
    assert status.version == VERSION
    assert list(status.documents.items()) == [("report", 2), ("article", 1), ("file", 1)]
    assert (status.sessions, status.passages, status.sources) == (3, 3, 1)
    assert status.updated is not None
    assert [*status.lagging.items()] == [(names[2], 1_000), (names[3], 500), (names[1], 30)]
    assert (status.forgotten, status.problems) == (0, ())
    later = read_status(path, tmp_path)
    assert later.forgotten == 1
    assert names[3] not in later.lagging


def test_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_bytes(b"garbage " * 1_000)
    ForgottenFile(path).path.write_bytes(b"garbage\n")
    status = read_status(path, tmp_path)
    assert status.exists
    damaged, lines = status.problems
    assert "run `ua-tui knowledge rebuild`" in damaged
    assert "lines that cannot be read" in lines
