from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.core.team.fleet_rows import add_job, add_session, ask, change, watched
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.waiting import until
from ua_tui.core.errors import TeamError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.postgres import connection
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import LETTERS
from ua_tui.core.team.fleet import database as fleet_database
from ua_tui.core.team.fleet.database import find_session
from ua_tui.core.team.fleet.local import BATCHES, JournalActivity, RunningBatch, batches_of
from ua_tui.core.team.fleet.rows import MOST_FINISHED, Fleet, FleetBatch, FleetRow, arrange
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.core.team.records import Counts
from ua_tui.core.version import VERSION

NAME = "session_20261121_140200"
CALL = ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name="Bash", input={"command": "ls \x1b"})


def make_source(base: Path, database: Database | None = None) -> FleetSource:
    address = None if database is None else Address.parse(database.url)
    source = FleetSource(SessionIndex(base, base / "cache"), address)
    source._host = "here"
    return source


def lay(base: Path, name: str = NAME, *events: ev.Event) -> Path:
    """A session below `base` that has begun a query."""
    folder = base / WORKSPACES / name
    folder.mkdir(parents=True)
    (folder / ".lock").touch()
    begun = ev.SessionStarted(session_id=name, workspace="/w", cwd="/", version=VERSION)
    write(folder, [begun, ev.QueryReceived(query_id="q1", text="Compare bicycles"), *events])
    return folder


def write(folder: Path, events: Sequence[ev.Event]) -> None:
    with (folder / "journal.jsonl").open("ab") as file:
        file.write(b"".join(encode_event(event) + b"\n" for event in events))


def test_running_batches_are_found_beside_what_killed_programs_and_others_left(tmp_path: Path) -> None:
    one, two = (RunningBatch(tmp_path, name, tmp_path / name, Redactor()) for name in ("one", "two"))
    for each in (one, two):
        each.show(Counts(waiting=2), ["s"])
    folder = tmp_path / BATCHES
    os.mkfifo(folder / ".pipe.batch")
    (folder / ".link.batch").symlink_to("/dev/zero")
    (folder / ".killed.batch").write_bytes(b"{}")
    assert {batch.name for batch, *_ in batches_of(tmp_path)} == {"one", "two"}
    one.show(Counts(done=1, failed=1), ["s"])
    one.close()
    # One that runs no longer is not, and of a file of results only the newest is.
    found = {each[0].name: each for each in batches_of(tmp_path)}
    assert found["one"][0].state == "failed"
    assert found["one"][0].results == str(tmp_path / "one")
    before = found["one"][0].id
    again = RunningBatch(tmp_path, "again", tmp_path / "one", Redactor())
    again.show(Counts(done=1, running=1, waiting=1), ["s"])
    again.close()
    found = {each[0].name: each for each in batches_of(tmp_path)}
    assert found.keys() == {"again", "two"}
    assert found["again"][0].id == before, "who looks at it goes on to see it"
    assert (found["again"][0].state, found["again"][0].cancelled) == ("done", 2)
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1.0, 1.0))
    ((batch, names),) = batches_of(tmp_path)
    assert (batch.name, batch.waiting, names) == ("two", 2, ["s"])
    two.close()
    assert batches_of(tmp_path) == []
    assert {path.name for path in folder.iterdir()} == {".pipe.batch", ".link.batch"}


def test_a_batch_whose_results_were_moved_away_does_not_stop_the_next_one(tmp_path: Path) -> None:
    first = RunningBatch(tmp_path, "first", tmp_path / "results", Redactor())
    first.show(Counts(waiting=2), ["s"])
    second = RunningBatch(tmp_path, "second", tmp_path / "results", Redactor())
    second.show(Counts(waiting=3), [])
    second.close()
    assert [(batch.name, batch.waiting, names) for batch, names in batches_of(tmp_path)] == [
        ("first", 2, ["s"])
    ]
    first.close()


def test_a_file_that_somebody_else_wrote_is_no_batch_of_a_team(tmp_path: Path) -> None:
    (tmp_path / BATCHES).mkdir()
    batch = '{"id": "x", "name": "\\u001b[31mred", "owner": "mary", "submitted": 1, "results": "/r", "waiting": 2}'
    (tmp_path / BATCHES / ".planted.batch").write_text(f'{{"batch": {batch}, "sessions": []}}')
    ((found, _),) = batches_of(tmp_path)
    assert (found.id, found.owner, found.name, found.waiting) == ("here:/r", "", "\ufffd[31mred", 0)


