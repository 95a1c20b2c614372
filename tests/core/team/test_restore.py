"""Sessions brought from PostgreSQL into a folder, once or continuously."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from tests.core.cases import cases_of
from tests.core.team.copied_session import CopiedSession, copied_session
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.waiting import PATIENCE, until, until_in_thread
from ua_tui.core.errors import TeamError
from ua_tui.core.events.types import ArtifactSaved, QueryReceived, SessionFinished
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connections
from ua_tui.core.postgres.schema import grant
from ua_tui.core.session.resume import prepare_resume, read_previous_state
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team import restore as restoring
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.restore import SessionMirror, restored_workspace

CASES = cases_of(__file__)


async def fill(session: CopiedSession) -> None:
    """Publish and save something of each kind."""
    session.publish(QueryReceived(query_id="q1", text="What is new?"))
    session.append_entry(b'{"type":"user","uuid":"u1","cwd":"/elsewhere"}')
    session.append_entry(b'{"type":"mode"}')
    session.append_entry(
        b'{"type":"user","uuid":"a1"}', ".conversation/conversation-1/subagents/agent-1.jsonl"
    )
    session.save("work_products/report.md", b"# Report\0")
    session.save("work_products/media/a/b.txt", b"")
    assert await session.replica.flush(PATIENCE)


async def filled(folder: Path, database: Database, identity: SessionId | None = None) -> Path:
    """The folder of a session that was copied and has ended."""
    async with copied_session(folder, database, identity) as session:
        await fill(session)
    return session.workspace.path


async def restore_session(address: Address, session: str, base: Path) -> Path:
    """Bring a session into a folder that nothing locks."""
    workspace = await restored_workspace(address, session, base)
    workspace.close()
    return workspace.path


async def restore(database: Database, folder: Path, **more: Any) -> Path:
    """Bring the session into a folder."""
    return await restore_session(Address.parse(database.url), "s1", folder, **more)


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a session's folder, those apart that only this machine has."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in {".lock", ".owner", "team.json"}
    }


async def test_a_restored_session_is_complete_and_continues(tmp_path: Path, team_database: Database) -> None:
    folder = await filled(tmp_path / "a", team_database)
    restored = await restore(team_database, tmp_path / "b")
    assert files_of(restored) == files_of(folder)
    assert restored.parent == tmp_path / "b" / "AGENT_RUN_WORKSPACES"
    assert restored.name == folder.name == "session_20261120_101112"
    assert restored.stat().st_mode & 0o777 == 0o700
    again = await restore(team_database, tmp_path / "b")
    assert again.name == "session_20261120_101112-2"
    assert files_of(again) == files_of(restored)
    # It can be resumed: the journal of another machine is read, nothing locks the folder.
    _, resume = prepare_resume(Settings(), again)
    previous = read_previous_state(Workspace.open(resume.folder))
    assert previous.view.seq == len((folder / "journal.jsonl").read_text().splitlines())
    assert previous.view.setup.conversation == "11111111-2222-3333-4444-555555555555"
    async with copied_session(restored, team_database, SessionId(id="s1", attempt=2)) as later:
        later.publish(QueryReceived(query_id="q2", text="And now?"))
        later.append_entry(b'{"type":"user","uuid":"u2"}')
        later.append_entry(b'{"type":"mode"}')
        assert await later.replica.flush(PATIENCE)
    assert files_of(await restore(team_database, tmp_path / "c")) == files_of(restored)


async def test_others_may_use_the_connection_while_files_are_written(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await filled(tmp_path / "a", team_database)
    address, loop, asked = Address.parse(team_database.url), asyncio.get_running_loop(), []
    shared = Connections(address, largest=1)
    await shared.open()

    async def ask() -> None:
        async with shared.borrowed() as db:
            asked.append(await (await db.execute("SELECT 1")).fetchone())

    def while_others_ask(write: Callable[..., Any]) -> Callable[..., Any]:
        def written(*given: Any, **more: Any) -> Any:
            asyncio.run_coroutine_threadsafe(ask(), loop).result(PATIENCE)
            return write(*given, **more)

        return written

    for name in ("append_lines", "write_chunks"):
        monkeypatch.setattr(Root, name, while_others_ask(getattr(Root, name)))
    try:
        restored = await restore_session(
            msgspec.structs.replace(address, connections=shared), "s1", tmp_path / "b"
        )
    finally:
        monkeypatch.undo()
        await shared.close()
    assert files_of(restored) == files_of(folder)
    assert len(asked) > 4


async def test_two_connections_bring_a_session_of_many_files(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await filled(tmp_path / "a", team_database)
    connect, made = psycopg.AsyncConnection.connect, list[Any]()

    async def connecting(*given: Any, **more: Any) -> Any:
        made.append(more)
        return await connect(*given, **more)

    monkeypatch.setattr(psycopg.AsyncConnection, "connect", connecting)
    assert files_of(await restore(team_database, tmp_path / "b")) == files_of(folder)
    # One sees whether the tables are those of this program.
    assert len(made) == 2


async def test_what_is_not_there_is_said(tmp_path: Path, team_database: Database) -> None:
    address = Address.parse(team_database.url)
    with pytest.raises(TeamError, match="has no session 'gone'"):
        await restore_session(address, "gone", tmp_path)
    team_database.execute("INSERT INTO session (id, name) VALUES ('s1', '../../x')")
    with pytest.raises(TeamError, match="has no journal"):
        await restore_session(address, "s1", tmp_path)
    with pytest.raises(TeamError, match="connection refused"):
        await restore_session(Address.parse("postgresql://127.0.0.1:1/x"), "s1", tmp_path)
    assert list(tmp_path.glob("*/*")) == []  # noqa: ASYNC240


HOSTILE_ROWS = Path(__file__).with_suffix(".sql").read_text("utf-8")


async def test_hostile_rows_write_nothing_outside_and_no_records(
    tmp_path: Path, cluster: Cluster, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Lines are read one after the other.
    monkeypatch.setattr(restoring, "_PIECES", restoring._PIECES.replace("16777216", "100"))
    secret = tmp_path / "secret"
    secret.write_text("secret")
    before = files_of(await filled(tmp_path / "a", team_database))
    execute, data = team_database.execute, b"hostile"
    digest = hashlib.sha256(data).hexdigest()
    execute("INSERT INTO blob (sha256, data) VALUES (%s, %s)", digest, data)
    for path in CASES["paths"]:
        execute("INSERT INTO artifact (session, path, sha256, size) VALUES ('s1', %s, %s, 7)", path, digest)
    # The place of these is a file of this machine.
    for path, sha256 in (("stolen.txt", "0" * 64), ("stolen-2.txt", "../../secret")):
        execute("INSERT INTO artifact (session, path, sha256, size, place) VALUES ('s1', %s, %s, 6, %s)",
                path, sha256, str(secret))  # fmt: skip
    for name in CASES["transcripts"]:
        execute("INSERT INTO piece VALUES ('s1', %s, 0, E'{}\n')", name)
    execute(HOSTILE_ROWS)
    # Another member adds to the conversation.
    eve = cluster.make_role(f"eve_{team_database.name}")
    grant(Address.parse(team_database.url), eve)
    with (
        psycopg.connect(cluster.url(team_database.name, eve), autocommit=True) as db,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        db.execute("INSERT INTO ua_tui.piece VALUES ('s1', '.conversation/conversation-1.jsonl', 9, '')")
    restored = await restore(team_database, tmp_path / "b")
    assert files_of(restored) == before
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "secret"]
    assert not os.path.lexists("/tmp/ua-hostile")  # noqa: ASYNC240


async def test_copies_belong_to_job_owners(tmp_path: Path, cluster: Cluster, team_database: Database) -> None:
    anna, bert = (cluster.make_role(f"{each}_{team_database.name}") for each in ("anna", "bert"))
    for name in (anna, bert):
        grant(Address.parse(team_database.url), name)
    folder = await filled(tmp_path / "a", team_database, SessionId(id="s1", owner=anna, shared=False))
    tables = ("session", "blob")
    for table in tables:
        assert set(team_database.execute(f"SELECT owner::text FROM {table}")) == {(anna,)}
    restored = await restore_session(
        Address.parse(cluster.url(team_database.name, anna)), "s1", tmp_path / "b"
    )
    assert files_of(restored) == files_of(folder)
    # Nobody else sees any of it.
    with pytest.raises(TeamError, match="has no session"):
        await restore_session(Address.parse(cluster.url(team_database.name, bert)), "s1", tmp_path / "c")
    with psycopg.connect(cluster.url(team_database.name, bert), autocommit=True) as db:
        for table in (*tables, "piece", "artifact"):
            assert db.execute(f"SELECT count(*) FROM ua_tui.{table}".encode()).fetchone() == (0,)


async def test_a_large_file_is_restored_from_its_pieces(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path / "a", team_database) as session:
        written = session.workspace.root.write_chunks("downloads/large.bin", [os.urandom(1 << 20)] * 22)
        session.publish(
            ArtifactSaved(
                path="downloads/large.bin", kind="x", size=written.size, sha256=written.sha256, observer="x"
            )
        )
        assert await session.replica.flush(PATIENCE)
    address = Address.parse(team_database.url)
    restored = await restore_session(address, "s1", tmp_path / "b")
    with (restored / "downloads/large.bin").open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == written.sha256
    # Whoever owns the session may have written pieces that have no end, or earlier versions a row without content.
    team_database.execute(
        "INSERT INTO artifact (session, path, sha256, size) VALUES ('s1', 'a', repeat('0', 64), 6000000),"
        " ('s1', 'b', repeat('1', 64), 6000000)"
    )
    team_database.execute(
        "INSERT INTO piece VALUES ('s1', '.files/' || repeat('0', 64), 0, ''),"
        " ('s1', '.files/' || repeat('0', 64), 99999999999, '')"
    )
    team_database.execute("UPDATE piece SET data = 'x' WHERE path LIKE '.files/%' AND start = 4194304")
    without = await restore_session(address, "s1", tmp_path / "c")
    assert not (without / "downloads/large.bin").exists()


async def test_a_mirror_follows_a_session_and_notices_its_end(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is found by looking regularly.
    monkeypatch.setattr("ua_tui.core.team.restore._POLL_S", 3600.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with copied_session(tmp_path / "a", team_database) as session:
        await fill(session)
        mirror = SessionMirror(Address.parse(team_database.url), "s1")
        folder = await mirror.start()
        journal = folder / "journal.jsonl"
        assert journal.read_text().splitlines() == session.journal_lines
        assert runs_elsewhere(folder)
        for number in range(3):
            session.publish(QueryReceived(query_id=f"m{number}", text="go"))
            await until_in_thread(lambda: journal.read_text().splitlines() == session.journal_lines)
        session.save("downloads/later.txt", b"later")
        await until_in_thread((folder / "downloads/later.txt").exists)
        session.save("downloads/later.txt", b"changed")
        await until_in_thread(lambda: (folder / "downloads/later.txt").read_bytes() == b"changed")
        assert runs_elsewhere(folder)
        session.publish(SessionFinished(reason="finished"))
        await until_in_thread(lambda: not runs_elsewhere(folder))
        assert journal.read_text().splitlines() == session.journal_lines
        # Somebody resumes it.
        team_database.execute("UPDATE session SET state = 'running', attempt = 2")
        team_database.execute("SELECT pg_notify('ua_tui', 'session s1')")
        await until_in_thread(lambda: runs_elsewhere(folder))
        await mirror.close()
        assert not runs_elsewhere(folder)
    # The folder is continued when the session is followed again.
    later = SessionMirror(Address.parse(team_database.url), "s1")
    assert await later.start() == folder
    assert journal.read_text().splitlines() == session.journal_lines
    await later.close()
    # Meanwhile it was begun anew, and is longer.
    team_database.execute("DELETE FROM piece")
    anew = journal.read_bytes().replace(b"event", b"other") + b"{}\n"
    team_database.execute("INSERT INTO piece VALUES ('s1', 'journal.jsonl', 0, %s)", anew)
    assert await later.start() == folder
    assert journal.read_bytes() == anew
    await later.close()


async def test_a_mirror_connects_again(
    tmp_path: Path, team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "owner")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with copied_session(tmp_path / "a", team_database) as session:
        await fill(session)
        with TcpProxy("127.0.0.1", cluster.port) as proxy:
            mirror = SessionMirror(Address.parse(proxy.url(team_database.tcp)), "s1")
            folder = await mirror.start()
            proxy.cut(refuse=True)
            session.publish(QueryReceived(query_id="q7", text="go"))
            proxy.resume()
            await until_in_thread(lambda: '"q7"' in (folder / "journal.jsonl").read_text())
            await mirror.close()


async def test_a_mirror_is_closed_although_the_network_swallows_everything(
    tmp_path: Path, team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "owner")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(restoring, "_POLL_S", 0.1)
    # No statement gives up by itself.
    monkeypatch.setattr(restoring, "_ANSWER_S", 3600.0)
    monkeypatch.setattr("ua_tui.core.postgres.connection.ANSWER_S", 3600.0)
    monkeypatch.setattr("ua_tui.core.postgres.connection._ANSWER_MS", 3_600_000)
    async with copied_session(tmp_path / "a", team_database) as session:
        await fill(session)
        with TcpProxy("127.0.0.1", cluster.port) as proxy:
            mirror = SessionMirror(Address.parse(proxy.url(team_database.tcp)), "s1")
            await mirror.start()
            swallowed = proxy.swallowed
            proxy.pause()
            await until(lambda: proxy.swallowed > swallowed)
            async with asyncio.timeout(PATIENCE):
                await mirror.close()


async def test_two_programs_follow_one_session_in_two_folders(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with copied_session(tmp_path / "a", team_database) as session:
        await fill(session)
        mirrors = [SessionMirror(Address.parse(team_database.url), "s1") for _ in range(2)]
        one, two = [await each.start() for each in mirrors]
        assert one != two
        assert one.is_relative_to(tmp_path / "cache")
        assert (one / "journal.jsonl").read_bytes() == (two / "journal.jsonl").read_bytes()
        for each in mirrors:
            await each.close()
