"""What members of a team may make its jobs cost, allow and do, on a real database; hostile ones write their own SQL."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.core.team.jobs.batches import address_of, batch_with, jobs_of, open_jobs, role_of
from tests.core.team.jobs.test_people import people
from tests.core.team.stores import WAITS
from tests.postgres_server import Cluster, Database
from tests.waiting import until_in_thread
from ua_tui.core.postgres.schema import limit
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.records import Outcome


@dataclass(frozen=True, kw_only=True)
class Team:
    """A person with a batch `b`, and a worker."""

    cluster: Cluster
    database: Database
    ann: PostgresJobs
    bob: PostgresJobs
    jobs: PostgresJobs
    operations: Operations
    name: str

    @contextmanager
    def member(self, store: PostgresJobs | None = None) -> Iterator[psycopg.Connection[Any]]:
        """A connection of a person with their own SQL."""
        url = (store or self.ann)._address.url
        with psycopg.connect(url, autocommit=True, options="-c search_path=ua_tui") as db:
            yield db

    def add(self, name: str, settings: Any = None, limit: float | None = None) -> None:
        """Add a job of the person to the batch."""
        with self.member() as db:
            db.execute("INSERT INTO batch (id) VALUES ('b') ON CONFLICT DO NOTHING")
            db.execute(
                "INSERT INTO job (id, batch, query, settings, limit_usd) VALUES (%s, 'b', 'q', %s, %s)",
                (name, json.dumps(settings or {}), limit),
            )


@pytest.fixture
async def team(cluster: Cluster, team_database: Database) -> AsyncIterator[Team]:
    async with people(cluster, team_database) as (ann, bob), open_jobs(team_database) as jobs:
        yield Team(
            cluster=cluster,
            database=team_database,
            ann=ann,
            bob=bob,
            jobs=jobs,
            operations=Operations(address_of(team_database)),
            name=await role_of(ann),
        )


@pytest.mark.parametrize("allow", ["Bash", ["Read", "Bash"], [["Bash"]], {"Bash": 1}])
async def test_only_tools_of_the_ceiling_are_allowed(team: Team, allow: Any) -> None:
    limit(address_of(team.database), team.name, tools=["Read"])
    team.add("a", {"allow": ["Read"]})
    team.add("b", {"allow": None})
    with pytest.raises(errors.DatabaseError, match="may not allow"):
        team.add("c", {"allow": allow})
    with team.member() as db, pytest.raises(errors.DatabaseError, match="may not allow"):
        db.execute("UPDATE job SET settings = %s WHERE id = 'a'", (json.dumps({"allow": allow}),))


async def test_a_pattern_of_the_ceiling_covers_the_names_that_it_matches(team: Team) -> None:
    limit(address_of(team.database), team.name, tools=["NEWS_*", "READ_?", "SEND(to=*@x)"])
    for number, allow in enumerate(["NEWS_SEARCH", "NEWS_*", "READ_1", "SEND(to=*@x)"]):
        team.add(str(number), {"allow": [allow]})
    refused = [
        "NEWSXSEARCH",
        "NEWS_S*",
        "NEWS_[A]",
        "NEWS_A(to=*)",
        "*",
        "READ_12",
        "news_search",
        "SEND",
        "A NEWS_B",
    ]
    for allow in refused:
        with pytest.raises(errors.DatabaseError) as raised:
            team.add("refused", {"allow": [allow]})
        allowed = "only NEWS_*, READ_?, SEND(to=*@x); owner sets the ceilings"
        assert f"jobs of {team.name} may not allow {allow}, {allowed}" in str(raised.value)


async def test_a_mode_of_permissions_that_gives_rights_is_a_tool_of_the_ceiling(team: Team) -> None:
    limit(address_of(team.database), team.name, tools=["Read"])
    team.add("plan", {"permission_mode": "plan"})
    with pytest.raises(errors.DatabaseError, match="may not allow acceptEdits, only Read"):
        team.add("refused", {"permission_mode": "acceptEdits"})
    limit(address_of(team.database), team.name, tools=["Read", "acceptEdits"])
    team.add("edits", {"permission_mode": "acceptEdits", "allow": ["Read"]})


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
async def test_two_who_submit_at_once_do_not_pass_the_ceiling_together(team: Team, isolation: str) -> None:
    limit(address_of(team.database), team.name, jobs=1)
    with team.member() as db:
        db.execute("INSERT INTO batch (id) VALUES ('b')")
    add = "INSERT INTO job (id, batch, query) VALUES (%s, 'b', 'q')"
    refused: list[Exception] = []

    def add_second() -> None:
        with team.member() as db:
            db.execute(f"BEGIN ISOLATION LEVEL {isolation}".encode())
            try:
                db.execute(add, ("second",))
            except errors.DatabaseError as error:
                refused.append(error)
                db.execute("ROLLBACK")
            else:
                db.execute("COMMIT")

    second = threading.Thread(target=add_second)
    with team.member() as db, db.transaction():
        db.execute(add, ("first",))
        second.start()
        await until_in_thread(lambda: not second.is_alive() or team.database.execute(WAITS))
    second.join()
    assert (len(refused), team.database.execute("SELECT id FROM job")) == (1, [("first",)])


async def test_who_locks_rows_of_their_own_keeps_nobody_else_waiting(team: Team) -> None:
    number = await team.jobs.add_worker("w", "1", 9)
    lost = {}
    for store, kind in ((team.ann, "ann"), (team.bob, "bob")):
        jobs = jobs_of(2, limit=1, prefix=kind)
        await store.submit(batch_with(jobs, limit=1), jobs)
        lost[kind] = await team.jobs.claim(number, "w")
    assert all(lost.values())
    team.database.execute(
        "UPDATE batch SET max_cost_usd = 5; UPDATE job SET lost = 2 WHERE state = 'running'"
    )
    with team.member() as db, db.transaction():
        db.execute("SELECT FROM batch WHERE owner = current_user FOR UPDATE")
        claims = [await team.jobs.claim(number, "w") for _ in range(2)]
        assert [claim and claim.job.query for claim in claims] == ["bob 2", None]
        await team.jobs.remove_worker(number)
        assert (await team.jobs.beat(number + 1, "other", "1", 1, 0))[2]["failed"] == 1
    assert (await team.jobs.beat(number + 1, "other", "1", 1, 0))[2]["failed"] == 1


async def test_a_job_without_a_limit_gets_the_rest_of_the_day(team: Team) -> None:
    limit(address_of(team.database), team.name, cost_per_day=5)
    team.add("a")
    team.add("b")
    number = await team.jobs.add_worker("w", "1", 9)
    claim = await team.jobs.claim(number, "w")
    assert claim is not None
    assert claim.limit_usd == 5
    assert await team.jobs.claim(number, "w") is None
    await team.jobs.finish(claim.session, Outcome(state="done", cost_usd=2))
    claim = await team.jobs.claim(number, "w")
    assert claim is not None
    assert claim.limit_usd == 3
    await team.jobs.finish(claim.session, Outcome(state="failed", cost_usd=3))
    assert await team.operations.change("retry", [claim.job.id]) == 1
    assert await team.jobs.claim(number, "w") is None


async def test_what_a_job_has_cost_does_not_depend_on_the_copy_of_its_session(team: Team) -> None:
    team.add("a", limit=1)
    number = await team.jobs.add_worker("w", "1", 9)
    first = await team.jobs.claim(number, "w")
    assert first is not None
    assert first.spent_usd == 0
    team.database.execute("INSERT INTO piece VALUES (%s, 'journal.jsonl', 0, '1')", first.session.id)
    await team.jobs.finish(first.session, Outcome(state="failed", cost_usd=0.75))
    with team.member() as db:
        db.execute("UPDATE session SET attempt = 99")
        assert db.execute("DELETE FROM piece").rowcount == 1
        db.execute("UPDATE job SET state = 'waiting'")
    claim = await team.jobs.claim(number, "w")
    assert claim is not None
    assert (claim.session.id, claim.limit_usd, claim.spent_usd) == (first.session.id, 1, 0.75)


async def test_a_job_whose_limit_is_above_the_ceiling_of_a_day_gets_the_ceiling(team: Team) -> None:
    limit(address_of(team.database), team.name, cost_per_day=5)
    team.add("a", limit=9)
    claim = await team.jobs.claim(await team.jobs.add_worker("w", "1", 9), "w")
    assert claim is not None
    assert claim.limit_usd == 5


@pytest.mark.parametrize("amount", [-1.0, float("nan"), float("inf")])
async def test_limits_are_amounts(team: Team, amount: float) -> None:
    with pytest.raises(errors.CheckViolation):
        team.add("a", limit=amount)
    with team.member() as db, pytest.raises(errors.CheckViolation):
        db.execute("INSERT INTO batch (id, max_cost_usd) VALUES ('c', %s)", (amount,))
    schedule = (
        "INSERT INTO schedule (name, every, zone, jobs, max_cost_usd) VALUES ('s', 'day', 'UTC', '[]', %s)"
    )
    with team.member() as db, pytest.raises(errors.CheckViolation):
        db.execute(schedule.encode(), (amount,))


async def test_after_a_ceiling_was_lowered_jobs_are_answered_and_stopped(team: Team) -> None:
    for name in "abc":
        team.add(name, {"allow": ["Bash"]})
    claim = await team.jobs.claim(await team.jobs.add_worker("w", "1", 9), "w")
    assert claim is not None
    team.database.execute(
        "INSERT INTO question (session, request, attempt, event) VALUES (%s, 'r', 1, '{}')", claim.session.id
    )
    await team.jobs.finish(claim.session, Outcome(state="parked"))
    limit(address_of(team.database), team.name, jobs=1, tools=["Read"])
    with team.member(team.bob) as db:
        answered = db.execute(
            "UPDATE question SET answer = '{}', answered_by = current_user, answered_at = now()"
        )
        assert answered.rowcount == 1
    assert team.database.execute("SELECT state FROM job WHERE id = 'a'") == [("waiting",)]
    assert await Operations(team.ann._address).change("cancel", ["b"]) == 3
    with pytest.raises(errors.DatabaseError, match="at most"), team.member() as db:
        db.execute("UPDATE job SET state = 'waiting'")


async def test_a_cancelled_job_keeps_no_money(team: Team) -> None:
    (job,) = jobs_of(1, limit=8)
    batch = batch_with([job], limit=10)
    await team.ann.submit(batch, [job])
    number = await team.jobs.add_worker("w", "1", 1)
    claim = await team.jobs.claim(number, "w")
    assert claim is not None
    await team.jobs.record(claim.session, "running", 1.0)
    # Its worker was lost: what was reserved for it stays.
    await team.jobs.remove_worker(number)
    await team.jobs.beat(number + 1, "other", "1", 1, 0)
    charged = "SELECT charged_usd FROM batch"
    assert team.database.execute(charged) == [(8.0,)]
    assert await Operations(team.ann._address).change("cancel", [batch.id]) == 1
    assert team.database.execute(charged) == [(1.0,)]
    found = team.database.execute("SELECT error, finished_at IS NOT NULL FROM job")
    assert found == [(f"{team.name} cancelled it", True)]
    assert (await team.ann.submit(batch, [job], retry_failed=True)).reopened == 1
    assert team.database.execute("SELECT state, error, finished_at FROM job") == [("waiting", None, None)]


async def test_who_stopped_an_attempt_does_not_stop_the_next_one(team: Team) -> None:
    team.add("a")
    number = await team.jobs.add_worker("w", "1", 1)
    claim = await team.jobs.claim(number, "w")
    assert claim is not None
    assert await team.operations.change("cancel", ["b"]) == 1
    taken = "SELECT taken_at IS NOT NULL FROM command"
    # Handed back, it is still to be stopped.
    assert await team.jobs.record(claim.session, "waiting")
    claim = await team.jobs.claim(number, "w")
    assert claim is not None
    assert team.database.execute(taken) == [(False,)]
    await team.jobs.finish(claim.session, Outcome(state="done"))
    team.database.execute("UPDATE job SET state = 'failed'")
    assert await team.operations.change("retry", ["b"]) == 1
    assert team.database.execute(taken) == [(True,)]


@pytest.fixture
async def asking(team: Team) -> tuple[str, int]:
    """A session that waits for an answer."""
    team.add("a")
    claim = await team.jobs.claim(await team.jobs.add_worker("w", "1", 1), "w")
    assert claim is not None
    await team.jobs.record(claim.session, "needs_you", None)
    team.database.execute(
        "INSERT INTO question (session, request, attempt, event) VALUES (%s, 'r', 1, '{}')", claim.session.id
    )
    return claim.session.id, claim.session.attempt


ANSWER = b"UPDATE question SET answer = '{}', answered_by = current_user, answered_at = now()"
PARK = "SELECT record_job('a', %s, %s, 'parked', 0, '', NULL, 'nobody answered')"


async def test_a_job_that_was_answered_just_before_it_is_parked_goes_on(
    team: Team, asking: tuple[str, int]
) -> None:
    with team.member() as db:
        db.execute(ANSWER)
    team.database.execute(PARK, *asking)
    assert team.database.execute("SELECT state, worker_id, error FROM job") == [("waiting", None, None)]


async def test_an_answer_that_was_read_lets_a_job_be_parked(team: Team, asking: tuple[str, int]) -> None:
    with team.member() as db:
        db.execute(ANSWER)
    team.database.execute("UPDATE question SET answer = ''")
    team.database.execute(PARK, *asking)
    assert team.database.execute("SELECT state, worker_id FROM job") == [("needs_you", None)]


async def test_a_job_that_is_answered_while_it_is_parked_goes_on(team: Team, asking: tuple[str, int]) -> None:
    def answer() -> None:
        with team.member() as db:
            db.execute(ANSWER)

    answering = threading.Thread(target=answer)
    with psycopg.connect(team.database.url, options="-c search_path=ua_tui") as worker:
        worker.execute(PARK, asking)
        answering.start()
        await until_in_thread(lambda: not answering.is_alive() or team.database.execute(WAITS))
    answering.join()
    assert team.database.execute("SELECT state, error FROM job") == [("waiting", None)]


async def test_who_fails_the_jobs_of_a_batch_without_money_waits_for_nobody(team: Team) -> None:
    jobs = jobs_of(4, limit=1)
    batch = batch_with(jobs, limit=1)
    await team.ann.submit(batch, jobs)
    team.database.execute("UPDATE batch SET charged_usd = 1")
    url = team.database.url
    options = "-c search_path=ua_tui -c lock_timeout=500ms"
    with psycopg.connect(url, options=options) as other, psycopg.connect(url, options=options) as worker:
        # Another worker has claimed it, and will want its batch.
        other.execute("SELECT FROM job WHERE id = %s FOR NO KEY UPDATE", (jobs[2].id,))
        assert worker.execute("SELECT * FROM claim_job(1, 'w', 99)").fetchall() == []
    states = "SELECT state, limited FROM job ORDER BY position"
    failed = ("failed", True)
    assert team.database.execute(states) == [failed, failed, ("waiting", False), failed]


async def test_who_submits_again_locks_jobs_before_their_batch(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.postgres.connection._LOCKED_MS", 0)
    jobs = jobs_of(2, limit=1)
    batch = batch_with(jobs, limit=1)
    await team.ann.submit(batch, jobs)
    assert await team.operations.change("cancel", [batch.id]) == 2
    options = "-c search_path=ua_tui -c lock_timeout=500ms"
    with psycopg.connect(team.database.url, options=options) as other:
        other.execute("SELECT FROM job WHERE id = %s FOR NO KEY UPDATE", (jobs[0].id,))
        submitting = asyncio.create_task(team.ann.submit(batch, jobs, retry_failed=True))
        await until_in_thread(lambda: team.database.execute(WAITS))
        other.execute("SELECT FROM batch FOR NO KEY UPDATE")
    assert (await submitting).reopened == 2


async def test_a_job_that_the_provider_refuses_again_and_again_fails(team: Team) -> None:
    team.add("a")
    number = await team.jobs.add_worker("w", "1", 1)
    for refused in range(1, 21):
        team.database.execute("UPDATE claiming SET not_before = now()")
        claim = await team.jobs.claim(number, "w")
        assert claim is not None, refused
        assert await team.jobs.finish(claim.session, Outcome(state="put_off", error="overloaded"))
    ((state, error),) = team.database.execute("SELECT state, error FROM job")
    assert state == "failed"
    assert "refused it 20 times: overloaded" in error
    assert await team.operations.change("retry", ["b"]) == 1
    assert team.database.execute("SELECT put_off FROM job") == [(0,)]
