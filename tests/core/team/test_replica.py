"""The copy of a running session in PostgreSQL."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import shutil
import threading
import weakref
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from tests.core.team.copied_session import CopiedSession, copied_session, stored_lines
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.waiting import PATIENCE, ManualClock, run_ready, until, until_in_thread
from ua_tui.core.events import types as ev
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import fetch
from ua_tui.core.postgres.schema import grant, sharing
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replica import SessionReplica
from ua_tui.core.view.records import Note
from ua_tui.core.view.session import SessionView

pytestmark = pytest.mark.slow
CONVERSATION = ".conversation/conversation-1.jsonl"


@pytest.fixture
def proxy(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[TcpProxy]:
    monkeypatch.setenv("PGPASSWORD", "owner")
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        yield proxy


def row_of(database: Database, columns: str, session: str = "s1") -> Any:
    rows = database.execute(f"SELECT {columns} FROM session WHERE id = %s", session)
    return rows[0] if rows else None


async def test_journal_transcripts_files_and_state_copied(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path, team_database) as session:
        session.publish(ev.QueryReceived(query_id="q1", text="What is\nnew?"))
        session.append_entry(b'{"type":"user","uuid":"u1","text":"\xc3\xa9 \\ud800"}')
        session.append_entry(b'{"type":"mode"}')
        session.append_entry(
            b'{"type":"user","uuid":"a1"}', ".conversation/conversation-1/subagents/agent-1.jsonl"
        )
        session.save("work_products/report.md", b"# Report\0")
        session.publish(ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="mcp__x__SEARCH"))
        await until_in_thread(lambda: row_of(team_database, "activity") == ("SEARCH",))
        assert row_of(team_database, "state, title") == ("running", "What is new?")
        session.publish(ev.PermissionAsked(request_id="p1", tool_name="Bash", subjects=["Bash(rm)"]))
        await until_in_thread(
            lambda: row_of(team_database, "state, activity") == ("needs_you", "asks to run Bash")
        )
        session.publish(ev.PermissionAnswered(request_id="p1", tool_name="Bash", decision="deny"))
        session.publish(ev.ToolCallFinished(tool_use_id="t1", status="success"))
        session.publish(ev.QueryFinished(query_id="q1", status="success", cost_usd=0.25))
        assert await session.replica.flush(PATIENCE)
        assert row_of(team_database, "state, cost_usd, finished_at") == ("idle", 0.25, None)
        assert stored_lines(team_database) == session.journal_lines
        for path in (CONVERSATION, ".conversation/conversation-1/subagents/agent-1.jsonl"):
            written = (session.workspace.path / path).read_text().splitlines()
            assert stored_lines(team_database, path=path) == written != []
        assert team_database.execute("SELECT path, size, data FROM artifact JOIN blob USING (sha256)") == [
            ("work_products/report.md", 9, b"# Report\0")
        ]
        session.publish(ev.SessionFinished(reason="finished"))
    assert session.failures == []
    assert stored_lines(team_database) == session.journal_lines
    assert row_of(team_database, "state, finished_at IS NULL") == ("done", False)


async def test_an_event_is_in_the_database_and_announced_at_once(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is found by looking regularly.
    monkeypatch.setattr("ua_tui.core.team.replica._POLL_S", 3600.0)
    async with copied_session(tmp_path, team_database) as session:
        assert await session.replica.flush(PATIENCE)
        with psycopg.connect(team_database.url, autocommit=True) as db:
            db.execute("LISTEN ua_tui")
            for number in range(3):
                session.publish(ev.QueryReceived(query_id=f"q{number}", text="go"))
                notice = await asyncio.to_thread(lambda: next(db.notifies(timeout=PATIENCE)))
                assert notice.payload == "session s1"
                assert len(stored_lines(team_database)) == number + 2
            assert await session.replica.flush(PATIENCE)
            # After this one nothing hurries the copy any more.
            session.publish(ev.QueryReceived(query_id="r", text="go"))
            await asyncio.to_thread(lambda: next(db.notifies(timeout=PATIENCE)))
            await until(session.replica._idle.is_set)
            # Events that come during the pause after a write are announced together.
            monkeypatch.setattr("ua_tui.core.team.replica._PAUSE_S", 3600.0)
            for number in range(100):
                session.publish(ev.QueryReceived(query_id=f"r{number}", text="go"))
                await run_ready()
            assert await session.replica.drain(PATIENCE)
            assert len(stored_lines(team_database)) == 105
            # What this connection says itself comes after all that was announced before.
            db.execute("NOTIFY ua_tui, 'all'")
            with closing(db.notifies(timeout=PATIENCE)) as notices:
                assert 1 <= len(list(takewhile(lambda notice: notice.payload != "all", notices))) <= 3


async def test_a_cut_connection_is_bridged(tmp_path: Path, team_database: Database, proxy: TcpProxy) -> None:
    async with copied_session(tmp_path, proxy.url(team_database.tcp)) as session:
        session.append_entry(b'{"type":"mode","n":1}')
        assert await session.replica.flush(PATIENCE)
        proxy.cut(refuse=True)
        for number in range(50):
            session.publish(ev.QueryReceived(query_id=f"q{number}", text="go"))
            session.append_entry(b'{"type":"mode","n":1}')
        session.save("downloads/a.bin", b"a" * 100)
        await until_in_thread(lambda: session.failures)
        proxy.resume()
        assert await session.replica.flush(PATIENCE)
        assert len(session.failures) == 1
        assert "team's database" in session.failures[0]
        assert "owner:owner" not in session.failures[0]
        assert stored_lines(team_database) == session.journal_lines
        assert len(stored_lines(team_database, path=CONVERSATION)) == 51
        assert team_database.execute("SELECT path FROM artifact") == [("downloads/a.bin",)]
        # A second loss is reported again.
        proxy.cut(refuse=True)
        session.publish(ev.QueryReceived(query_id="q99", text="go"))
        await until_in_thread(lambda: len(session.failures) == 2)
        proxy.resume()


async def test_connections_cut_at_any_time_lose_and_repeat_nothing(
    tmp_path: Path, team_database: Database, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.replica._LONGEST_PAUSE_S", 0.02)
    async with copied_session(tmp_path, proxy.url(team_database.tcp)) as session:
        at, count = Random(7), 0
        for cut in range(40):
            # In the middle of signing in, of a statement, or of its answer.
            proxy.cut_after(at.randrange(8_000))
            while proxy.cuts == cut:
                count += 1
                session.publish(ev.QueryReceived(query_id=f"q{count}", text="go"))
                session.append_entry(b'{"type":"mode","n":%d}' % (count % 3))
                session.append_entry(b'{"type":"user","uuid":"u%d"}' % count)
                sent = proxy.forwarded
                await until(lambda: proxy.cuts > cut or proxy.forwarded > sent)  # noqa: B023
        assert await session.replica.flush(PATIENCE)
        assert stored_lines(team_database) == session.journal_lines
        written = (session.workspace.path / CONVERSATION).read_text().splitlines()
        assert stored_lines(team_database, path=CONVERSATION) == written


async def test_a_black_hole_is_noticed(
    tmp_path: Path, team_database: Database, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.replica._ANSWER_S", 0.3)
    async with copied_session(tmp_path, proxy.url(team_database.tcp)) as session:
        assert await session.replica.flush(PATIENCE)
        proxy.pause()
        session.publish(ev.QueryReceived(query_id="q1", text="go"))
        await until_in_thread(lambda: session.failures)
        # The end of the session does not wait for the network.
        monkeypatch.setattr("ua_tui.core.team.replica._ANSWER_S", 3600.0)
        assert not await session.replica.drain(0.3)
        proxy.cut()
        proxy.resume()


async def test_a_table_that_a_member_locks_keeps_no_connection(
    tmp_path: Path, cluster: Cluster, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither gives up before.
    monkeypatch.setattr("ua_tui.core.postgres.connection._LENDING_S", PATIENCE)
    monkeypatch.setattr("ua_tui.core.team.replica._ANSWER_S", 3600.0)
    anna = cluster.make_role(f"anna_{team_database.name}")
    address = Address.parse(team_database.url)
    grant(address, anna)
    waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'ua_tui.piece'::regclass"
    async with sharing(address, 1) as shared, copied_session(tmp_path, shared) as session:
        assert await session.replica.flush(PATIENCE)
        with psycopg.connect(cluster.url(team_database.name, anna)) as lock:
            lock.execute("LOCK TABLE ua_tui.piece IN ACCESS EXCLUSIVE MODE")
            session.publish(ev.QueryReceived(query_id="q1", text="go"))
            await until_in_thread(lambda: team_database.execute(waits))
            assert await fetch(shared, "SELECT 1", within=3600.0) == [(1,)]
        assert await session.replica.flush(PATIENCE)
        assert stored_lines(team_database) == session.journal_lines


async def test_the_database_is_asked_regularly(tmp_path: Path, team_database: Database) -> None:
    clock = ManualClock()
    async with copied_session(tmp_path, team_database, clock=clock) as session:
        assert await session.replica.flush(PATIENCE)
        seen = row_of(team_database, "seen_at")
        clock.now += 9
        assert await session.replica.flush(PATIENCE)
        assert row_of(team_database, "seen_at") == seen
        clock.now += 1
        await until_in_thread(lambda: row_of(team_database, "seen_at") > seen)
        assert stored_lines(team_database) == session.journal_lines


async def test_a_final_failure_stops_the_copy_alone(tmp_path: Path, team_database: Database) -> None:
    team_database.execute("INSERT INTO migration (version) VALUES (99)")
    async with copied_session(tmp_path, team_database) as session:
        await until(lambda: session.replica.is_over)
        session.publish(ev.QueryReceived(query_id="q1", text="go"))
        assert not await session.replica.flush(PATIENCE)
        assert len(session.failures) == 1
        assert "update ua-tui" in session.failures[0]
    assert len(session.journal_lines) == 2


async def _end(session: CopiedSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """End it as a job does, without much patience for the database."""
    monkeypatch.setattr("ua_tui.core.team.replica._CLOSE_S", 0.6)
    await session.replica.finish()
    session.publish(ev.SessionFinished(reason="finished"))
    session.journal.close()
    await session.replica.close()


async def test_the_end_of_a_job_is_copied_although_the_database_is_slow(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its statements wait for the lock.
    monkeypatch.setattr("ua_tui.core.postgres.connection._LOCKED_MS", 0)
    async with (
        copied_session(tmp_path, team_database) as session,
        await psycopg.AsyncConnection.connect(team_database.url) as other,
    ):
        assert await session.replica.flush(PATIENCE)
        await other.execute("SELECT 1 FROM ua_tui.session FOR UPDATE")
        session.save("work_products/report.md", b"# It is heliotrope.")
        bus = weakref.ref(session.replica._bus)
        await _end(session, monkeypatch)
        gc.collect()
        assert bus() is None, "what has ended is not kept in memory"
        # The statement has not failed: it waits.
        assert len(session.failures) == 1
        assert "could not be copied" in session.failures[0]
        assert len(stored_lines(team_database)) == 1
        await other.rollback()
        await until_in_thread(lambda: stored_lines(team_database) == session.journal_lines)
        await until_in_thread(lambda: team_database.execute("SELECT 1 FROM artifact"))


async def test_the_last_line_of_a_job_is_copied_although_the_database_is_slow(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its statements wait for the lock.
    monkeypatch.setattr("ua_tui.core.postgres.connection._LOCKED_MS", 0)
    async with (
        copied_session(tmp_path, team_database) as session,
        await psycopg.AsyncConnection.connect(team_database.url) as other,
    ):
        assert await session.replica.flush(PATIENCE)
        finish = session.replica.finish

        async def finish_and_wait() -> None:
            await finish()
            await other.execute("SELECT 1 FROM ua_tui.session FOR UPDATE")

        monkeypatch.setattr(session.replica, "finish", finish_and_wait)
        await _end(session, monkeypatch)
        await other.rollback()
        await until_in_thread(lambda: stored_lines(team_database) == session.journal_lines)


async def test_the_end_of_a_job_is_tried_again_after_a_final_failure(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    team_database.execute("INSERT INTO migration (version) VALUES (99)")
    async with copied_session(tmp_path, team_database) as session:
        await until(lambda: session.replica.is_over)
        team_database.execute("DELETE FROM migration WHERE version = 99")
        session.save("work_products/report.md", b"# It is heliotrope.")
        await _end(session, monkeypatch)
        await until_in_thread(lambda: stored_lines(team_database) == session.journal_lines)
        await until_in_thread(lambda: team_database.execute("SELECT 1 FROM artifact"))


async def test_a_superseded_session_writes_nothing_more(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path, team_database) as session:
        assert await session.replica.flush(PATIENCE)
        team_database.execute("UPDATE session SET attempt = 2")
        session.publish(ev.QueryReceived(query_id="q1", text="go"))
        await until_in_thread(lambda: session.superseded)
        session.save("downloads/a.txt", b"a")
        async with asyncio.timeout(PATIENCE):
            assert not await session.replica.flush(3600.0)
    assert len(stored_lines(team_database)) == 1
    assert team_database.execute("SELECT count(*) FROM artifact") == [(0,)]
    assert session.failures == []


async def test_the_next_attempt_continues_and_supersedes(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path, team_database) as first:
        first.append_entry(b'{"type":"mode"}')
        first.save("downloads/a.txt", b"a")
        assert await first.replica.flush(PATIENCE)
    folder = first.workspace.path
    team_database.execute("UPDATE session SET title = 'The first query'")
    async with copied_session(folder, team_database, SessionId(id="s1", attempt=3)) as later:
        later.publish(ev.QueryReceived(query_id="q7", text="again"))
        later.append_entry(b'{"type":"mode"}')
        assert await later.replica.flush(PATIENCE)
        assert row_of(team_database, "attempt, state, title") == (3, "running", "The first query")
        assert stored_lines(team_database, path=CONVERSATION) == ['{"type":"mode"}'] * 2
        assert '"q7"' in stored_lines(team_database)[-1]
    async with copied_session(tmp_path, team_database, SessionId(id="s1", attempt=2)) as stale:
        await until_in_thread(lambda: stale.superseded)
    assert row_of(team_database, "attempt") == (3,)


async def test_a_job_that_begins_again_replaces_its_rows(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path / "a", team_database) as lost:
        lost.save("downloads/a.txt", b"a")
        lost.publish(ev.QueryReceived(query_id="q1", text="go"))
        assert await lost.replica.flush(PATIENCE)
    async with copied_session(tmp_path / "b", team_database, SessionId(id="s1", attempt=2)) as again:
        assert await again.replica.flush(PATIENCE)
        assert stored_lines(team_database) == again.journal_lines
        assert again.journal_lines[0] != lost.journal_lines[0]
        assert team_database.execute("SELECT count(*) FROM artifact") == [(0,)]


async def test_two_copies_of_a_folder_become_two_sessions(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path, team_database, claimed=False) as first:
        assert await first.replica.flush(PATIENCE)
    shutil.copytree(first.workspace.path, tmp_path / "copy")
    again = SessionId(id="s1", attempt=2)
    async with copied_session(first.workspace.path, team_database, again, claimed=False) as one:
        assert await one.replica.flush(PATIENCE)
        team_database.execute("UPDATE session SET worker = 'elsewhere:1'")
        async with copied_session(tmp_path / "copy", team_database, again, claimed=False) as two:
            assert await two.replica.flush(PATIENCE)
            assert two.replica.identity.id != "s1"
            assert stored_lines(team_database, two.replica.identity.id) == two.journal_lines
            assert two.replica.identity.id in (two.workspace.path / "team.json").read_text()
        assert not one.superseded


async def test_what_the_database_has_of_another_folder_is_replaced(
    tmp_path: Path, team_database: Database
) -> None:
    async with copied_session(tmp_path, team_database) as session:
        session.append_entry(b'{"type":"mode","n":1}')
        assert await session.replica.flush(PATIENCE)
    folder = session.workspace.path
    # A copy of the folder that has gone on otherwise, and a transcript that was made again.
    lines = "UPDATE piece SET data = convert_to(replace(convert_from(data, 'UTF8'), '\"event\"', '\"other\"'), 'UTF8')"
    team_database.execute(lines)
    (folder / CONVERSATION).write_bytes(b'{"n":2}\n')
    async with copied_session(folder, team_database, SessionId(id="s1", attempt=2)) as later:
        assert await later.replica.flush(PATIENCE)
        assert stored_lines(team_database) == later.journal_lines
        assert stored_lines(team_database, path=CONVERSATION) == ['{"n":2}']
        # As when it is made again while the session runs.
        (folder / CONVERSATION).write_bytes(b"{}\n")
        await until_in_thread(lambda: stored_lines(team_database, path=CONVERSATION) == ["{}"])


async def test_what_the_database_alone_has_stays_but_for_a_torn_line(
    tmp_path: Path, team_database: Database
) -> None:
    async with copied_session(tmp_path, team_database) as session:
        session.append_entry(b'{"type":"mode","n":1}')
        assert await session.replica.flush(PATIENCE)
    folder = session.workspace.path
    first = "SELECT xmin::text FROM piece WHERE path = 'journal.jsonl' AND start = 0"
    before, size = team_database.execute(first), (folder / "journal.jsonl").stat().st_size
    torn = "INSERT INTO piece VALUES ('s1', 'journal.jsonl', %s, convert_to(repeat('x', 1048576), 'UTF8'))"
    for start in (size, size + 1048576):
        team_database.execute(torn, start)
    (folder / CONVERSATION).unlink()
    async with copied_session(folder, team_database, SessionId(id="s1", attempt=2)) as later:
        assert await later.replica.flush(PATIENCE)
        assert stored_lines(team_database) == later.journal_lines
        assert stored_lines(team_database, path=CONVERSATION) == ['{"type":"mode","n":1}']
        # What was right was never away: another loss could have kept it from coming back.
        assert team_database.execute(first) == before
        later.append_entry(b'{"n":2}')
        await until_in_thread(lambda: stored_lines(team_database, path=CONVERSATION) == ['{"n":2}'])


async def test_files_of_an_earlier_run_are_copied_when_it_is_resumed(
    tmp_path: Path, team_database: Database
) -> None:
    async with copied_session(tmp_path, "postgresql://127.0.0.1:1/x") as session:
        session.save("work_products/report.md", b"# Report")
        (session.workspace.path / "attachments").mkdir()
        (session.workspace.path / "attachments/a.txt").write_bytes(b"attached")
        file = ev.AttachedFile(path="attachments/a.txt", media_type="text/plain", size=8, sha256="0" * 64)
        session.publish(ev.FilesAttached(query_id="q1", files=[file]))
        await until_in_thread(lambda: session.failures)
        assert not await session.replica.drain(0.1)
    async with copied_session(session.workspace.path, team_database, SessionId(id="s1", attempt=2)) as later:
        assert await later.replica.flush(PATIENCE)
        assert team_database.execute("SELECT path, size FROM artifact ORDER BY path") == [
            ("attachments/a.txt", 8),
            ("work_products/report.md", 8),
        ]


async def test_a_file_that_is_attached_again_is_copied_again(tmp_path: Path, team_database: Database) -> None:
    async with copied_session(tmp_path, team_database) as session:
        notes = session.workspace.path / "notes.md"
        for content in (b"first", b"changed"):
            notes.write_bytes(content)
            file = ev.AttachedFile(path="notes.md", media_type="text/plain", size=8, sha256="0" * 64)
            session.publish(ev.FilesAttached(query_id="q1", files=[file]))
            assert await session.replica.flush(PATIENCE)
            assert team_database.execute("SELECT size FROM artifact") == [(len(content),)]


async def test_the_entries_of_a_long_session_are_not_looked_through_again(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with copied_session(tmp_path, team_database) as session:
        assert await session.replica.flush(PATIENCE)
        looks: list[str] = []

        def note(_view: SessionView, kind: str) -> list[Note]:
            looks.append(kind)
            return []

        monkeypatch.setattr(SessionView, "notes", note)
        for _ in range(3):
            assert session.replica._waiting_files() == []
        assert looks == []


async def test_a_file_that_is_saved_again_while_another_is_read_is_copied(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, may_go_on, read = threading.Event(), threading.Event(), SessionReplica._read_file

    def read_late(replica: SessionReplica, name: str, announced: str) -> Any:
        try:
            return read(replica, name, announced)
        finally:
            if name == "downloads/late.txt":
                reads.set()
                assert may_go_on.wait(PATIENCE)

    report, late = "work_products/report.md", "downloads/late.txt"
    async with copied_session(tmp_path, team_database) as session:
        session.save(report, b"# One")
        assert await session.replica.flush(PATIENCE)
        monkeypatch.setattr(SessionReplica, "_read_file", read_late)
        # This one is not there yet, and the other one is copied already.
        session.publish(ev.ArtifactSaved(path=late, kind="x", size=1, sha256="0" * 64, observer="test"))
        same = hashlib.sha256(b"# One").hexdigest()
        session.publish(ev.ArtifactChanged(path=report, kind="x", size=5, sha256=same))
        await until_in_thread(reads.is_set)
        session.save(report, b"# Two")
        session.save(late, b"late")
        may_go_on.set()
        assert await session.replica.flush(PATIENCE)
        assert team_database.execute(
            "SELECT path, data FROM artifact JOIN blob USING (sha256) ORDER BY path"
        ) == [
            (late, b"late"),
            (report, b"# Two"),
        ]


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_large_file_is_copied_in_pieces_and_lines_come_between(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch, is_shared: bool
) -> None:
    monkeypatch.setattr("ua_tui.core.team.replica._PIECE_SIZE", 1 << 20)
    monkeypatch.setattr("ua_tui.core.team.replica._SHARED_PAUSE_S", 0.0)
    monkeypatch.setattr("ua_tui.core.team.replica.LARGEST", 7 << 20)
    may_read, read = threading.Semaphore(0), SessionReplica._read_piece

    def read_later(*given: Any) -> bytes:
        assert may_read.acquire(timeout=PATIENCE)
        return read(*given)

    monkeypatch.setattr(SessionReplica, "_read_piece", read_later)
    async with AsyncExitStack() as stack:
        address = Address.parse(team_database.url)
        if is_shared:
            address = await stack.enter_async_context(sharing(address, 1))
        session = await stack.enter_async_context(copied_session(tmp_path, address))
        assert await session.replica.flush(PATIENCE)
        found = []
        for name, size in (("larger.bin", 8), ("large.bin", 6)):
            path = f"downloads/{name}"
            written = session.workspace.root.write_chunks(path, [os.urandom(1 << 20)] * size)
            found.append((path, written.size))
            session.publish(
                ev.ArtifactSaved(
                    path=path, kind="x", size=written.size, sha256=written.sha256, observer="test"
                )
            )
        await until(lambda: session.replica._file is not None and session.replica._file.size == 6 << 20)
        session.publish(ev.QueryReceived(query_id="q1", text="go"))
        may_read.release(2)
        # Lines do not wait for files.
        pieces = "SELECT count(*) FROM piece WHERE path LIKE '.files/%'"
        await until_in_thread(lambda: len(stored_lines(team_database)) == 4)
        assert team_database.execute(pieces)[0][0] <= 2
        may_read.release(100)
        assert await session.replica.flush(PATIENCE)
    assert sorted(team_database.execute("SELECT path, size FROM artifact")) == sorted(found)
    assert team_database.execute(pieces) == [(6,)]
    data = "SELECT encode(sha256(string_agg(data, '' ORDER BY start)), 'hex') FROM piece WHERE path = %s"
    assert team_database.execute(data, f".files/{written.sha256}") == [(written.sha256,)]


def announce(session: CopiedSession, path: str, data: bytes) -> str:
    written = session.workspace.root.write_chunks(path, [data])
    session.publish(
        ev.ArtifactSaved(path=path, kind="x", size=written.size, sha256=written.sha256, observer="test")
    )
    return written.sha256


async def test_pieces_that_are_stored_are_not_sent_again_when_a_connection_is_lost(
    tmp_path: Path, team_database: Database, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.replica._PIECE_SIZE", 1 << 20)
    starts, read = list[int](), SessionReplica._read_piece

    def read_and_cut(replica: SessionReplica, file: Any) -> bytes:
        starts.append(replica._at)
        if len(starts) == 4:
            proxy.cut()
        return read(replica, file)

    monkeypatch.setattr(SessionReplica, "_read_piece", read_and_cut)
    async with copied_session(tmp_path, proxy.url(team_database.url)) as session:
        digest = announce(session, "downloads/large.bin", os.urandom(6 << 20))
        await until_in_thread(lambda: team_database.execute("SELECT sha256 FROM artifact") == [(digest,)])
    # The one that was cut may have arrived.
    assert starts[:4] == [0, 1 << 20, 2 << 20, 3 << 20]
    assert starts[4] in (3 << 20, 4 << 20)
    assert starts == sorted(starts)


async def test_a_large_file_that_is_changed_while_it_is_copied_leaves_no_false_piece(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.replica._PIECE_SIZE", 1 << 20)
    read = SessionReplica._read_piece
    first, second, changed = os.urandom(6 << 20), os.urandom(7 << 20), threading.Event()

    def read_changed(replica: SessionReplica, file: Any) -> bytes:
        if replica._at == 2 << 20 and file.size == len(first):
            (session.workspace.path / "downloads/large.bin").write_bytes(second)
            changed.set()
        return read(replica, file)

    monkeypatch.setattr(SessionReplica, "_read_piece", read_changed)
    async with copied_session(tmp_path, team_database) as session:
        announce(session, "downloads/large.bin", first)
        await until_in_thread(changed.is_set)
        digest = hashlib.sha256(second).hexdigest()
        session.publish(
            ev.ArtifactSaved(
                path="downloads/large.bin", kind="x", size=len(second), sha256=digest, observer="test"
            )
        )
        assert await session.replica.flush(PATIENCE)
    assert team_database.execute("SELECT sha256 FROM artifact") == [(digest,)]
    for path, data in team_database.execute(
        "SELECT path, string_agg(data, '' ORDER BY start) FROM piece WHERE path LIKE '.files/%' GROUP BY path"
    ):
        whole = second if path.endswith(digest) else first
        assert whole.startswith(data)


async def test_files_that_are_stored_are_not_sent_again_when_a_session_is_resumed(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with copied_session(tmp_path, team_database) as session:
        announce(session, "downloads/only-listed.bin", os.urandom(6 << 20))
        announce(session, "downloads/large.bin", os.urandom(6 << 20))
        announce(session, "notes.md", b"notes")
        files = [
            ev.AttachedFile(path="notes.md", media_type="text/plain", size=5, sha256="0" * 64),
            ev.AttachedFile(
                path="downloads/large.bin", media_type="text/plain", size=6 << 20, sha256="0" * 64
            ),
        ]
        session.publish(ev.FilesAttached(query_id="q1", files=files))
        assert await session.replica.flush(PATIENCE)
    # As an earlier version has stored it.
    team_database.execute(
        "DELETE FROM piece p USING artifact a WHERE a.path LIKE '%only-listed%' AND p.path = '.files/' || a.sha256"
    )
    saved = "SELECT path, saved_at FROM artifact WHERE path NOT LIKE '%only-listed%'"
    before = sorted(team_database.execute(saved))
    sent, read = list[str](), SessionReplica._read_piece

    def read_noted(replica: SessionReplica, file: Any) -> bytes:
        sent.append(file.path)
        return read(replica, file)

    monkeypatch.setattr(SessionReplica, "_read_piece", read_noted)
    async with copied_session(session.workspace.path, team_database, SessionId(id="s1", attempt=2)) as later:
        assert await later.replica.flush(PATIENCE)
    assert sorted(team_database.execute(saved)) == before
    assert set(sent) == {"downloads/only-listed.bin"}
    assert team_database.execute("SELECT count(*) FROM piece WHERE path LIKE '.files/%'") == [(4,)]


async def test_pieces_of_a_large_file_follow_each_other_at_once_over_a_shared_connection(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.replica._PIECE_SIZE", 1 << 20)
    monkeypatch.setattr("ua_tui.core.team.replica._SHARED_PAUSE_S", 3600.0)
    async with (
        sharing(Address.parse(team_database.url), 1) as address,
        copied_session(tmp_path, address) as session,
    ):
        announce(session, "downloads/large.bin", os.urandom(6 << 20))
        assert await session.replica.flush(PATIENCE)


async def test_a_large_file_that_is_written_again_replaces_what_is_stored(
    tmp_path: Path, team_database: Database
) -> None:
    first, second = os.urandom(6 << 20), os.urandom(6 << 20)
    async with copied_session(tmp_path, team_database) as session:
        for path in ("downloads/large.bin", "downloads/copy.bin"):
            announce(session, path, first)
        assert await session.replica.flush(PATIENCE)
        digests = []
        for path in ("downloads/large.bin", "downloads/copy.bin"):
            digests.append(announce(session, path, second))
            assert await session.replica.flush(PATIENCE)
            stored = team_database.execute("SELECT DISTINCT path FROM piece WHERE path LIKE '.files/%'")
            # The first one is that of the copy, too.
            assert len(stored) == 3 - len(digests)
    assert stored == [(f".files/{digests[0]}",)]


async def test_no_records_or_paths_outside_are_copied(tmp_path: Path, team_database: Database) -> None:
    (tmp_path / "secret").write_text("secret")
    async with copied_session(tmp_path, team_database) as session:
        (session.workspace.path / "link").symlink_to(tmp_path / "secret")
        paths = ("../../secret", str(tmp_path / "secret"), "link", "journal.jsonl", ".lock", "gone")
        for path in paths:
            session.publish(ev.ArtifactSaved(path=path, kind="x", size=6, sha256="0" * 64, observer="test"))
        # The last line is torn.
        with (session.workspace.path / "journal.jsonl").open("ab") as file:
            file.write(b'\0\0\0\n{"event":"x","seq":\n{"seq":90,"event":"later_event","path":[1]}\n{"seq":91')
        assert await session.replica.flush(PATIENCE)
        lines = stored_lines(team_database)
        assert lines[-1] == '{"seq":90,"event":"later_event","path":[1]}'
        assert len(lines) == 4 + len(paths)
    assert team_database.execute("SELECT count(*) FROM artifact") == [(0,)]
    assert session.failures == []


async def test_owners_alone_write_rows(tmp_path: Path, cluster: Cluster, team_database: Database) -> None:
    anna, bert = (cluster.make_role(f"{each}_{team_database.name}") for each in ("anna", "bert"))
    for name in (anna, bert):
        grant(Address.parse(team_database.url), name)
    async with copied_session(tmp_path, cluster.url(team_database.name, anna)) as session:
        session.append_entry(b'{"type":"mode"}')
        session.save("downloads/a.txt", b"a")
        assert await session.replica.flush(PATIENCE), session.failures
        for table in ("session", "blob"):
            assert team_database.execute(f"SELECT owner::text FROM {table}") == [(anna,)]
        theirs = cluster.url(team_database.name, bert)
        async with copied_session(tmp_path, theirs, SessionId(id="s1", attempt=2)) as other:
            await until(lambda: other.failures or other.superseded)
            assert "rights" in other.failures[0]
        assert row_of(team_database, "attempt") == (1,)