def test_the_file_of_a_batch_has_no_secret(tmp_path: Path) -> None:
    batch = RunningBatch(
        tmp_path, "of planted-value", tmp_path / "planted-value", Redactor(["planted-value"])
    )
    batch.show(Counts(), [])
    (path,) = (tmp_path / BATCHES).iterdir()
    assert b"plant" not in path.read_bytes()
    assert b"of [redacted]" in path.read_bytes()
    batch.close()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_what_needs_a_person_comes_first_and_what_is_over_last_the_newest_first() -> None:
    rows = [
        FleetRow(id="old", state="done", finished=10.0),
        FleetRow(id="waits", state="waiting", started=1.0),
        FleetRow(id="late", state="running", started=9.0),
        FleetRow(id="new", state="failed", finished=20.0),
        FleetRow(id="early", state="running", started=2.0),
        FleetRow(id="asks", state="needs_you", started=50.0),
        FleetRow(id="rests", state="idle", started=3.0),
    ]
    assert [row.id for row in arrange(rows)] == ["asks", "early", "late", "rests", "waits", "new", "old"]
    many = [FleetRow(id=str(number), state="done", finished=number) for number in range(MOST_FINISHED + 7)]
    listed = arrange(many)
    assert len(listed) == MOST_FINISHED
    assert listed[0].id == str(MOST_FINISHED + 6)


def test_the_journal_says_what_a_session_does(tmp_path: Path) -> None:
    folder = lay(tmp_path)
    activity = JournalActivity(folder)
    activity.read()
    assert (activity.state, activity.text) == ("running", "begins")
    for event, state, text in (
        (ev.TextDelta(query_id="q1", message_id="m1", text="One"), "running", "writes"),
        (CALL, "running", "Bash  ls \ufffd"),
        (ev.PermissionAsked(request_id="r1", tool_name="Bash", input={"command": "rm x"}), "needs_you",
         "asks to run Bash  rm x"),
        (ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="allow"), "running", "Bash  ls \ufffd"),
        (ev.ToolCallFinished(tool_use_id="t1", status="success"), "running", "reads the result"),
    ):  # fmt: skip
        write(folder, [event])
        activity.read()
        assert (activity.state, activity.text) == (state, text)
    # A line that is not complete yet is read once it is.
    line = encode_event(ev.QueryFinished(query_id="q1", status="success")) + b"\n"
    with (folder / "journal.jsonl").open("ab", buffering=0) as file:
        file.write(line[:20])
        activity.read()
        assert activity.state == "running"
        file.write(line[20:])
    activity.read()
    ended: tuple[str, str] = (activity.state, activity.text)
    (folder / "journal.jsonl").unlink()
    activity.read()
    assert ended == (activity.state, activity.text) == ("idle", "")


def test_a_long_journal_is_read_from_its_end(tmp_path: Path) -> None:
    long = [ev.TextDelta(query_id="q1", message_id="m1", text="x" * 1_000)] * 700
    folder = lay(
        tmp_path, NAME, *long, ev.PermissionAsked(request_id="r1", tool_name="AskUserQuestion", input={})
    )
    activity = JournalActivity(folder)
    activity.read()
    assert (activity.state, activity.text) == ("needs_you", "asks a question")


def test_jobs_that_are_paused_wait_too() -> None:
    batch = FleetBatch(id="b", name="weekly", owner="ada", submitted=1.0, waiting=2, held=3, done=1)
    fleet = Fleet(batches=(batch,))
    progress = fleet.progress(9.0)
    assert (fleet.waiting, progress.waiting, progress.held) == (5, 2, 3)
    assert (progress.total, progress.oldest) == (6, 1.0)


