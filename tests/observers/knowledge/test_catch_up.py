"""Sessions are brought up to date from their journals, whatever happened to their folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.core.session.test_fork import Recorded as Forkable
from tests.observers.knowledge.recorded import NOON, Recorded, database_of, passages, sessions
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import adopt_knowledge
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.observers.knowledge import catch_up as catching_up
from ua_tui.observers.knowledge.catch_up import catch_up, index_piece
from ua_tui.observers.knowledge.journal import read_batch

OLD, MIDDLE, NEW = "session_20260310_120000", "session_20260311_120000", "session_20260312_120000"


def index(base: Path, database: Path | None = None) -> list[str]:
    """Catch up with everything below `base`; returns the sessions in the order in which they were indexed."""
    order: list[str] = []
    with open_store(database or database_of(base)) as store:
        for _ in catch_up(store, base, Redactor()):
            order += [folder for folder in store.cursors() if folder not in order]
    return order


def three_sessions(base: Path) -> None:
    for name in (MIDDLE, NEW, OLD):
        Recorded(base, name).write_report("quokka", f"The quokka of {name} smiles.")


def test_the_newest_session_is_indexed_first_and_each_once(tmp_path: Path) -> None:
    three_sessions(tmp_path)
    assert index(tmp_path) == [NEW, MIDDLE, OLD]
    found = passages(database_of(tmp_path), "quokka smiles")
    assert [folder for folder, _, _ in found] == [OLD, MIDDLE, NEW]
    before = passages(database_of(tmp_path))
    assert index(tmp_path) == []
    assert passages(database_of(tmp_path)) == before
    shutil.rmtree(tmp_path / WORKSPACES / MIDDLE)
    index(tmp_path)
    assert sessions(database_of(tmp_path)) == {OLD, NEW}
    assert len(passages(database_of(tmp_path), "quokka")) == 2


def test_what_another_program_indexed_meanwhile_is_not_indexed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Recorded(tmp_path)
    session.write_report("quokka", "The quokka smiles.")
    with open_store(database_of(tmp_path)) as one, open_store(database_of(tmp_path)) as other:

        def read_slowly(*args: Any) -> Any:
            batch = read_batch(*args)
            monkeypatch.setattr(catching_up, "read_batch", read_batch)
            assert index_piece(other, session.folder, Redactor()) is False
            return batch

        monkeypatch.setattr(catching_up, "read_batch", read_slowly)
        assert index_piece(one, session.folder, Redactor()) is None
        assert index_piece(one, session.folder, Redactor()) is False
    assert [folder for folder, _, _ in passages(database_of(tmp_path), "quokka")] == [session.folder.name]


@pytest.mark.parametrize("empty", [True, False])
def test_nothing_is_removed_if_the_sessions_cannot_be_listed(tmp_path: Path, empty: bool) -> None:
    three_sessions(tmp_path)
    database = tmp_path / "elsewhere" / "knowledge.db"
    index(tmp_path, database)
    (tmp_path / WORKSPACES).rename(tmp_path / "unmounted")
    if empty:
        (tmp_path / WORKSPACES).mkdir()
    index(tmp_path, database)
    assert len(sessions(database)) == 3


def test_sessions_below_another_folder_are_left_alone(tmp_path: Path) -> None:
    database = tmp_path / "knowledge.db"
    for name in ("here", "there"):
        three_sessions(tmp_path / name)
        index(tmp_path / name, database)
    shutil.rmtree(tmp_path / "there")
    index(tmp_path / "here", database)
    assert len(sessions(database)) == 6


def test_links_are_not_followed(tmp_path: Path) -> None:
    three_sessions(tmp_path)
    three_sessions(tmp_path / "other")
    shutil.rmtree(tmp_path / WORKSPACES / NEW)
    (tmp_path / WORKSPACES / NEW).symlink_to(tmp_path / "other" / WORKSPACES / NEW)
    index(tmp_path)
    assert sessions(database_of(tmp_path)) == {OLD, MIDDLE}
    # A folder that was replaced by a link is removed.
    (tmp_path / WORKSPACES / MIDDLE).rename(tmp_path / "away")
    (tmp_path / WORKSPACES / MIDDLE).symlink_to(tmp_path / "away")
    index(tmp_path)
    assert sessions(database_of(tmp_path)) == {OLD}


def test_a_copy_and_a_move_of_everything_need_no_second_reading(tmp_path: Path) -> None:
    three_sessions(tmp_path / "one")
    index(tmp_path / "one")
    before = passages(database_of(tmp_path / "one"))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (tmp_path / "one").rename(tmp_path / "three")
    for name in ("two", "three"):
        with pytest.raises(KnowledgeError, match="`ua-tui trust adopt"):
            open_store(database_of(tmp_path / name))
        adopt_knowledge(database_of(tmp_path / name))
        with open_store(database_of(tmp_path / name)) as store:
            assert list(catch_up(store, tmp_path / name, Redactor())) == []
        assert passages(database_of(tmp_path / name)) == before


def test_a_session_that_was_renamed_is_found_under_its_new_name_only(tmp_path: Path) -> None:
    three_sessions(tmp_path)
    index(tmp_path)
    renamed = "session_20260313_120000"
    (tmp_path / WORKSPACES / OLD).rename(tmp_path / WORKSPACES / renamed)
    index(tmp_path)
    assert sessions(database_of(tmp_path)) == {MIDDLE, NEW, renamed}
    assert renamed in {folder for folder, _, _ in passages(database_of(tmp_path), "quokka")}


def test_a_folder_with_the_name_of_another_session_replaces_it(tmp_path: Path) -> None:
    def found() -> list[str]:
        index(tmp_path)
        return [path for _, path, _ in passages(database_of(tmp_path), "numbat OR quokka")]

    recorded = Recorded(tmp_path)
    for number in range(20):
        recorded.write_report(f"quokka{number}", "A quokka smiles.")
    assert len(found()) == 20
    # What was added is indexed from where the reading ended.
    recorded.write_report("numbat2", "A numbat eats termites.")
    assert len(found()) == 21
    shutil.rmtree(recorded.folder)
    Recorded(tmp_path).write_report("numbat", "A numbat eats termites.")
    assert found() == ["work_products/numbat.md"]


def test_a_session_that_is_deleted_while_it_is_indexed_leaves_nothing(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    for number in range(100):
        recorded.write_report(f"quokka{number}", f"Quokka {number} smiles.")
    with open_store(database_of(tmp_path)) as store:
        assert index_piece(store, recorded.folder, Redactor())
        shutil.rmtree(recorded.folder)
        assert not index_piece(store, recorded.folder, Redactor())
    assert sessions(database_of(tmp_path)) == set()
    assert passages(database_of(tmp_path)) == []


def test_a_journal_that_cannot_be_read_does_not_keep_others_from_being_indexed(tmp_path: Path) -> None:
    three_sessions(tmp_path)
    journal = tmp_path / WORKSPACES / NEW / JOURNAL
    journal.unlink()
    os.mkfifo(journal)
    (tmp_path / WORKSPACES / MIDDLE / JOURNAL).write_bytes(b"\0no event\n" * 100)
    index(tmp_path)
    assert [folder for folder, _, _ in passages(database_of(tmp_path), "quokka")] == [OLD]


def test_what_a_fork_has_of_another_session_is_read_once(tmp_path: Path) -> None:
    one = Forkable(tmp_path)
    fork = one.fork("q3")
    assert set(index(tmp_path)) == {one.folder.name, fork.name}
    found = passages(database_of(tmp_path))
    assert {folder for folder, _, _ in found} == {one.folder.name}
    assert sum("Report" in text for _, _, text in found) == 3
    # Also of a fork of it. What each says itself is its own.
    one.folder = fork
    again = one.fork()
    for folder in (fork, again):
        query = ev.QueryReceived(query_id="q9", text=f"Only {folder.name}", seq=1_000, at=NOON)
        Root(folder).append_lines(JOURNAL, [encode_event(query)])
    index(tmp_path)
    own = [each for each in passages(database_of(tmp_path)) if each[0] != found[0][0]]
    assert [text for _, _, text in own] == [f"Only {folder.name}" for folder in (fork, again)]
    # If the other session is gone, it is read in the fork.
    shutil.rmtree(tmp_path / WORKSPACES / found[0][0])
    with open_store(database_of(tmp_path)) as store:
        store.remove_session(fork.name)
    index(tmp_path)
    assert {folder for folder, _, text in passages(database_of(tmp_path)) if "Report 1" in text} == {
        fork.name
    }
