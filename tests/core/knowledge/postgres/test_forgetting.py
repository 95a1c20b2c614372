"""Forgetting in the database of a team."""

from __future__ import annotations

from pathlib import Path

from tests.core.knowledge.postgres.stored import HERE, THERE, add, address_of, counted, fill, found
from tests.core.knowledge.stored import document
from tests.observers.knowledge.recorded import Recorded
from tests.postgres_server import Database
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import forget, forget_deleted
from ua_tui.core.knowledge.place import Origin, folder_key

URL = "https://a.example/leak"


def test_an_address_is_forgotten_on_all_machines_for_good(team_database: Database) -> None:
    address = address_of(team_database)
    with open_store(address) as elsewhere:
        secret = document("falcon secret", title="A", url=URL)
        fill(address, HERE, secret, document("quokka", title="B", path="b"))
        plan = forget(address, source=URL, dry_run=True)
        assert (plan.documents, plan.passages, plan.titles) == (1, 1, ("A",))
        assert found(address, "falcon") == [(HERE, "A")]
        done = forget(address, source=URL)
        assert done.documents == 1
        assert any("backups" in sentence for sentence in done.kept)
        # Another machine brings it again, after it was forgotten and with a store that was open before.
        again = document("falcon again", title="C", url=URL)
        add(elsewhere, THERE, again, document("emu", title="D", path="d"))
    assert found(address, "falcon") == []
    assert found(address, "emu") == [(THERE, "D")]
    assert not {"falcon", "secret"} & {*counted(team_database)}
    left = "SELECT count(*) FROM k_chunk WHERE text LIKE '%falcon%' OR vector @@ 'falcon'"
    assert team_database.execute(left) == [(0,)]


def test_a_deleted_session_is_removed_unless_a_teams(team_database: Database, tmp_path: Path) -> None:
    address = address_of(team_database)
    own, team = Recorded(tmp_path), Recorded(tmp_path, "session_20260310_130000")
    fill(address, folder_key(address, own.folder), document("quokka one", title="Own"))
    fill(address, folder_key(address, team.folder), document("quokka two", title="Team"), origin=Origin("s1"))
    index = SessionIndex(tmp_path, knowledge=address)
    assert index.delete(own.folder.name) == index.delete(team.folder.name) == ""
    assert [title for _, title in found(address, "quokka")] == ["Team"]
    # A folder that is not known is no error.
    forget_deleted(address, tmp_path / "session_20260101_000000")