async def test_sessions_of_this_machine_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, looked = make_source(tmp_path), list[bool]()
    look = source.local.refresh

    def look_and_note(*, first: bool = False) -> bool:
        looked.append(True)
        return look(first=first)

    monkeypatch.setattr(source.local, "refresh", look_and_note)
    monkeypatch.setattr("ua_tui.core.team.fleet.source.REFRESH_SECONDS", 0.05)
    lay(
        tmp_path,
        "session_20261121_130000",
        ev.SessionFinished(reason="quit", duration_ms=9_000, cost_usd=0.5),
    )
    folder = lay(tmp_path)
    with locked(folder):
        async with watched(source) as seen:
            assert seen.states() == {NAME: "running", "session_20261121_130000": "done"}
            assert seen.row(f"here:{NAME}").title == "Compare bicycles"
            assert seen.fleet.progress(0.0).cost_usd == 0.5
            write(folder, [ev.PermissionAsked(request_id="r1", tool_name="Bash", input={})])
            await until(lambda: seen.row(f"here:{NAME}").state == "needs_you")
            lay(tmp_path, "session_20261121_150000", ev.SessionFinished(reason="quit"))
            # It may be found before its journal is.
            await until(lambda: seen.states().get("session_20261121_150000") == "done")
            # What has not changed is not shown again.
            shown, looks = seen.shown, len(looked)
            write(folder, [ev.PermissionAsked(request_id="r1", tool_name="Bash", input={})])
            await until(lambda: len(looked) > looks + 3)
            assert seen.shown == shown
    crashed = await make_source(tmp_path).read()
    assert {row.name: row.state for row in crashed.rows}[NAME] == "crashed"


async def test_sessions_of_a_team_are_listed_with_jobs(tmp_path: Path, team_database: Database) -> None:
    add_session(team_database, "a", title="First", activity="Bash  ls", worker="w1", cost_usd=0.25)
    add_session(team_database, "b", job=False, state="idle", title="Second\n\x1b[31m", shared=False)
    add_session(team_database, "c", state="done", title="Third")
    team_database.execute(
        "UPDATE job SET state = 'failed', error = 'It broke.', cost_usd = 2 WHERE session = 'c'"
    )
    add_job(team_database, "w", "Wait for me")
    fleet = await make_source(tmp_path, team_database).read()
    rows = {row.id: row for row in fleet.rows}
    assert [row.id for row in fleet.rows] == ["team:a", "team:b", "job:w", "team:c"]
    first = rows["team:a"]
    assert (first.title, first.activity, first.where, first.owner) == ("First", "Bash  ls", "w1", "owner")
    assert first.takes_answers
    assert rows["team:b"].private
    assert rows["team:b"].state == "idle"
    assert not rows["team:b"].takes_answers
    assert "\x1b" not in rows["team:b"].title
    assert "\n" not in rows["team:b"].title
    # The job knows how it ended.
    assert (rows["team:c"].state, rows["team:c"].activity) == ("failed", "It broke.")
    assert rows["job:w"].title == "Wait for me"
    progress = fleet.progress(time.time())
    assert (progress.waiting, progress.cost_usd) == (1, 2.0)
    assert (await find_session(Address.parse(team_database.url), "a")).title == "First"
    add_session(team_database, "j-a", job=False)
    assert (await find_session(Address.parse(team_database.url), "j-a")).session == "j-a"
    assert (await find_session(Address.parse(team_database.url), job="j-a")).session == "a"
    with pytest.raises(TeamError, match="has no session of the job 'a'"):
        await find_session(Address.parse(team_database.url), job="a")
    with pytest.raises(TeamError, match="has no session 'x'"):
        await find_session(Address.parse(team_database.url), "x")


