"""What operators do with the jobs of a team, on a real database."""

from __future__ import annotations

import msgspec
import psycopg
import pytest

from tests.core.team.jobs.batches import (
    address_of,
    answer,
    batch_with,
    jobs_of,
    open_jobs,
    role_of,
    until_over,
    working,
)
from tests.core.team.jobs.test_people import people
from tests.core.team.jobs.test_queue import Slow
from tests.postgres_server import Cluster, Database
from tests.waiting import until, until_in_thread
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.schema import grant, limit, revoke
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.core.team.jobs.queue import worker_name
from ua_tui.core.team.records import Outcome


def states(database: Database) -> list[str]:
    """The states of all jobs in the order of their file."""
    return [state for (state,) in database.execute("SELECT state FROM job ORDER BY position")]


async def test_a_batch_and_a_job_are_held_cancelled_and_run_again(team_database: Database) -> None:
    jobs = jobs_of(3)
    batch = batch_with(jobs)
    operations = Operations(address_of(team_database))
    async with open_jobs(team_database) as store:
        number = await store.add_worker("w", "1", 1)
        await store.submit(batch, jobs)
        assert await operations.change("pause", [batch.id[:10]]) == 3
        assert await store.claim(number, "w") is None
        assert await operations.change("resume", [batch.id]) == 3
        assert await operations.change("pause", [jobs[0].id]) == 1
        claim = await store.claim(number, "w")
        assert claim is not None
        assert claim.job.id == jobs[1].id
        # The one that waits is cancelled, and the one that runs is told to stop.
        assert await operations.change("cancel", [batch.id]) == 3
        assert states(team_database) == ["cancelled", "running", "cancelled"]
        sent = team_database.execute("SELECT session, kind, sent_by::text FROM command")
        assert sent == [(claim.session.id, "interrupt", "owner")]
        await store.finish(claim.session, Outcome(state="cancelled", error="owner stopped it"))
        assert await operations.change("retry", [jobs[0].id, jobs[1].id]) == 2
        again = await store.claim(number, "w")
        assert again is not None
        assert (again.job.id, again.session.attempt) == (jobs[0].id, 1)
        again = await store.claim(number, "w")
        assert again is not None
        # Its actions are known: it is the same session.
        assert (again.session.id, again.session.attempt) == (claim.session.id, 2)
        with pytest.raises(TeamError, match="no job and no batch 'nothing' of this user: `ua-tui fleet"):
            await operations.change("cancel", ["nothing"])


async def test_holding_many_jobs_is_one_row_and_their_counts_stay_right(team_database: Database) -> None:
    jobs = jobs_of(6_000)
    batch = batch_with(jobs)
    operations = Operations(address_of(team_database))
    async with open_jobs(team_database) as store:
        await store.submit(batch, jobs)
        assert await operations.change("pause", [batch.id]) == 6_000
        assert states(team_database) == ["waiting"] * 6_000
        assert await operations.change("cancel", [batch.id]) == 6_000
    counts = "SELECT state, jobs FROM batch_count WHERE jobs <> 0"
    assert team_database.execute(counts) == [("cancelled", 6_000)]


async def test_a_person_changes_only_their_own_jobs(cluster: Cluster, team_database: Database) -> None:
    jobs = jobs_of(2)
    batch = batch_with(jobs)
    async with people(cluster, team_database) as (ann, bob):
        await ann.submit(batch, jobs)
        for operation in ("cancel", "pause", "retry"):
            with pytest.raises(
                TeamError, match=f"belongs to {await role_of(ann)}: only that user and the owner"
            ):
                await Operations(bob._address).change(operation, [batch.id])
        mine = Operations(ann._address)
        assert await mine.change("pause", [batch.id]) == 2
        assert await mine.change("cancel", [batch.id]) == 2
        assert await mine.change("retry", [batch.id]) == 2
        with pytest.raises(TeamError, match="rights"):
            await mine.prune(1)


async def test_a_name_means_the_batches_of_one_person(cluster: Cluster, team_database: Database) -> None:
    operations = Operations(address_of(team_database))
    async with people(cluster, team_database) as (ann, bob):
        for store in (ann, bob):
            name = await role_of(store)
            jobs = jobs_of(1, prefix=name)
            await store.submit(msgspec.structs.replace(batch_with(jobs), name="weekly"), jobs)
            unnamed = jobs_of(1, prefix=f"unnamed {name}")
            await store.submit(batch_with(unnamed), unnamed)
        for given, problem in (("", "no job and no batch"), ("weekly", "several people have")):
            with pytest.raises(TeamError, match=problem) as raised:
                await operations.change("cancel", [given])
        for store in (ann, bob):
            assert f"of {await role_of(store)}" in str(raised.value)
        assert states(team_database) == ["waiting"] * 4
        assert await Operations(ann._address).change("cancel", ["weekly"]) == 1


