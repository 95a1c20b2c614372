"""What the store writes into the database of a team."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.core.knowledge import stored as in_file
from tests.core.knowledge.postgres import stored
from tests.core.knowledge.postgres.stored import HERE, THERE, add, address_of, counted, fill, found
from tests.core.knowledge.stored import document
from tests.postgres_server import Cluster, Database
from ua_tui.core.errors import KnowledgeError, SettingsError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.place import FILE, Origin, read_place, written_place
from ua_tui.core.knowledge.records import Batch, Cursor
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address

TEXTS = (
    "The naïve generations of chips are running, e-mail by e-mail.",
    "今年のメモリ市場は東京で成長しています。",
    "Ωmega — “quoted” words… and a soft\u00adhyphen, 3.5 %, x_y, fi ligature, İstanbul",
    "",
    "one two " * 300,
)


def test_the_words_are_those_of_the_file(team_database: Database, tmp_path: Path) -> None:
    documents = [
        document(text, title=f"Title {n} café", context="a b", path=f"{n}") for n, text in enumerate(TEXTS)
    ]
    fill(address_of(team_database), HERE, *documents)
    with open_store(tmp_path / FILE) as store:
        assert in_file.add(store, "session_1", *documents)
    with closing(open_reader(tmp_path / FILE)) as db:
        expected = dict(db.execute("SELECT term, doc FROM chunk_terms"))
    assert counted(team_database) == expected


def test_a_session_that_another_machine_takes_over_keeps_its_documents(team_database: Database) -> None:
    address = address_of(team_database)
    fill(address, HERE, document("quokka", title="Old"), origin=Origin("job1-1"))
    with open_store(address, {THERE: Origin("job1-1", attempt=2)}) as store:
        assert store.cursor(THERE) == Cursor(1, 100)
        assert add(store, THERE, document("wombat", title="New", path="new"))
        assert list(store.cursors()) == [THERE]
    assert found(address, "quokka") == [(THERE, "Old")]
    assert found(address, "wombat") == [(THERE, "New")]


def test_a_session_that_joins_the_team_after_it_was_indexed_is_there_once(team_database: Database) -> None:
    address = address_of(team_database)
    fill(address, HERE, document("quokka", title="Old"), origin=Origin("job1-1"))
    fill(address, THERE, document("quokka", title="Old"))
    with open_store(address, {THERE: Origin("job1-1", attempt=2)}) as store:
        assert add(store, THERE, document("wombat", title="New", path="new"))
    assert found(address, "quokka") == [(THERE, "Old")]
    assert counted(team_database)["quokka"] == 1


def test_a_worker_that_lost_its_session_stores_nothing(team_database: Database) -> None:
    address = address_of(team_database)
    team_database.execute("INSERT INTO session (id, name, attempt) VALUES ('job1-1', 'session_1', 2)")
    with open_store(address, {HERE: Origin("job1-1", attempt=1)}) as store:
        with pytest.raises(KnowledgeError, match="taken over"):
            add(store, HERE, document("quokka"))
        assert store.cursors() == {}
    fill(address, THERE, document("quokka"), origin=Origin("job1-1", attempt=2))


def test_a_lost_connection_is_made_again(team_database: Database) -> None:
    address = address_of(team_database)
    with open_store(address) as store, closing(KnowledgeSearch(address, budget=60)) as search:
        add(store, HERE, document("quokka", title="A"))
        assert search.search("quokka").hits
        stored.disconnect(team_database)
        assert search.search("quokka").hits
        add(store, HERE, document("wombat", title="B", path="b"))
        assert search.search("wombat").hits
        stored.disconnect(team_database)
        assert store.apply(HERE, Cursor(2, 200), Batch(after=Cursor(3, 300)))


def test_a_database_without_tables_or_server_is_an_error_that_says_what_to_do(cluster: Cluster) -> None:
    empty = cluster.make_database()
    with pytest.raises(KnowledgeError, match="team migrate"):
        open_store(Address.parse(empty.url))
    cluster.drop(empty)
    nowhere = Address.parse("postgresql://owner@127.0.0.1:1/nothing")
    with pytest.raises(
        KnowledgeError, match=r"nothing on 127\.0\.0\.1:1 cannot be used, because no server is listening"
    ):
        open_store(nowhere)
    reason = "no server is listening"
    with closing(KnowledgeSearch(nowhere)) as search, pytest.raises(KnowledgeError, match=reason):
        search.search("quokka")


def test_a_place_is_read_as_it_was_written_and_refused_with_a_password() -> None:
    for text in ("/some/knowledge.db", "knowledge.db", "postgresql://me@host/team?sslmode=require"):
        assert written_place(read_place(text)) == text
    with pytest.raises(SettingsError) as error:
        read_place("postgresql://me:geheim@host/team")
    assert "geheim" not in str(error.value)
