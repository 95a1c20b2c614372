"""Schedules of a team on a real database; the times at which they are due are written into their rows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import psycopg
import pytest

from tests.core.team.jobs.batches import SLOW, address_of, answer, jobs_of, open_jobs, role_of, working
from tests.core.team.jobs.test_people import people
from tests.postgres_server import Cluster, Database
from tests.waiting import until, until_in_thread
from ua_tui.core.errors import SettingsError, TeamError
from ua_tui.core.postgres.connection import connect_async
from ua_tui.core.postgres.schema import grant, limit, revoke
from ua_tui.core.postgres.state import read_work
from ua_tui.core.team.jobs.batch_file import batch_of, job_id
from ua_tui.core.team.jobs.due_times import DueTimes
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.schedules import run_due, store_schedule
from ua_tui.core.team.records import Job

BATCHES = "SELECT owner::text, name, shared, max_cost_usd FROM batch ORDER BY run"


async def schedule(
    store: PostgresJobs,
    jobs: list[Job],
    *,
    name: str = "weekly",
    every: str = "mon 07:00",
    zone: str = "Europe/Berlin",
    shared: bool = True,
) -> None:
    batch = batch_of(jobs, max_cost_usd=5, owner=None if shared else "me", run=(name, 1))
    await store_schedule(store, batch, jobs, every=every, zone=zone)


def make_due(database: Database, ago: str = "10 s") -> None:
    database.execute("UPDATE schedule SET next_at = now() - %s::interval", ago)


async def shown(database: Database) -> SimpleNamespace:
    async with await connect_async(address_of(database)) as db:
        (state,) = (await read_work(db)).schedules
    return SimpleNamespace(**state)


@asynccontextmanager
async def scheduled(
    cluster: Cluster, database: Database, *, shared: bool = True
) -> AsyncIterator[tuple[str, PostgresJobs, PostgresJobs, PostgresJobs]]:
    """The name of who has a schedule of two queries that is due, their store, another person's, and the workers'."""
    async with people(cluster, database) as (ann, bob), open_jobs(database) as store:
        await schedule(ann, jobs_of(2, limit=1), shared=shared)
        make_due(database)
        yield await role_of(ann), ann, bob, store


async def test_two_workers_submit_it_once_whenever_it_is_due(
    cluster: Cluster, team_database: Database
) -> None:
    address = address_of(team_database)
    async with (
        scheduled(cluster, team_database) as (name, *_),
        working(address, answer, name="a") as (_, a),
        working(address, answer, name="b") as (_, b),
    ):
        done = "SELECT count(*) FROM job WHERE state = 'done'"
        await until_in_thread(lambda: team_database.execute(done) == [(2,)])
        make_due(team_database)
        await until_in_thread(lambda: team_database.execute(done) == [(4,)])
        await until(lambda: len([line for line in a + b if "the next run is submitted" in line]) == 2)
    assert team_database.execute(BATCHES) == [(name, "weekly", True, 5.0)] * 2
    assert team_database.execute("SELECT DISTINCT owner::text, limit_usd FROM job") == [(name, 1.0)]
    state = await shown(team_database)
    assert (state.last_run, dict(state.last_jobs), state.missed_at) == (3, {"done": 2}, None)
    assert state.next_at is not None
    due = datetime.fromtimestamp(state.next_at, ZoneInfo("Europe/Berlin"))
    assert (due.weekday(), due.hour, due.minute) == (0, 7, 0)


async def test_the_next_run_of_a_paused_name_is_paused_until_it_is_resumed(
    cluster: Cluster, team_database: Database
) -> None:
    address = address_of(team_database)
    async with scheduled(cluster, team_database) as (_, _, _, store):
        lines = [await run_due(store, address)]
        await Operations(address).change("pause", ["weekly"])
        make_due(team_database)
        lines.append(await run_due(store, address))
        paused = "SELECT paused FROM batch ORDER BY run"
        assert team_database.execute(paused) == [(True,), (True,)]
        await Operations(address).change("resume", ["weekly"])
        make_due(team_database)
        lines.append(await run_due(store, address))
        assert team_database.execute(paused) == [(False,)] * 3
    assert ["paused" in str(line) for line in lines] == [False, True, False]


async def test_a_large_batch_may_take_longer_to_submit(
    cluster: Cluster, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scheduled(cluster, team_database) as (_, _, _, store):
        team_database.execute(SLOW)
        monkeypatch.setattr("ua_tui.core.team.jobs.postgres_jobs.ANSWER_S", 0.3)
        assert "submitted" in str(await run_due(store, address_of(team_database)))
        team_database.execute("DROP FUNCTION be_slow CASCADE")
        team_database.execute(SLOW.replace("ua_tui.job", "ua_tui.schedule"))
        await schedule(store, jobs_of(200))


async def test_a_row_that_another_worker_has_locked_is_left_to_it(
    cluster: Cluster, team_database: Database
) -> None:
    address = address_of(team_database)
    async with scheduled(cluster, team_database) as (_, _, _, store):
        with psycopg.connect(team_database.url) as other:
            other.execute("SELECT FROM ua_tui.schedule FOR UPDATE")
            assert await run_due(store, address) is None
        assert "submitted" in str(await run_due(store, address))
        assert await run_due(store, address) is None


async def test_the_same_command_finds_the_answers_of_the_last_run(
    cluster: Cluster, team_database: Database
) -> None:
    async with scheduled(cluster, team_database) as (_, ann, _, store):
        await run_due(store, address_of(team_database))
        run = ("weekly", (await ann.owner_and_run("weekly"))[1])
        jobs = [
            Job(id=job_id(job.query, job.settings, None, run), query=job.query, settings=job.settings,
                number=job.number)
            for job in jobs_of(2, limit=1)
        ]  # fmt: skip
        batch = batch_of(jobs, max_cost_usd=5, run=run)
        assert (await ann.submit(batch, jobs)).known == 2
    assert team_database.execute("SELECT count(*) FROM batch") == [(1,)]


async def test_what_was_due_while_no_worker_was_alive_is_shown_until_somebody_has_looked(
    cluster: Cluster, team_database: Database
) -> None:
    address = address_of(team_database)
    async with scheduled(cluster, team_database) as (name, ann, bob, store):
        make_due(team_database, "2 days")
        # Also while there is still none.
        operations = Operations(ann._address)
        (found,) = await operations.attention()
        assert (found.kind, found.owner, found.query, found.what) == (
            "did_not_run", name, "weekly", "no worker is alive: start one with `ua-tui worker`"
        )  # fmt: skip
        assert (await shown(team_database)).missed_why == found.what
        with pytest.raises(TeamError, match="'weekly' is late because no worker is alive: start one"):
            await operations.check(["weekly"])
        assert "did not run: no worker was alive" in str(await run_due(store, address))
        assert await run_due(store, address) is None
        assert team_database.execute(BATCHES) == []
        state = await shown(team_database)
        assert (state.missed_why, state.last_at) == ("no worker was alive", None)
        # The next time it runs, which does not hide what was missed.
        make_due(team_database)
        assert "submitted" in str(await run_due(store, address))
        assert [each.what for each in await operations.attention()] == ["no worker was alive"]
        assert await Operations(bob._address).check(["weekly"]) == 0
        assert await operations.check(["weekly"]) == 1
        assert await operations.attention() == []


async def test_who_was_revoked_has_nothing_submitted(cluster: Cluster, team_database: Database) -> None:
    address = address_of(team_database)
    async with scheduled(cluster, team_database) as (name, _, _, store):
        await until_in_thread(lambda: [revoke(address, name)])
        assert f"{name} may no longer submit jobs" in str(await run_due(store, address))
        assert team_database.execute(BATCHES) == []
        grant(address, name)
        make_due(team_database)
        assert "submitted" in str(await run_due(store, address))


@pytest.mark.parametrize(("ceiling", "why"), [
    ({"jobs": 1}, "at most 1 are allowed"),
    ({"tools": ["Read"]}, "may not allow Bash"),
])  # fmt: skip
async def test_the_ceilings_of_its_owner_hold(
    cluster: Cluster, team_database: Database, ceiling: dict[str, object], why: str
) -> None:
    address = address_of(team_database)
    jobs = [Job(id=str(n), query=f"q{n}", settings={"allow": ["Bash"]}, number=n) for n in (1, 2)]
    async with scheduled(cluster, team_database) as (name, ann, _, store):
        await schedule(ann, jobs)
        make_due(team_database)
        limit(address, name, **ceiling)  # type: ignore[arg-type]
        assert why in str(await run_due(store, address))
        assert team_database.execute("SELECT count(*) FROM job") == [(0,)]
        assert team_database.execute(BATCHES) == []
        assert why in (await shown(team_database)).missed_why


async def test_nobody_sees_or_changes_the_private_schedule_of_another(
    cluster: Cluster, team_database: Database
) -> None:
    async with scheduled(cluster, team_database, shared=False) as (name, ann, bob, store):
        assert await Operations(bob._address).remove_schedules(["weekly"]) == []
        with psycopg.connect(cluster.url(team_database.name, await role_of(bob)), autocommit=True) as db:
            assert db.execute("SELECT * FROM ua_tui.schedule").fetchall() == []
            assert db.execute("UPDATE ua_tui.schedule SET every = 'hourly'").rowcount == 0
            row = "INSERT INTO ua_tui.schedule (owner, name, every, zone, jobs) VALUES (%s, 'n', 'hourly', 'UTC', '[]')"
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(row, (name,))
            for column in ("owner", "last_batch", "missed_why"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    db.execute(f"UPDATE ua_tui.schedule SET {column} = 'x'")
        # What it submits is private, too.
        assert "submitted" in str(await run_due(store, address_of(team_database)))
        assert team_database.execute(BATCHES) == [(name, "weekly", False, 5.0)]
        assert (await bob.owner_and_run("weekly"))[1] == 0
        assert await Operations(ann._address).remove_schedules(["weekly", "other"]) == ["weekly"]


async def test_the_batch_of_somebody_else_is_neither_used_nor_changed(
    cluster: Cluster, team_database: Database
) -> None:
    address = address_of(team_database)
    async with scheduled(cluster, team_database) as (_, _, bob, store):
        await schedule(bob, jobs_of(2, limit=1))
        make_due(team_database)
        first, second = [str(await run_due(store, address)) for _ in range(2)]
        # Whoever has one of that name removes only that.
        await schedule(store, jobs_of(2, limit=1))
        assert await Operations(address).remove_schedules(["weekly"]) == ["weekly"]
        with pytest.raises(TeamError, match="several people have a schedule 'weekly'"):
            await Operations(address).remove_schedules(["weekly"])
        assert team_database.execute("SELECT count(*) FROM schedule WHERE owner <> current_user") == [(2,)]
        assert "submitted" in first
        assert "someone else has a batch of this name with the same queries" in second
        assert len(team_database.execute(BATCHES)) == 1


@pytest.mark.parametrize(("column", "value"), [
    ("every", "never"), ("zone", "../Moon"), ("zone", "Europe"), ("jobs", json.dumps([1])), ("jobs", '{"a": 1}'),
    ("jobs", json.dumps([{"query": "q", "settings": {"max_cost_usd": "much"}, "number": 1}])),
])  # fmt: skip
async def test_a_row_that_a_person_wrote_wrongly_stops_no_other_schedule(
    cluster: Cluster, team_database: Database, column: str, value: str
) -> None:
    address = address_of(team_database)
    async with scheduled(cluster, team_database) as (_, _, bob, store):
        await schedule(bob, jobs_of(1, prefix="other"))
        make_due(team_database)
        team_database.execute(
            f"UPDATE schedule SET {column} = %s WHERE owner = %s", value, await role_of(bob)
        )
        lines = [str(await run_due(store, address)) for _ in range(2)]
        assert sorted("did not run" in line for line in lines) == [False, True]
        assert await run_due(store, address) is None


def test_the_clock_of_the_zone_counts() -> None:
    daily = DueTimes("daily 02:30", "Europe/Berlin")
    # The last Sunday of March has no 02:30, and that of October has it twice.
    assert daily.after(datetime(2026, 3, 28, 12, tzinfo=UTC)) == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert daily.after(datetime(2026, 3, 29, 1, tzinfo=UTC)) == datetime(2026, 3, 30, 0, 30, tzinfo=UTC)
    first = daily.after(datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert daily.after(first) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    assert daily.after(datetime(2026, 10, 25, 1, 10, tzinfo=UTC)) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    monday = DueTimes("mon 07:00", "Europe/Berlin")
    assert monday.after(datetime(2026, 10, 20, tzinfo=UTC)) == datetime(2026, 10, 26, 6, tzinfo=UTC)
    assert monday.after(datetime(2026, 7, 1, tzinfo=UTC)) == datetime(2026, 7, 6, 5, tzinfo=UTC)


@pytest.mark.parametrize(("every", "cron", "calendar"), [
    ("mon 07:00", "0 7 * * 1", "Mon *-*-* 07:00:00 Europe/Berlin"),
    ("Mon,Sun  7:05", "5 7 * * 1,7", "Sun,Mon *-*-* 07:05:00 Europe/Berlin"),
    ("fri-sun 18:30", "30 18 * * 5-7", "Sun,Fri,Sat *-*-* 18:30:00 Europe/Berlin"),
    ("weekdays 07:00", "0 7 * * 1-5", "Mon,Tue,Wed,Thu,Fri *-*-* 07:00:00 Europe/Berlin"),
    ("daily 07:00", "0 7 * * *", "*-*-* 07:00:00 Europe/Berlin"),
    ("hourly", "0 * * * *", "*-*-* *:00:00 Europe/Berlin"),
    ("*/20 6 1 1,7 *", "*/20 6 1 1,7 *", "*-01,07-01 06:00,20,40:00 Europe/Berlin"),
    ("0 7 1 * mon", "0 7 1 * mon", None),
])  # fmt: skip
def test_words_and_expressions_of_cron(every: str, cron: str, calendar: str | None) -> None:
    times = DueTimes(every, "Europe/Berlin")
    assert (times.cron, times.on_calendar()) == (cron, calendar)


@pytest.mark.parametrize(
    "every", ["", "monday", "moon 07:00", "mon 25:00", "mon 7", "* * *", "0 0 30 2 *", "* * * * * *"]
)
def test_a_wrong_expression_is_refused_with_examples(every: str) -> None:
    with pytest.raises(SettingsError, match='is not a schedule: write "mon 07:00"'):
        DueTimes(every, "UTC")


async def test_what_is_no_schedule_is_not_stored(team_database: Database) -> None:
    async with open_jobs(team_database) as store:
        with pytest.raises(SettingsError, match="the time zone 'Moon/Base' is unknown"):
            await schedule(store, jobs_of(1), zone="Moon/Base")
        with pytest.raises(TeamError):
            await schedule(store, jobs_of(1), name="")
    assert team_database.execute("SELECT count(*) FROM schedule") == [(0,)]
