"""A connection to PostgreSQL over a network that fails."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.waiting import PATIENCE, until, wait_until
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import CHANNEL, Listener, connect, connect_async
from ua_tui.core.postgres.problems import is_temporary, reporting


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner's password, which is needed over TCP."""
    monkeypatch.setenv("PGPASSWORD", "owner")


def test_a_cut_connection_is_temporary_and_silence_not(cluster: Cluster, team_database: Database) -> None:
    with TcpProxy("127.0.0.1", cluster.port) as proxy, ThreadPoolExecutor(1) as threads:
        address = Address.parse(proxy.url(team_database.tcp))
        with connect(address) as db:
            assert db.execute("SELECT 1").fetchone() == (1,)
            proxy.cut(refuse=True)
            with pytest.raises(psycopg.Error) as failure:
                db.execute("SELECT 1")
            assert is_temporary(failure.value)
        with pytest.raises(TeamError):
            connect(address)
        proxy.resume()
        with connect(address) as db:
            proxy.pause()
            answer = threads.submit(lambda: db.execute("SELECT 7").fetchone())
            wait_until(lambda: proxy.swallowed)
            assert not answer.done()
            proxy.resume()
            assert answer.result(PATIENCE) == (7,)


def test_what_is_confirmed_survives_a_crash_of_a_server_that_writes_later(team_database: Database) -> None:
    assert team_database.execute("SHOW synchronous_commit") == [("off",)]
    with connect(Address.parse(team_database.url)) as db:
        assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)


async def test_a_statement_that_fails_as_it_is_cancelled_counts_as_cancelled() -> None:
    began = asyncio.Event()

    async def wait() -> None:
        with reporting(Address.parse("postgresql://owner@127.0.0.1/team")):
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                # Versions of psycopg do so when the connection is lost meanwhile.
                raise psycopg.OperationalError("the connection is lost") from None

    task = asyncio.create_task(wait())
    await began.wait()
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()


async def test_who_listens_just_after_the_last_one_ended_hears(team_database: Database) -> None:
    listener = Listener(Address.parse(team_database.url))
    first: list[str] = []
    second: list[str] = []
    end = listener.subscribe(first.append)
    await until(lambda: first)
    end()
    end = listener.subscribe(second.append)
    try:
        # It listens from here on.
        await until(lambda: second == [""])
        team_database.execute("SELECT pg_notify(%s, 'queue')", CHANNEL)
        await until(lambda: second == ["", "queue"])
    finally:
        end()
        await listener.close()


async def test_a_connection_that_cannot_be_made_is_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address.parse(f"postgresql://mary@127.0.0.1:{server.getsockname()[1]}/desk?sslmode=disable")
        with pytest.raises(TeamError) as raised:
            await connect_async(address)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(PATIENCE)
            # Whoever keeps the error keeps no connection.
            while connection.recv(4096):
                pass
    assert "desk" in str(raised.value)
