"""The state of the database of a team, and the names of its sessions."""

from __future__ import annotations

from pathlib import Path

from tests.core.knowledge.postgres.stored import HERE, address_of, fill
from tests.core.knowledge.stored import document
from tests.observers.knowledge.recorded import Recorded
from tests.postgres_server import Database
from ua_tui.core.knowledge.place import folder_key, folder_path
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST
from ua_tui.core.storage.workspace import JOURNAL


def test_the_state_counts_what_is_there_and_what_is_missing(team_database: Database, tmp_path: Path) -> None:
    address = address_of(team_database)
    recorded = Recorded(tmp_path)
    fill(address, HERE, document("quokka", url="https://a.org/x"), document("note", kind="note", path="n"))
    status = read_status(address, tmp_path)
    assert (status.problems, status.sessions, status.version) == ((), 1, LATEST)
    assert (status.documents, status.passages, status.sources) == ({"article": 1, "note": 1}, 2, 1)
    assert status.size > 100_000
    size = (recorded.folder / JOURNAL).stat().st_size
    assert status.lagging == {folder_key(address, recorded.folder): size}
    away = read_status(Address.parse("postgresql://me@127.0.0.1:1/team"))
    assert "no server is listening" in away.problems[0]


def test_folders_of_other_machines_are_none_here(tmp_path: Path) -> None:
    address = Address.parse("postgresql://me@host/team")
    key = folder_key(address, tmp_path / "session_1")
    assert folder_path(address, key) == tmp_path.resolve() / "session_1"
    other = f"elsewhere.example:{tmp_path}"
    assert folder_path(address, other) is None