async def test_batches_and_workers_are_listed_and_jobs_wait_in_the_order_of_their_file(
    tmp_path: Path, team_database: Database
) -> None:
    team_database.execute(
        "INSERT INTO batch (id, name, run, submitted_at) VALUES"
        " ('b', 'weekly', 2, now() - interval '1 hour'), ('c', 'other.txt', 1, now())"
    )
    for position, id_ in enumerate("zay", 1):
        add_job(team_database, id_, position=position)
    add_session(team_database, "s", state="idle")
    for id_, ago in (("d", 60), ("e", 120)):
        add_session(team_database, id_, state="done")
        team_database.execute(
            "UPDATE job SET state = 'done', cost_usd = 0.5, finished_at = now() WHERE session = %s", id_
        )
        team_database.execute(
            "UPDATE session SET started_at = now() - interval '300 s', finished_at = now() - %s * interval '1 s'"
            " WHERE id = %s", ago, id_,
        )  # fmt: skip
    add_job(team_database, "other", batch="c", owner="mary")
    team_database.execute(
        "INSERT INTO worker (name, version, parallel, running, draining, seen_at) VALUES"
        " ('vm:1', '1.0', 4, 2, true, now()), ('vm:2', '1.0', 4, 0, false, now() - interval '5 min')"
    )
    ((now,),) = team_database.execute("SELECT extract(epoch FROM now())::float8")
    fleet = await make_source(tmp_path, team_database).read()
    waiting = [row.job for row in fleet.rows if row.state == "waiting"]
    assert waiting == ["z", "a", "y", "other"], "neither by their ids nor by when they were added"
    # Its agent is about to begin: a job is never idle.
    assert [row.state for row in fleet.rows if row.session == "s"] == ["starting"]
    assert [(each.name, each.done, each.waiting, each.total) for each in fleet.batches] == [
        ("other.txt", 0, 1, 1), ("weekly 2", 2, 3, 6),
    ]  # fmt: skip
    assert {row.batch_name for row in fleet.rows} == {"weekly 2", "other.txt"}
    progress = fleet.only(batch="b").progress(now)
    assert (progress.done, progress.total, progress.cost_usd) == (2, 6, 1.0)
    assert progress.oldest is not None
    assert 3_500 < now - progress.oldest < 3_700
    assert progress.per_minute == pytest.approx(0.4, rel=0.1)
    assert progress.left_seconds == pytest.approx(600, rel=0.1)
    assert fleet.progress(now).total == 7
    assert [(each.name, each.busy, each.slots, each.draining, each.state) for each in fleet.workers] == [
        ("vm:1", 2, 4, True, "running"), ("vm:2", 0, 4, False, "lost"),
    ]  # fmt: skip


async def test_actions_of_unknown_outcome_and_parked_jobs_are_shown(
    tmp_path: Path, team_database: Database
) -> None:
    for id_ in "ab":
        add_session(team_database, id_, activity="writes")
    team_database.execute(
        "INSERT INTO action (session, key, attempt, tool) VALUES ('a', 'k', 1, 'send'), ('b', 'k', 1, 'send')"
    )
    # Another attempt began while it ran; that of b still runs.
    team_database.execute("UPDATE session SET attempt = 2 WHERE id = 'a'")
    ask(team_database, "b")
    team_database.execute("UPDATE job SET state = 'needs_you', worker_id = NULL WHERE session = 'b'")
    team_database.execute("UPDATE session SET seen_at = now() - interval '2 hours' WHERE id = 'b'")
    rows = {row.session: row for row in (await make_source(tmp_path, team_database).read()).rows}
    assert (rows["a"].unknown, rows["a"].activity) == (1, "1 call of unknown outcome · writes")
    assert (rows["b"].unknown, rows["b"].state) == (0, "needs_you")


async def test_nothing_that_a_screen_asks_reads_a_whole_table(team_database: Database) -> None:
    team_database.execute("INSERT INTO batch (id) SELECT 'b' || n FROM generate_series(1, 20) n")
    team_database.execute(
        "INSERT INTO job (id, batch, query, state, position) SELECT 'j' || n, 'b' || (1 + n % 20), 'x',"
        " CASE WHEN n % 4 = 0 THEN 'waiting' ELSE 'done' END, n FROM generate_series(1, 20000) n"
    )
    team_database.execute(
        "INSERT INTO session (id, job, name, state, seen_at) SELECT 's' || n, 'j' || n, 'session', 'done',"
        " now() - n * interval '1 min' FROM generate_series(1, 20000) n"
    )
    team_database.execute("ANALYZE")
    values: dict[str, Any] = {"most": 100, "id": "s7"}
    for name in ("_NEWEST", "_OF_ID", "_OF_JOB", "_BATCHES", "_WAITING", "_WORKERS"):
        statement = getattr(fleet_database, name)
        with psycopg.connect(team_database.url, options="-c search_path=ua_tui") as db:
            plan = "\n".join(row for (row,) in db.execute(f"EXPLAIN {statement}".encode(), values))
        assert not re.search(r"Seq Scan on (job|session)\b", plan), f"{name}\n{plan}"


