"""The knowledge base of a team follows a running session, also over a broken connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.core.knowledge.postgres.stored import THERE, address_of, disconnect, fill, found
from tests.core.knowledge.stored import document
from tests.observers.knowledge.recorded import Recorded
from tests.observers.knowledge.test_feed import Live, attempts_of_feeds
from tests.postgres_server import Cluster, Database
from tests.waiting import until, until_in_thread
from ua_tui.core.events.types import ErrorRaised, QueryFinished
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import Origin, folder_key
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.catch_up import catch_up, update

ORIGIN = Origin("job1-1")


@pytest.fixture
def address(team_database: Database) -> Address:
    return address_of(team_database)


@pytest.fixture
async def live(tmp_path: Path, address: Address) -> AsyncIterator[Live]:
    live = Live(tmp_path, team=address, origin=ORIGIN)
    yield live
    await live.end()


@contextmanager
def closed(cluster: Cluster, database: Database) -> Iterator[None]:
    """Keep everybody out of a database meanwhile, as while its server is down."""
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as db:
        disconnect(database)
        db.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS false'.encode())
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (database.name,)
        )
        try:
            yield
        finally:
            db.execute(f'ALTER DATABASE "{database.name}" ALLOW_CONNECTIONS true'.encode())


async def test_what_a_session_finds_is_in_the_database_as_that_of_the_team(
    live: Live, address: Address
) -> None:
    live.save_report("quokka", "# Quokkas\n\nA quokka smiles. " * 100)
    live.bus.publish(QueryFinished(query_id="q1", status="success", text="The wombat smiles."))
    await until_in_thread(lambda: found(address, "quokka smiles") and found(address, "wombat"))
    assert {session for session, _ in found(address, "quokka")} == {folder_key(address, live.recorded.folder)}
    await live.end()
    # The same session on another machine goes on where this one ended.
    with open_store(address, {THERE: ORIGIN}) as store:
        assert store.cursor(THERE).seq >= 5


async def test_a_database_that_is_away_is_reported_once_and_caught_up(
    live: Live, address: Address, cluster: Cluster, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = attempts_of_feeds(monkeypatch)
    live.save_report("quokka", "A quokka smiles. " * 100)
    await until_in_thread(lambda: found(address, "quokka smiles"))
    with closed(cluster, team_database):
        for number in range(3):
            live.save_report(f"wombat{number}", f"A wombat{number} digs. " * 100)
        await until(lambda: live.of(ErrorRaised))
        live.save_report("koala", "A koala sleeps. " * 100)
        reported = len(attempts)
        await until(lambda: len(attempts) > reported + 2)
    await until_in_thread(lambda: found(address, "wombat2 digs") and found(address, "koala"))
    (error,) = live.of(ErrorRaised)
    assert "the session continues" in error.message
    await live.end()


async def test_the_end_of_a_session_does_not_wait_for_a_database_that_is_away(
    live: Live, cluster: Cluster, address: Address, team_database: Database
) -> None:
    with closed(cluster, team_database):
        live.save_report("quokka", "A quokka smiles. " * 100)
        await until(lambda: live.of(ErrorRaised))
        await live.end()
    # The next program that runs here stores the rest.
    with open_store(address) as store:
        for _piece in catch_up(store, live.recorded.folder.parent.parent, Redactor()):
            pass
    assert found(address, "quokka smiles")


def test_a_folder_that_is_gone_here_is_kept_in_the_database(address: Address, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    gone = tmp_path / "AGENT_RUN_WORKSPACES" / "session_20260309_120000"
    fill(address, folder_key(address, gone), document("wombat", title="Gone"))
    fill(address, THERE, document("koala", title="Elsewhere"))
    recorded.write_report("quokka", "A quokka smiles.")
    with open_store(address) as store:
        assert [*catch_up(store, tmp_path, Redactor())]
        assert [*catch_up(store, tmp_path, Redactor())] == []
    for words in ("wombat", "koala", "quokka"):
        assert found(address, words), words


def test_a_rebuild_reads_the_sessions_of_this_machine_again(address: Address, tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.write_report("quokka", "A quokka smiles.")
    fill(address, folder_key(address, recorded.folder), document("wombat", title="Wrong", path="wrong"))
    fill(address, THERE, document("koala", title="Elsewhere"))
    seen: list[tuple[int, int]] = []
    assert update(address, tmp_path, Redactor(), lambda *it: seen.append(it), again=True) == []
    assert seen == [(1, 1)]
    assert [bool(found(address, words)) for words in ("wombat", "quokka", "koala")] == [False, True, True]