async def test_one_query_does_not_wait_for_the_many_of_somebody_else(
    cluster: Cluster, team_database: Database
) -> None:
    many, one = jobs_of(500, prefix="many"), jobs_of(1, prefix="one")
    async with people(cluster, team_database) as (mary, john), open_jobs(team_database) as store:
        await mary.submit(batch_with(many), many)
        number = await store.add_worker("w", "1", 9)
        assert await store.claim(number, "w") is not None
        await john.submit(batch_with(one), one)
        claim = await store.claim(number, "w")
        assert claim is not None
        assert claim.job.id == one[0].id
        # And of equals each has every other turn.
        more = jobs_of(50, prefix="more")
        await john.submit(batch_with(more), more)
        claims = [await store.claim(number, "w") for _ in range(10)]
        owners = [claim.session.owner for claim in claims if claim is not None]
        assert sorted(owners.count(owner) for owner in set(owners)) == [5, 5]


async def test_ceilings_of_a_person(cluster: Cluster, team_database: Database) -> None:
    jobs = jobs_of(3, limit=1)
    async with people(cluster, team_database) as (ann, _), open_jobs(team_database) as store:
        name = await role_of(ann)
        limit(address_of(team_database), name, jobs=2, cost_per_day=1.5, tools=["Read"])
        with pytest.raises(TeamError, match="at most 2 are allowed"):
            await ann.submit(batch_with(jobs), jobs)
        wild = [job.__class__(id="w", query="q", settings={"allow": ["Read", "Bash"]}) for job in jobs[:1]]
        with pytest.raises(TeamError, match="may not allow Bash"):
            await ann.submit(batch_with(wild), wild)
        assert (await ann.submit(batch_with(jobs[:2]), jobs[:2])).new == 2
        number = await store.add_worker("w", "1", 9)
        claim = await store.claim(number, "w")
        assert claim is not None
        # The second one could cost more than is left of the day.
        assert await store.claim(number, "w") is None
        await store.finish(claim.session, Outcome(state="done", cost_usd=0.2))
        assert await store.claim(number, "w") is not None
        limit(address_of(team_database), name, lift=True)
        assert (await ann.submit(batch_with(jobs), jobs)).new == 1


async def test_after_revoking_nothing_of_a_person_runs(cluster: Cluster, team_database: Database) -> None:
    jobs, slow = jobs_of(4), Slow()
    address = address_of(team_database)
    async with people(cluster, team_database) as (ann, _):
        name = await role_of(ann)
        await ann.submit(batch_with(jobs), jobs)
        async with working(address, slow, parallel=1) as (worker, _lines):
            await slow.until_begun(1)
            held = psycopg.connect(cluster.url(team_database.name, name))
            revoked = await until_in_thread(lambda: [revoke(address, name)])
            assert revoked == [(3, 1)]
            with pytest.raises(psycopg.OperationalError):
                held.execute("SELECT 1")
            held.close()
            worker.stop()
        # What was handed back is not claimed again.
        assert sorted(states(team_database)) == ["cancelled", "cancelled", "cancelled", "waiting"]
        async with working(address, answer), open_jobs(team_database) as store:
            mine = jobs_of(1, prefix="mine")
            await store.submit(batch_with(mine), mine)
            await until_over(team_database, batch_with(mine))
        assert team_database.execute("SELECT count(*) FROM job WHERE state = 'waiting'") == [(1,)]
        grant(address, name)
        async with working(address, answer):
            await until_in_thread(lambda: "waiting" not in states(team_database))


async def test_a_worker_is_drained(team_database: Database) -> None:
    jobs, slow = jobs_of(2), Slow()
    address = address_of(team_database)
    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs), jobs)
        async with working(address, slow, parallel=1, name=worker_name()) as (_, lines):
            await slow.until_begun(1)
            host = worker_name().partition(":")[0]
            team_database.execute(
                "INSERT INTO worker (name, version, parallel, seen_at) VALUES (%s, '1', 1, now() - interval '1 h')",
                f"{host}:1",
            )
            # One that was killed is not there to end.
            assert await Operations(address).drain(host) == 1
            await until(lambda: any("draining" in line for line in lines))
            slow.release = True
            await until(lambda: slow.ended)
    assert states(team_database) == ["done", "waiting"]