async def test_a_question_is_seen_at_once_and_gone_when_it_is_answered(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only what is announced can be seen.
    monkeypatch.setattr(fleet_database, "POLL_SECONDS", 60.0)
    add_session(team_database, "a", title="First")
    async with watched(make_source(tmp_path, team_database)) as seen:
        await until(lambda: "team:a" in seen.ids)
        ask(team_database, "a")
        await until(lambda: seen.row("team:a").state == "needs_you")
        assert seen.row("team:a").activity == "asks to run Bash  rm -r /tmp/x"
        # One that was asked by a worker that is gone does not count.
        team_database.execute("UPDATE session SET attempt = 2 WHERE id = 'a'")
        change(team_database, "a", activity="goes on")
        await until(lambda: seen.row("team:a").state == "running")
        assert seen.row("team:a").activity == "goes on"
        team_database.execute("UPDATE job SET state = 'done' WHERE session = 'a'")
        team_database.execute("SELECT pg_notify('ua_tui', 'job j-a')")
        await until(lambda: seen.row("team:a").state == "done")


async def test_what_nobody_announced_is_found_all_the_same(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_database, "POLL_SECONDS", 0.05)
    async with watched(make_source(tmp_path, team_database)) as seen:
        add_job(team_database, "w1")
        await until(lambda: seen.ids == ["job:w1"])
        add_session(team_database, "a", title="First")
        await until(lambda: "team:a" in seen.ids)
        change(team_database, "a", announced=False, title="Renamed")
        await until(lambda: seen.row("team:a").title == "Renamed")
        team_database.execute("DELETE FROM job WHERE id = 'w1'")
        await until(lambda: seen.ids == ["team:a"])


async def test_a_worker_that_is_not_heard_of_is_lost(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How long this test takes adds nothing.
    ((now,),) = team_database.execute("SELECT extract(epoch FROM now())::float8")
    monkeypatch.setattr(fleet_database, "_NOW", f"SELECT {now!r}::float8 AS now")
    for id_, job, silent in (("a", True, 40), ("b", True, 25), ("c", True, 40), ("d", False, 90_000)):
        add_session(team_database, id_, job=job, activity="writes")
        ago = f"{silent} seconds"
        seen = "UPDATE session SET seen_at = to_timestamp(%s) - %s::interval WHERE id = %s"
        team_database.execute(seen, now, ago, id_)
    # It restores a large session, of which nothing is written.
    team_database.execute("INSERT INTO worker (id, name, version, parallel) VALUES (7, 'w', '1', 1)")
    team_database.execute("UPDATE session SET worker = 'w' WHERE id = 'c'")
    rows = {row.session: row for row in (await make_source(tmp_path, team_database).read()).rows}
    states = {id_: row.state for id_, row in rows.items()}
    assert states == {"a": "lost", "b": "running", "c": "running", "d": "crashed"}
    assert re.fullmatch(r"not seen for 4[01]s", rows["a"].activity)
    assert rows["b"].activity == "writes"


async def test_a_session_becomes_lost_while_nothing_happens(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_database, "POLL_SECONDS", 0.1)
    for name in "ab":
        add_session(team_database, name, activity="writes")
    team_database.execute("UPDATE session SET seen_at = now() - interval '28 s'")
    team_database.execute("INSERT INTO worker (id, name, version, parallel) VALUES (7, 'w', '1', 1)")
    team_database.execute("UPDATE session SET worker = 'w' WHERE id = 'b'")
    async with watched(make_source(tmp_path, team_database)) as seen:
        await until(lambda: seen.row("team:a").state == "lost")
        # What its session does is not written, but its worker lives.
        assert (seen.row("team:a").state, seen.row("team:b").state) == ("lost", "running")
        change(team_database, "a", activity="reads")
        await until(lambda: seen.row("team:a").state == "running")


async def test_a_session_of_both_places_is_listed_once(tmp_path: Path, team_database: Database) -> None:
    folder = lay(tmp_path)
    add_session(team_database, "a", title="Ours", name=NAME, host="here")
    add_session(team_database, "b", title="Theirs", name=NAME, host="there")
    # Of a copy of the folder, which is another session there.
    add_session(team_database, "c", title="Copy", name=NAME, host="here")
    fleet = await make_source(tmp_path, team_database).read()
    rows = {row.id: row for row in fleet.rows}
    assert rows.keys() == {"team:a", "team:b", "team:c"}
    assert (rows["team:a"].folder, rows["team:b"].folder) == (str(folder), "")


async def test_rows_stay_while_the_database_is_away_and_are_read_again_after_that(
    tmp_path: Path, cluster: Cluster, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LONGEST_PAUSE", 0.2)
    monkeypatch.setattr(fleet_database, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(fleet_database, "ANSWER_SECONDS", 0.3)
    monkeypatch.setenv("PGPASSWORD", "owner")
    add_session(team_database, "a", title="First")
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        through = replace(team_database, url=proxy.url(team_database.tcp))
        async with watched(make_source(tmp_path, through)) as seen:
            ways: tuple[Callable[[], None], ...] = (partial(proxy.cut, refuse=True), proxy.pause)
            for round_, lose in enumerate(ways):
                title = f"Again {round_}"
                await until(lambda: "team:a" in seen.ids and not seen.fleet.notice)
                lose()
                await until(lambda: seen.fleet.notice)
                assert seen.fleet.notice.startswith("The team's database has been unreachable since ")
                assert "the team's database" not in seen.fleet.notice
                assert seen.row("team:a").title
                change(team_database, "a", title=title)
                proxy.resume()
                await until(lambda: title in [row.title for row in seen.fleet.rows])  # noqa: B023
                await until(lambda: not seen.fleet.notice)


async def test_a_database_without_tables_says_what_to_do(tmp_path: Path, cluster: Cluster) -> None:
    database = cluster.make_database()
    try:
        source = make_source(tmp_path, database)
        with pytest.raises(TeamError, match="team migrate"):
            await source.read()
        async with watched(source) as seen:
            await until(lambda: "ua-tui team migrate" in seen.fleet.notice)
            assert "cannot be reached" not in seen.fleet.notice
    finally:
        cluster.drop(database)


@contextmanager
def run_by_batch(folder: Path) -> Iterator[None]:
    """A session that a batch of this machine runs, and that takes letters."""
    (folder / LETTERS).mkdir()
    batch = RunningBatch(folder.parent, "one", folder / "one.jsonl", Redactor())
    batch.show(Counts(running=1), [folder.name])
    with locked(folder):
        yield
    batch.close()


async def test_a_session_that_takes_letters_is_answered_from_here_while_it_runs(tmp_path: Path) -> None:
    folder = lay(tmp_path)
    with run_by_batch(folder):
        (row,) = (await make_source(tmp_path).read()).rows
        assert (row.session, row.local, row.takes_answers) == (NAME, True, True)
    (row,) = (await make_source(tmp_path).read()).rows
    assert not row.takes_answers


async def test_a_job_of_this_machine_that_runs_is_never_idle(tmp_path: Path) -> None:
    folder = lay(tmp_path)
    begun = ev.SessionStarted(session_id=NAME, workspace="/w", cwd="/", version=VERSION)
    with run_by_batch(folder):
        write(folder, [ev.QueryFinished(query_id="q1", status="success")])
        (row,) = (await make_source(tmp_path).read()).rows
        assert row.state == "running"
        write(folder, [begun])
        (row,) = (await make_source(tmp_path).read()).rows
        assert row.state == "starting"
    # A person resumes the session when the batch is over: nobody takes letters, and it rests until it is asked.
    write(folder, [ev.SessionFinished(reason="finished"), begun, ev.McpStatus(servers=[])])
    with locked(folder):
        (row,) = (await make_source(tmp_path).read()).rows
        assert (row.state, row.takes_answers) == ("idle", False)


async def test_what_waits_in_a_paused_batch_is_paused(tmp_path: Path, team_database: Database) -> None:
    add_job(team_database, "w")
    add_job(team_database, "h", session="s")
    add_session(team_database, "s", job=False)
    team_database.execute("UPDATE session SET job = 'h' WHERE id = 's'")
    team_database.execute("UPDATE batch SET paused = true")
    fleet = await make_source(tmp_path, team_database).read()
    assert sorted((row.job, row.state) for row in fleet.rows) == [("h", "held"), ("w", "held")]
    assert (fleet.progress(0.0).waiting, fleet.progress(0.0).held) == (0, 2)
