"""Who sees what in the knowledge base of a team."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from uuid import uuid4

import msgspec
import psycopg
import pytest

from tests.core.knowledge.postgres import stored
from tests.core.knowledge.postgres.stored import HERE, THERE, add, address_of, counted, fill, found
from tests.core.knowledge.stored import document
from tests.postgres_server import Cluster, Database
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import forget
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.knowledge.postgres.store import PostgresStore
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connections
from ua_tui.core.postgres.schema import grant

URL = "https://a.example/page"


@pytest.fixture
def people(cluster: Cluster, team_database: Database) -> Iterator[tuple[str, str]]:
    """Two roles that were granted access."""
    names = [cluster.make_role(f"{name}_{uuid4().hex[:8]}") for name in ("ada", "bob")]
    for name in names:
        grant(address_of(team_database), name)
    yield names[0], names[1]
    for name in names:
        team_database.execute(f'DROP OWNED BY "{name}"')
        with suppress(psycopg.Error):
            team_database.execute(f'DROP ROLE "{name}"')


def test_what_is_not_shared_is_found_by_its_owner_and_by_workers_alone(
    cluster: Cluster, team_database: Database, people: tuple[str, str]
) -> None:
    ada, bob = (stored.address_for(cluster, team_database, name) for name in people)
    worker = address_of(team_database)
    fill(ada, HERE, document("secret quokka", title="Private", url=URL), origin=Origin("s1", shared=False))
    fill(bob, THERE, document("public quokka", title="Shared"))
    everything = [(HERE, "Private"), (THERE, "Shared")]
    assert found(ada, "quokka") == found(worker, "quokka") == everything
    for words in ("quokka", "", "quokka -wombat", "quokka kind:article", "since:1970-01-01"):
        assert found(bob, words) == [(THERE, "Shared")], words
    assert found(bob, "secret") == []
    # A word with a mistake shows no word that only others have.
    team_database.execute("ANALYZE k_chunk")
    for address, notices in ((ada, 1), (bob, 0)):
        with closing(KnowledgeSearch(address, budget=60)) as search:
            assert len(search.search("secrit").notices) == notices
    with psycopg.connect(bob.url, options="-c search_path=ua_tui") as db:
        for asked, answer in (
            ("counts FROM k_frequencies('{secret,quokka}')", [0, 1]),
            ("count(*) FROM k_matches('{secret,quokka}', '{1,1}')", 1),
        ):
            assert db.execute(f"SELECT {asked}".encode()).fetchone() == (answer,)
    with closing(KnowledgeSearch(worker, budget=60)) as search:
        number = search.search("secret").hits[0].id
    with closing(KnowledgeSearch(bob, budget=60)) as search:
        assert (search.document(number), search.sources(URL)) == (None, [])
        assert all(hit.session == THERE for hit in search.search("quokka").hits)
    with psycopg.connect(bob.url, options="-c search_path=ua_tui,public") as db:
        assert db.execute("SELECT count(*) FROM k_chunk").fetchone() == (1,)


def test_workers_read_for_a_role(cluster: Cluster, team_database: Database, people: tuple[str, str]) -> None:
    worker = address_of(team_database)
    odd = cluster.make_role(f"b o\\b@{team_database.name}")
    private = document("quokka", title="A", url=URL)
    fill(worker, HERE, private, origin=Origin("s1", owner=people[0], shared=False))
    with closing(KnowledgeSearch(worker, budget=60)) as search:
        number = search.search("quokka").hits[0].id
        assert search.document(number) is not None
    for name in (people[1], odd, "no such role"):
        theirs = Address.parse(worker.reading_for(name).url)
        with closing(KnowledgeSearch(theirs, budget=60)) as search:
            assert search.search("quokka").hits == search.search("").hits == ()
            assert search.document(number) is None
            assert search.sources(URL) == []
    assert found(Address.parse(worker.reading_for(people[0]).url), "quokka") == [(HERE, "A")]
    # Nobody else speaks for another role.
    bob = stored.address_for(cluster, team_database, people[1])
    assert found(Address.parse(bob.reading_for(people[0]).url), "quokka") == []
    assert found(Address.parse(bob.reading_for("owner").url), "quokka") == []


def test_a_worker_stores_for_the_owner_of_a_session_who_can_share_it(
    cluster: Cluster, team_database: Database, people: tuple[str, str]
) -> None:
    ada, bob = (stored.address_for(cluster, team_database, name) for name in people)
    worker = address_of(team_database)
    fill(worker, HERE, document("quokka", title="A"), origin=Origin("s1", owner=people[0], shared=False))
    assert found(ada, "quokka") == [(HERE, "A")]
    assert found(bob, "quokka") == []
    fill(worker, HERE, document("quokka two", title="B", path="b"), origin=Origin("s1", owner=people[0]))
    assert found(bob, "quokka") == [(HERE, "A"), (HERE, "B")]


@pytest.mark.parametrize(("name", "team", "seq"), [("x", "s1", 0), ("x", "s1", 9), (HERE, None, 0)])
def test_what_somebody_stored_as_a_session_of_another_does_not_become_a_part_of_it(
    cluster: Cluster, team_database: Database, people: tuple[str, str], name: str, team: str | None, seq: int
) -> None:
    ada, bob = (stored.address_for(cluster, team_database, each) for each in people)
    with psycopg.connect(bob.url, autocommit=True, options="-c search_path=ua_tui") as db:
        db.execute("INSERT INTO k_session (name, team, seq) VALUES (%s, %s, %s)", (name, team, seq))
        db.execute(
            "INSERT INTO k_document (session, kind, hash, words, made_at, trust, title)"
            " SELECT id, 'article', '', 1, 1, 'web', 'Planted' FROM k_session"
        )
    with open_store(address_of(team_database), {HERE: Origin("s1", owner=people[0], shared=False)}) as store:
        assert not add(store, HERE, document("quokka", title="A"))
        assert add(store, HERE, document("quokka", title="A"))
    assert team_database.execute("SELECT owner::text, title FROM k_document") == [(people[0], "A")]
    assert found(ada, "quokka") == [(HERE, "A")]


def test_nobody_changes_others(cluster: Cluster, team_database: Database, people: tuple[str, str]) -> None:
    ada, bob = (stored.address_for(cluster, team_database, name) for name in people)
    fill(ada, HERE, document("quokka", title="A", url=URL))
    assert forget(bob, match="quokka").documents == 0
    with open_store(bob) as store:
        store.remove_session(HERE)
        with pytest.raises(KnowledgeError, match="another role"):
            add(store, HERE, document("changed"))
    assert found(bob, "quokka") == [(HERE, "A")]
    assert forget(ada, source=URL).documents == 1
    assert found(bob, "quokka") == []
    fill(ada, "ada:/x/session_2", document("quokka two", title="P"), origin=Origin("s2", shared=False))
    with open_store(bob) as store, pytest.raises(KnowledgeError, match="another role"):
        add(store, "ada:/x/session_2", document("changed"))
    # What Ada forgot is hers alone: Bob may find the page.
    fill(bob, THERE, document("quokka", title="B", url=URL))
    assert found(bob, "quokka") == [(THERE, "B")]


def test_a_role_forgets_its_own(cluster: Cluster, team_database: Database, people: tuple[str, str]) -> None:
    ada, bob = (stored.address_for(cluster, team_database, name) for name in people)
    worker = address_of(team_database)
    of_ada, of_bob = Origin("s1", owner=people[0]), Origin("s2", owner=people[1])
    fill(worker, HERE, document("quokka", title="A", url=URL), origin=of_ada)
    fill(worker, THERE, document("quokka", title="B", url=URL), origin=of_bob)
    assert forget(bob, source=URL).documents == 1
    with open_store(worker) as store:
        assert store.finish_forgetting()
    assert found(ada, "quokka") == [(HERE, "A")]
    # Of Bob it stays forgotten, also where a worker stores it.
    fill(worker, THERE, document("emu", title="B", url=URL, path="b"), origin=of_bob)
    fill(worker, HERE, document("wombat", title="A", url=URL, path="b"), origin=of_ada)
    assert (found(worker, "emu"), found(worker, "wombat")) == ([], [(HERE, "A")])


def test_a_row_that_is_no_tombstone_hinders_nobody(
    cluster: Cluster, team_database: Database, people: tuple[str, str]
) -> None:
    worker, bob = address_of(team_database), stored.address_for(cluster, team_database, people[1])
    fill(worker, HERE, document("quokka", title="A", url=URL))
    with psycopg.connect(bob.url, autocommit=True, options="-c search_path=ua_tui") as db:
        db.execute("INSERT INTO k_forgotten (entry) VALUES ('{')")
    assert forget(worker, source=URL).documents == 1
    with open_store(worker) as store:
        assert store.finish_forgetting()
        assert store.rows("state")[0][-1] == 2


def test_nobody_removes_what_is_of_others_or_adds_to_their_sessions(
    cluster: Cluster, team_database: Database, people: tuple[str, str]
) -> None:
    ada, bob = (stored.address_for(cluster, team_database, name) for name in people)
    fill(ada, HERE, document("quokka", title="A"), origin=Origin("s1", shared=False))
    fill(bob, THERE, document("quokka emu", title="B"))
    with psycopg.connect(bob.url, autocommit=True, options="-c search_path=ua_tui") as db:
        for statement in ("DELETE FROM k_chunk", "DELETE FROM k_document", "UPDATE k_session SET seq = 0"):
            assert db.execute(statement.encode()).rowcount == 1, statement
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(
                "INSERT INTO k_document (session, kind, hash, words, made_at, trust)"
                " SELECT generate_series(1, 2), 'article', '', 1, 1, ''"
            )
    assert counted(team_database) == {"quokka": 1, "a": 1}
    assert found(ada, "quokka") == [(HERE, "A")]


def test_a_role_without_a_grant_is_told_who_can_help(cluster: Cluster, team_database: Database) -> None:
    stranger = cluster.make_role(f"eve_{uuid4().hex[:8]}")
    address = stored.address_for(cluster, team_database, stranger)
    with closing(KnowledgeSearch(address, budget=60)) as search, pytest.raises(KnowledgeError, match="team"):
        search.search("quokka")
    team_database.execute(f'DROP ROLE "{stranger}"')


async def test_whoever_shares_a_connection_finds_what_is_his_and_sets_that_only_when_it_changes(
    cluster: Cluster, team_database: Database, people: tuple[str, str]
) -> None:
    ada, bob = (stored.address_for(cluster, team_database, name) for name in people)
    fill(ada, HERE, document("secret quokka", title="Private", url=URL), origin=Origin("s1", shared=False))
    fill(bob, THERE, document("public quokka", title="Shared"))
    worker = address_of(team_database)
    connections = Connections(worker, largest=1)
    await connections.open()
    worker = msgspec.structs.replace(worker, connections=connections)
    stores = [PostgresStore(worker.reading_for(name), read_only=True) for name in people]
    for at in (0, 1, 1, 0, 0):
        with stores[at].using() as db:
            rows = db.execute("SELECT k_reader()::text, current_setting('ua_tui.reader')").fetchall()
            assert rows == [(people[at], people[at])]
    for at, name in ((0, "Private"), (1, "Shared")):
        assert name in [title for _, title in found(worker.reading_for(people[at]), "quokka")]
    assert found(worker.reading_for(people[1]), "secret") == []
    with connections.threads.connection() as raw:
        raw.execute("SELECT set_config('ua_tui.reader', 'as it was', false)")
    # It was not set again for the same role.
    with stores[1].using() as db:
        assert db.execute("SELECT current_setting('ua_tui.reader')").fetchone() == ("as it was",)
    await connections.close()