ACTIONS = """
INSERT INTO action (session, key, attempt, tool, state) VALUES
    ('{0}', 'a', 1, 'send', 'running'), ('{0}', 'b', 1, 'pay', 'done')
"""


async def test_what_needs_a_person_is_listed_until_somebody_has_looked(team_database: Database) -> None:
    jobs = jobs_of(2)
    batch = batch_with(jobs)
    operations = Operations(address_of(team_database))
    async with open_jobs(team_database) as store:
        await store.submit(batch, jobs)
        number = await store.add_worker("w", "1", 2)
        first, second = await store.claim(number, "w"), await store.claim(number, "w")
        assert first is not None
        assert second is not None
        team_database.execute(ACTIONS.format(first.session.id))
        await store.record(second.session, "needs_you", None)
        # A call that runs is nobody's business yet.
        assert [each.kind for each in await operations.attention()] == ["needs_you"]
        await store.finish(first.session, Outcome(state="done", answer="a"))
        found = {each.kind: each for each in await operations.attention()}
        assert (found["unknown_outcome"].what, found["unknown_outcome"].job) == ("send", jobs[0].id)
        results = [each async for each in store.results(batch.id)]
        assert [each.unknown for each in results] == [("send",), ()]
        with pytest.raises(TeamError, match="has no session, job or schedule 'nothing'"):
            await operations.check([first.session.id, "nothing"])
        # As it is listed.
        assert await operations.check([first.session.id[:12]]) == 1
        assert [each.kind for each in await operations.attention()] == ["needs_you"]


async def test_removing_an_old_batch_keeps_what_a_newer_one_names(team_database: Database) -> None:
    jobs = jobs_of(3)
    old, new = batch_with(jobs[:2]), batch_with(jobs[1:])
    operations = Operations(address_of(team_database))
    async with open_jobs(team_database) as store:
        await store.submit(old, jobs[:2])
        await store.submit(new, jobs[1:])
        number = await store.add_worker("w", "1", 3)
        for _ in jobs:
            claim = await store.claim(number, "w")
            assert claim is not None
            team_database.execute(ACTIONS.format(claim.session.id))
            await store.finish(claim.session, Outcome(state="done", answer=claim.job.query, cost_usd=0.1))
        assert await operations.prune(90) == 0
        team_database.execute(
            "UPDATE batch SET submitted_at = now() - interval '91 days' WHERE id = %s", old.id
        )
        assert await operations.prune(90) == 0
        team_database.execute("UPDATE job SET finished_at = now() - interval '91 days'")
        assert await operations.prune(90) == 1
        assert [each.answer async for each in store.results(new.id)] == [job.query for job in jobs[1:]]
        assert team_database.execute("SELECT count(*) FROM action") == [(4,)]
        assert (await store.submit(new, jobs[1:])).known == 2
        counted = "SELECT batch, state, jobs FROM batch_count WHERE jobs > 0"
        assert team_database.execute(counted) == [(new.id, "done", 2)]


OLD = """
UPDATE job SET state = 'done', finished_at = now() - interval '91 days';
UPDATE batch SET submitted_at = now() - interval '91 days'
"""


async def test_old_batches_with_the_same_job_are_removed_at_once(team_database: Database) -> None:
    jobs = jobs_of(3)
    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs[:2]), jobs[:2])
        await store.submit(batch_with(jobs[1:]), jobs[1:])
    team_database.execute(OLD)
    assert await Operations(address_of(team_database)).prune(90) == 3
    assert team_database.execute("SELECT count(*) FROM batch") == [(0,)]


async def test_a_job_stays_that_of_who_submitted_it(cluster: Cluster, team_database: Database) -> None:
    jobs = jobs_of(1)
    batch = batch_with(jobs)
    operations = Operations(address_of(team_database))
    async with people(cluster, team_database) as (ann, bob):
        await ann.submit(batch, jobs)
        theirs = msgspec.structs.replace(batch, id="theirs")
        await bob.submit(theirs, jobs)
        team_database.execute(OLD)
        renewed = "UPDATE batch SET submitted_at = now() WHERE id = 'theirs'"
        team_database.execute(renewed)
        # Somebody else has asked for it since.
        assert await operations.prune(90) == 0
        assert [each.job.id async for each in bob.results("theirs")] == [jobs[0].id]
        assert team_database.execute("SELECT batch FROM job") == [(batch.id,)]
        team_database.execute("DELETE FROM batch WHERE id = %s", batch.id)
        assert team_database.execute("SELECT batch FROM job") == []
