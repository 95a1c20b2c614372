from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.core.team.jobs.batches import QUICK, address_of, working
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.tui.fixture_types import Output, Patch
from tests.waiting import PATIENCE, ManualClock, until, until_in_thread
from ua_tui.core.errors import CredentialsError
from ua_tui.core.postgres import connection
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import explain
from ua_tui.core.postgres.schema import grant
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.jobs import postgres_jobs
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.records import Counts, Job, JobClaim, JobResult, Outcome, Submitted
from ua_tui.tui.cli import main
from ua_tui.tui.cli.arguments import COMMANDS, read_arguments
from ua_tui.tui.cli.team.batch import run_batch
from ua_tui.tui.team import batch
from ua_tui.tui.team.batch import BatchRun
from ua_tui.tui.team.reporters import Reporter, counts_line
from ua_tui.tui.team.result_output import result_text

Run = Callable[[JobClaim, asyncio.Event], object]
ADDRESS = Address.parse("postgresql:///team")


def arguments(*given: str) -> argparse.Namespace:
    return read_arguments("ua-tui batch", COMMANDS["batch"], given)


def write(path: Path, text: str) -> None:
    path.write_text(text)


class Runner:
    """Runs jobs at once; a query with "fail" fails, the cost is a tenth of a dollar."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.claims: list[JobClaim] = []

    async def __call__(self, claim: JobClaim, _lost: asyncio.Event) -> Outcome:
        self.ran.append(claim.job.query)
        self.claims.append(claim)
        if "fail" in claim.job.query:
            return Outcome(state="failed", error="it broke", cost_usd=0.1)
        return Outcome(state="done", answer=f"answer to {claim.job.query}", cost_usd=0.1, folder="the folder")


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.txt"
    path.write_text("one\n# none\ntwo\none\n")
    return path


async def run(path: Path, runner: Runner, *more: str, address: Address | None = None) -> int:
    settings = Settings(workspace_base=path.parent)
    return await run_batch(arguments(str(path), *more), settings, address, job=runner)


async def test_the_answers_are_printed_in_the_order_of_the_file(queries: Path, capsys: Output) -> None:
    runner = Runner()
    assert await run(queries, runner, "--parallel", "1") == 0
    out, err = capsys.readouterr()
    assert out == "1. one\n\nanswer to one\n\n3. two\n\nanswer to two\n\n4. one\n\nanswer to one\n\n"
    assert sorted(runner.ran) == ["one", "two"]
    assert "2 jobs: 2 new, 1 duplicate in the file\n" in err
    assert "2 of 2 finished" in err
    # The same batch again runs nothing and prints the answers.
    assert await run(queries, again := Runner()) == 0
    assert again.ran == []
    assert capsys.readouterr().out == out


async def test_json_has_a_line_for_each_row_and_a_failed_job_runs_again_with_the_option(
    queries: Path, capsys: Output
) -> None:
    write(queries, "one\nfail\n")
    first, second, third = Runner(), Runner(), Runner()
    assert await run(queries, first, "--json") == 1
    out, err = capsys.readouterr()
    one, two = map(json.loads, out.splitlines())
    values = (one["number"], one["state"], one["answer"], one["cost_usd"], one["folder"])
    assert values == (1, "done", "answer to one", 0.1, "the folder")
    assert (two["number"], two["state"], two["error"]) == (2, "failed", "it broke")
    assert "--retry-failed runs the failed ones again" in err
    await run(queries, second)
    assert await run(queries, third, "--retry-failed") == 1
    assert (sorted(first.ran), second.ran, third.ran) == (["fail", "one"], [], ["fail"])
    assert third.claims[0].session.attempt == 2
    # Options are settings of the jobs.
    assert await run(queries, third, "--allow", "WebFetch", "--model", "haiku", "--ask") == 1
    given = {"allow": ["WebFetch"], "model": "haiku", "max_cost_usd": 1.0, "ask": True}
    assert dict(third.claims[-1].job.settings) == given


async def test_the_limits_are_those_of_the_options(queries: Path, capsys: Output) -> None:
    write(queries, "".join(f"query {number}\n" for number in range(10)))
    runner = Runner()
    assert (
        await run(queries, runner, "--max-cost-each", "0.1", "--max-cost-all", "0.35", "--parallel", "1") == 1
    )

    # The fourth gets what is left.
    assert [claim.limit_usd for claim in runner.claims] == [0.1, 0.1, 0.1, pytest.approx(0.05)]
    out, err = capsys.readouterr()
    assert out.count("(failed: the spending limit of the batch ($0.35) is reached)") == 6
    assert "6 jobs did not run, as the limit of the batch is spent: the same command with a higher" in err
    assert "--retry-failed" not in err
    more = Runner()
    assert await run(queries, more, "--max-cost-each", "0.1", "--max-cost-all", "9") == 0
    assert len(more.ran) == 6


async def test_nothing_is_submitted_if_a_row_is_wrong(queries: Path, capsys: Output) -> None:
    queries = queries.with_suffix(".jsonl")
    write(queries, '{"query": "good"}\n{"query": ""}\n{"quary": 1}\n')
    assert await run(queries, runner := Runner()) == 2
    err = capsys.readouterr().err
    assert "2 rows of" in err
    assert "line 2: the query is empty" in err
    assert "line 3: it is not an object with a query" in err
    assert runner.ran == []


async def test_the_workers_of_a_team_run_a_batch_while_the_command_follows(
    queries: Path, team_database: Database, capsys: Output
) -> None:
    address = address_of(team_database)
    runner = Runner()
    async with working(address, runner, beat=QUICK):
        assert await run(queries, runner, "--json", address=address) == 0
    out, err = capsys.readouterr()
    answers = [json.loads(line)["answer"] for line in out.splitlines()]
    assert sorted(answers) == [f"answer to {each}" for each in ("one", "one", "two")]
    assert sorted(runner.ran) == ["one", "two"]
    assert "2 of 2 finished" in err


async def test_what_ends_before_it_is_followed_is_no_earlier_answer(
    queries: Path, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    submit = PostgresJobs.submit

    async def submit_and_end(store: PostgresJobs, *given: Any, **named: Any) -> Submitted:
        submitted = await submit(store, *given, **named)
        await until_in_thread(
            lambda: team_database.execute("SELECT id FROM job WHERE finished_at IS NULL") == []
        )
        return submitted

    monkeypatch.setattr(PostgresJobs, "submit", submit_and_end)
    address = address_of(team_database)
    async with working(address, Runner(), beat=QUICK):
        assert await run(queries, Runner(), address=address) == 0
    err = capsys.readouterr().err
    assert "earlier run" not in err
    assert err.count("2 of 2 finished") == 2


async def test_the_progress_counts_the_jobs_that_it_names(
    queries: Path, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    read_results = PostgresJobs.results

    async def results_after_the_end(
        store: PostgresJobs, batch_id: str, ended_after: float | None = None
    ) -> AsyncIterator[JobResult]:
        await until_in_thread(
            lambda: team_database.execute("SELECT id FROM job WHERE finished_at IS NULL") == []
        )
        async for result in read_results(store, batch_id, ended_after):
            yield result

    monkeypatch.setattr(PostgresJobs, "results", results_after_the_end)
    runner = Runner()
    async with working(address_of(team_database), runner, beat=QUICK):
        assert await run(queries, runner, address=address_of(team_database)) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "|" in line]
    assert [line.split(" · ")[0] for line in lines] == ["2 of 2 finished"] * 2


async def test_a_batch_ends_although_a_result_never_comes(
    queries: Path, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    read_results = PostgresJobs.results

    async def results_without_one(
        store: PostgresJobs, batch_id: str, ended_after: float | None = None
    ) -> AsyncIterator[JobResult]:
        async for result in read_results(store, batch_id, ended_after):
            if result.job.query != "two":
                yield result

    monkeypatch.setattr(PostgresJobs, "results", results_without_one)
    runner = Runner()
    async with working(address_of(team_database), runner, beat=QUICK), asyncio.timeout(PATIENCE):
        await run(queries, runner, "--json", address=address_of(team_database))
    assert [json.loads(line)["query"] for line in capsys.readouterr().out.splitlines()] == ["one", "one"]


async def test_a_batch_of_a_team_runs_again_as_another_run_of_its_name(
    queries: Path, team_database: Database, capsys: Output
) -> None:
    address = address_of(team_database)
    runner = Runner()
    async with working(address, runner, beat=QUICK):
        for more, ran in (((), 2), ((), 2), (("--again",), 4), ((), 4), (("--name", "weekly"), 4)):
            assert await run(queries, Runner(), *more, address=address) == 0
            assert len(runner.ran) == ran
        assert await run(queries, Runner(), "--name", "weekly", "--again", address=address) == 0
        assert len(runner.ran) == 6
        # The first batch of its name has the rows of a run that was here before.
        assert await run(queries, Runner(), "--name", "daily", "--again", address=address) == 0
    assert len(runner.ran) == 8
    found = team_database.execute("SELECT name, run FROM batch ORDER BY name, run")
    assert found == [("daily", 2), ("queries.txt", 1), ("queries.txt", 2), ("weekly", 1), ("weekly", 2)]


async def test_without_a_model_nothing_fails_and_the_jobs_wait(queries: Path) -> None:
    settings = Settings(workspace_base=queries.parent)
    with pytest.raises(CredentialsError, match="set ANTHROPIC_API_KEY"):
        await run_batch(arguments(str(queries)), settings, None)
    assert await run(queries, Runner()) == 0


async def test_the_answers_begin_on_a_line_of_their_own(
    queries: Path, capsys: Output, monkeypatch: Patch
) -> None:
    # A terminal shows both streams.
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdout", sys.stderr)
    assert await run(queries, Runner()) == 0
    assert "2 of 2 finished · $0.20\n1. one\n" in capsys.readouterr().err


async def test_who_stops_following_a_batch_is_told_that_it_goes_on(
    queries: Path, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Reporter, "counts", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    assert await run(queries, Runner(), address=address_of(team_database)) == 130
    assert "interrupted: 2 jobs left; the workers continue them" in capsys.readouterr().err


class LosesConnection:
    """Loses the connection once in a method of the store, before it or with its answer, until that is reported."""

    def __init__(self, proxy: TcpProxy, method: str, *, with_answer: bool, black_hole: bool = False) -> None:
        self.proxy = proxy
        self.method = method
        self.with_answer = with_answer
        self.black_hole = black_hole
        self.lines: list[str] = []
        self.lost = 0
        self.clock = ManualClock()
        self.is_over = False
        self.rests: list[float] = []

    def lose(self) -> None:
        self.lost += 1
        if self.black_hole:
            self.proxy.pause()
        else:
            self.proxy.cut(refuse=True)

    def line(self, text: str) -> None:
        self.lines.append(text)
        if "trying again" in text:
            self.clock.now += 1000
            self.proxy.resume()
        self.is_over |= "reached again" in text

    async def rest(self, took: float) -> None:
        self.rests.append(took)

    def install(self, monkeypatch: Patch) -> None:
        monkeypatch.setattr(Reporter, "line", lambda _self, text: self.line(text))
        monkeypatch.setattr(batch, "time", SimpleNamespace(monotonic=self.clock))
        monkeypatch.setattr(batch, "_STARTING_SECONDS", 0.0)
        monkeypatch.setattr(BatchRun, "_rest", lambda _self, took: self.rest(took))
        real = getattr(PostgresJobs, self.method)

        async def asked(store: PostgresJobs, *given: Any, **named: Any) -> Any:
            if not self.lost and not self.with_answer:
                self.lose()
            answer = await real(store, *given, **named)
            if not self.lost:
                self.lose()
                raise explain(psycopg.OperationalError("server closed the connection unexpectedly"), ADDRESS)
            return answer

        async def asked_for_rows(store: PostgresJobs, *given: Any, **named: Any) -> AsyncIterator[Any]:
            if not self.lost and not self.with_answer:
                self.lose()
            async for each in real(store, *given, **named):
                yield each
                if not self.lost:
                    self.lose()
                    raise explain(psycopg.OperationalError("the connection is lost"), ADDRESS)

        monkeypatch.setattr(PostgresJobs, self.method, asked_for_rows if self.method == "results" else asked)


@pytest.fixture
def proxied(
    team_database: Database, cluster: Cluster, monkeypatch: Patch
) -> Iterator[tuple[TcpProxy, Address]]:
    """A way to the database that can be cut, where nothing waits long before it tries again."""
    name = cluster.make_role(f"p{uuid4().hex[:8]}", "word")
    grant(address_of(team_database), name)
    monkeypatch.setenv("PGPASSWORD", "word")
    monkeypatch.setattr(connection, "_LENDING_S", 5.0)
    for module in (connection, postgres_jobs):
        monkeypatch.setattr(module, "ANSWER_S", 5.0)
    monkeypatch.setattr(connection, "_ANSWER_MS", 5_000)
    monkeypatch.setattr(batch, "_RETRY_SECONDS", 0.05)
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        yield proxy, Address.parse(proxy.url(cluster.tcp(team_database.name, name)))


@pytest.mark.parametrize(
    ("method", "way"),
    [
        *(("submit", way) for way in ("before", "with its answer", "black hole")), ("now", "before"),
        *(("results", way) for way in ("before", "with its answer", "black hole")),
        ("counts", "black hole"), ("obstacle", "before"),
    ],
)  # fmt: skip
async def test_a_batch_survives_a_lost_connection_in_every_phase(
    queries: Path,
    team_database: Database,
    proxied: tuple[TcpProxy, Address],
    monkeypatch: Patch,
    capsys: Output,
    method: str,
    way: str,
) -> None:
    proxy, address = proxied
    losing = LosesConnection(
        proxy, method, with_answer=way == "with its answer", black_hole=way == "black hole"
    )
    losing.install(monkeypatch)
    following = asyncio.create_task(run(queries, Runner(), "--json", address=address))
    if method != "results":
        # Nothing ends meanwhile: it is asked again afterwards.
        await until(lambda: losing.rests and losing.is_over)
    async with working(address_of(team_database), Runner(), beat=QUICK):
        assert await asyncio.wait_for(following, PATIENCE) == 0
    assert losing.lost == 1
    # The outage is no long answer, after which the database would be asked less often.
    assert set(losing.rests) <= {0.0}
    assert [line for line in losing.lines if "database" in line] == [
        next(line for line in losing.lines if "trying again" in line),
        "the database can be reached again",
    ]
    printed = [json.loads(line)["number"] for line in capsys.readouterr().out.splitlines()]
    assert sorted(printed) == [1, 3, 4]


async def test_an_interrupted_batch_does_not_wait_for_the_database(
    queries: Path, proxied: tuple[TcpProxy, Address], monkeypatch: Patch
) -> None:
    proxy, address = proxied
    lines: list[str] = []

    def line(_reporter: Reporter, text: str) -> None:
        lines.append(text)
        if "trying again" in text:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Reporter, "line", line)
    real = PostgresJobs.counts

    async def counts(store: PostgresJobs, batch_id: str) -> Counts:
        proxy.cut(refuse=True)
        return await real(store, batch_id)

    monkeypatch.setattr(PostgresJobs, "counts", counts)
    assert await asyncio.wait_for(run(queries, Runner(), address=address), PATIENCE) == 130
    assert lines[-2] == "interrupted: 2 jobs left; the workers continue them"
    assert lines[-1].startswith("nothing done; took ")


async def test_it_says_that_no_worker_is_alive_if_none_comes(
    queries: Path, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    write(queries, "one\nfail\n")
    clock = ManualClock()
    monkeypatch.setattr(batch, "time", SimpleNamespace(monotonic=clock))
    address = address_of(team_database)
    assert await run(queries, Runner(), "--no-wait", address=address) == 0
    assert "no worker is alive: the jobs wait until one is started" in capsys.readouterr().err
    looked = 0

    async def rest(_run: BatchRun, _took: float) -> None:
        nonlocal looked
        looked += 1

    monkeypatch.setattr(BatchRun, "_rest", rest)
    following = asyncio.create_task(run(queries, Runner(), address=address))
    # Workers that were started just before are not there yet.
    await until(lambda: looked > 1)
    assert "no worker is alive" not in capsys.readouterr().err
    clock.now += 11.0
    await until(lambda: "no worker is alive" in capsys.readouterr().err)
    async with working(address, Runner(), beat=QUICK):
        assert await following == 1
        assert await run(queries, Runner(), "--no-wait", address=address) == 0
        ended = "2 of 2 finished · 1 failed · $0.20; the same command without --no-wait"
        assert ended in capsys.readouterr().err
    assert "no worker is alive" not in capsys.readouterr().err


async def test_a_private_batch_is_not_the_shared_one(queries: Path, team_database: Database) -> None:
    address = address_of(team_database)
    await run(queries, Runner(), "--no-wait", address=address)
    await run(queries, Runner(), "--no-wait", "--private", address=address)
    shared = team_database.execute("SELECT shared, count(*) FROM job GROUP BY shared ORDER BY shared")
    assert shared == [(False, 2), (True, 2)]


async def test_the_query_can_come_from_standard_input(
    tmp_path: Path, monkeypatch: Patch, capsys: Output
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\n")))
    settings = Settings(workspace_base=tmp_path)
    assert await run_batch(arguments("-"), settings, None, job=Runner()) == 0
    assert "answer to one" in capsys.readouterr().out


def test_wrong_options_and_a_missing_file_are_reported(
    queries: Path, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(queries.parent)
    for option in ("--private", "--no-wait"):
        assert main(["batch", str(queries), option]) == 2
        assert f"{option} needs a team's database" in capsys.readouterr().err
    assert main(["batch", str(queries), "--again", "--retry-failed"]) == 2
    for output, words in (
        ("r.json", ".jsonl, as .csv, or to a folder"),
        ("queries.txt", "the file with the queries"),
    ):
        assert main(["batch", str(queries), "--demo", "--output", output]) == 2
        assert words in capsys.readouterr().err
    assert main(["batch", str(queries), "--to", "postgresql:///x", "--parallel", "2"]) == 2
    assert main(["batch", str(queries), "--to", "postgresql://a:secret@b/x"]) == 2
    assert "secret" not in capsys.readouterr().err
    assert main(["batch", "missing.txt"]) == 2
    assert "missing.txt cannot be read: No such file" in capsys.readouterr().err


def test_the_line_of_a_terminal_changes_in_place(capsys: Output) -> None:
    reporter = Reporter(in_place=True)
    reporter.counts(Counts(waiting=1, done=1))
    reporter.line("something")
    reporter.close()
    err = capsys.readouterr().err
    assert err.endswith("\r\x1b[K1 of 2 finished\n")
    assert "something\n" in err
    counts = Counts(waiting=184, running=3, needs_you=1, done=12, cost_usd=0.42)
    assert counts_line(counts) == "12 of 200 finished · 1 needs you · 3 running · $0.42"
    job = Job(id="x", query="q\x1b[2J", number=1)
    assert "\x1b" not in result_text(JobResult(job=job, state="done", answer="a\x1b]0;x\x07"), 1)
