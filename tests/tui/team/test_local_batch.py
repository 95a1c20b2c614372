"""A batch on one machine: what runs, what it may cost, where its results go, and how it is stopped and resumed."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tui.fixture_types import Output, Patch
from tests.tui.team.test_batch import Runner, arguments, run, write
from tests.waiting import until
from ua_tui.core.errors import CredentialsError, SettingsError, TeamError
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.core.team.jobs.results_file import ResultsFile
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.records import JobClaim, JobResult, Outcome
from ua_tui.tui.cli.team.batch import run_batch
from ua_tui.tui.team import local_batch
from ua_tui.tui.team.local_batch import LocalBatch
from ua_tui.tui.team.reporters import Reporter
from ua_tui.tui.team.result_output import ResultOutput

Stop = Callable[[], object]


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.csv"
    path.write_text("query,notes,id\none,first,7\nfail,=1+1,8\none,again,9\ntwo,,10\n")
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def default_file(queries: Path) -> Path:
    return queries.parent / "AGENT_RUN_WORKSPACES" / "batches" / f"{queries.stem}.jsonl"


class Held(Runner):
    """Runs jobs that end when they are let go; notes what the results had when each began."""

    def __init__(self, file: Path | None = None) -> None:
        super().__init__()
        self.free = asyncio.Event()
        self.file = file
        self.seen: list[int] = []

    async def __call__(self, claim: JobClaim, lost: asyncio.Event) -> Outcome:
        if self.file is not None:
            self.seen.append(len(self.file.read_text().splitlines()) if self.file.exists() else 0)
        outcome = await super().__call__(claim, lost)
        if claim.job.query == "two":
            await self.free.wait()
        return outcome


async def test_a_batch_of_this_machine_is_in_the_fleet(queries: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("SITE_API_KEY", "planted-value")
    held, index = Held(), SessionIndex(queries.parent, queries.parent / "cache")
    with queries.open("a") as file:
        file.write("three planted-value,,\n")
    running = asyncio.create_task(run(queries, held, "--parallel", "1"))
    source = FleetSource(index)

    async def shown() -> list[tuple[str, int, int, int]]:
        fleet = await source.read()
        return [(each.name, each.queued, each.running, each.over) for each in fleet.batches]

    await until(lambda: "two" in held.ran)
    assert await shown() == [("queries.csv", 1, 1, 2)]
    assert source.fleet().waiting == 1
    held.free.set()
    await running
    assert await shown() == [("queries.csv", 0, 0, 4)]
    assert [each.results for each in source.fleet().batches] == [str(default_file(queries))]


async def test_each_result_is_written_and_printed_as_it_comes_and_in_order_at_the_end(
    queries: Path, capsys: Output
) -> None:
    output = queries.with_name("results.jsonl")
    runner = Held(output)
    running = asyncio.create_task(run(queries, runner, "--output", str(output), "--json", "--parallel", "1"))
    await until(lambda: runner.ran == ["one", "fail", "two"])
    assert runner.seen == [0, 1, 2]
    out, before = capsys.readouterr()
    printed = [json.loads(line) for line in out.splitlines()]
    # Both rows of the query that is there twice.
    assert [each["number"] for each in printed] == [2, 4, 3]
    assert (printed[1]["notes"], printed[1]["id"], printed[1]["age_s"]) == ("again", "9", None)
    runner.free.set()
    assert await running == 1
    lines = lines_of(output)
    assert [(each["number"], each["state"], each["id"]) for each in lines] == [
        (2, "done", "7"), (3, "failed", "8"), (4, "done", "9"), (5, "done", "10"),
    ]  # fmt: skip
    out, err = capsys.readouterr()
    assert [json.loads(line)["number"] for line in out.splitlines()] == [5]
    assert "3 jobs: 3 new, 1 duplicate in the file\n" in before
    summary = err.splitlines()[-1]
    assert re.fullmatch(
        r"2 done, 1 failed; took [\d.]+s; cost \$0\.30, \$0\.10 a query; results in \S+results\.jsonl",
        summary,
    )
    assert list(queries.parent.glob(".*.running")) == []
    # What is there is not run again; its age is told.
    assert await run(queries, again := Runner(), "--output", str(output), "--json") == 1
    assert again.ran == []
    out, err = capsys.readouterr()
    assert all(json.loads(line)["age_s"] is not None for line in out.splitlines())
    assert "; all already done by an earlier run, the oldest " in err
    assert lines_of(output) == lines
    write(queries, "query\none\n")
    for _ in range(2):
        assert await run(queries, Runner(), "--name", "single") == 0
    assert "; all already done by an earlier run, the oldest " in capsys.readouterr().err


async def test_without_an_output_the_results_are_in_the_folder_of_the_sessions(
    queries: Path, capsys: Output
) -> None:
    assert await run(queries, Runner()) == 1
    assert len(lines_of(default_file(queries))) == 4
    assert f"results in {default_file(queries)}" in capsys.readouterr().err
    assert await run(queries, Runner(), "--name", "Weekly news") == 1
    assert len(list(default_file(queries).parent.glob("weekly*.jsonl"))) == 1


async def test_the_same_batch_runs_again_next_week(queries: Path, capsys: Output) -> None:
    assert await run(queries, Runner(), "--name", "weekly") == 1
    assert await run(queries, again := Runner(), "--name", "weekly", "--again") == 1
    assert sorted(again.ran) == ["fail", "one", "two"]
    assert "the results of the previous run are in " in capsys.readouterr().err
    assert {claim.session.attempt for claim in again.claims} == {1}
    assert len(list(default_file(queries).parent.glob("weekly.*-*.jsonl"))) == 1


async def test_a_table_has_the_columns_of_the_rows_and_no_formula(queries: Path) -> None:
    output = queries.with_name("results.csv")

    class Formula(Runner):
        async def __call__(self, claim: JobClaim, lost: asyncio.Event) -> Outcome:
            outcome = await super().__call__(claim, lost)
            return Outcome(
                state="done", answer=f'=SUM(A1)\n"{outcome.answer}"', cost_usd=0.1, files=("a", "b")
            )

    for _ in range(2):
        assert await run(queries, Formula(), "--output", str(output)) == 0
        with output.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [(row["number"], row["id"], row["notes"]) for row in rows] == [
            ("2", "7", "first"), ("3", "8", "'=1+1"), ("4", "9", "again"), ("5", "10", ""),
        ]  # fmt: skip
        assert rows[0]["answer"] == '\'=SUM(A1)\n"answer to one"'
        assert rows[0]["files"] == "a; b"
    write(queries, f'query,"two\nlines",={"x" * 9999}\none,1,2\n')
    output.unlink()
    for _ in range(2):
        assert await run(queries, Runner(), "--output", str(output)) == 0
        with output.open(newline="") as file:
            assert next(csv.reader(file))[2:4] == ["two\nlines", f"'={'x' * 9999}"]
    output.write_text("a,b\n1,2\n")
    with pytest.raises(SettingsError, match="has no results of a batch"):
        await run(queries, Runner(), "--output", str(output))
    assert output.read_text() == "a,b\n1,2\n"


async def test_a_folder_has_a_report_for_each_row_and_a_list(queries: Path) -> None:
    output = queries.with_name("reports")
    for _ in range(2):
        assert await run(queries, Runner(), "--output", f"{output}/") == 1
        names = sorted(each.name for each in output.iterdir())
        assert names == ["0002-one.md", "0003-fail.md", "0004-one.md", "0005-two.md", "index.md"]
    report = (output / "0002-one.md").read_text()
    assert report.startswith("# one\n\nanswer to one\n\n---\n")
    assert "- notes: first\n" in report
    assert "(failed: it broke)" in (output / "0003-fail.md").read_text()
    assert "| 3 | [fail](0003-fail.md) | failed | $0.10 |" in (output / "index.md").read_text()
    other = queries.with_name("mine")
    other.mkdir()
    (other / "notes.md").write_text("mine")
    with pytest.raises(SettingsError, match="has other files"):
        await run(queries, Runner(), "--output", str(other))


async def test_what_another_user_answered_is_not_taken(queries: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(queries.parent / "theirs"))
    await run(queries, Runner())
    monkeypatch.setenv("XDG_STATE_HOME", str(queries.parent / "ours"))
    with pytest.raises(SettingsError, match="did not write for this user"):
        await run(queries, runner := Runner())
    assert runner.ran == []
    assert await run(queries, runner, "--again") == 1
    assert len(runner.ran) == 3


@pytest.mark.parametrize("times", [1, 2])
async def test_who_interrupts_a_batch_is_told_how_to_resume(
    queries: Path, capsys: Output, times: int
) -> None:
    ended: list[int] = []
    lines: list[str] = []
    left = asyncio.Event()

    async def hold(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        if claim.job.query == "one":
            return Outcome(state="done", answer="the first", cost_usd=0.1)
        left.set()
        await lost.wait()
        raise RuntimeError("stopped")

    async def interrupt() -> None:
        await left.wait()
        os.kill(os.getpid(), signal.SIGINT)
        await until(lambda: "Ctrl+C again stops at once" in "".join(lines))
        if times == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "_exit", ended.append)
        patch.setattr(Reporter, "line", lambda _self, text: lines.append(text))
        interrupting = asyncio.create_task(interrupt())
        grace = "0" if times == 1 else "3600"
        args = arguments(str(queries), "--parallel", "1", "--grace", grace)
        running = asyncio.create_task(
            run_batch(args, Settings(workspace_base=queries.parent), None, job=hold)
        )
        if times == 2:
            await until(lambda: ended == [130])
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        else:
            assert await running == 130
        await interrupting
    if times == 1:
        assert "the first" in capsys.readouterr().out
        assert "interrupted: 2 jobs left; run the same command again to resume" in lines
    assert lines_of(default_file(queries))[0]["query"] == "one"
    assert await run(queries, runner := Runner()) == 1
    assert sorted(runner.ran) == ["fail", "two"]


async def test_a_session_that_was_begun_is_resumed_first(queries: Path) -> None:
    await run(queries, first := Runner())
    two = first.claims[-1].job
    default_file(queries).unlink()
    file = ResultsFile(default_file(queries))
    file.begin(JobResult(job=two, state="running", attempt=1, folder="/w/session_2", started=5.0))
    file.close()
    await run(queries, again := Runner(), "--parallel", "1")
    claim = again.claims[0]
    assert (claim.job.query, claim.session.attempt, claim.folder) == ("two", 2, "/w/session_2")
    (line,) = [each for each in lines_of(default_file(queries)) if each["query"] == "two"]
    assert (line["attempt"], line["started"]) == (2, "1970-01-01T00:00:05.000+00:00")
    assert not default_file(queries).with_name(".queries.jsonl.running").exists()


async def test_a_failed_job_runs_again_in_its_session_and_its_cost_counts_once(queries: Path) -> None:
    class Fails(Runner):
        async def __call__(self, claim: JobClaim, _lost: asyncio.Event) -> Outcome:
            self.claims.append(claim)
            cost = 0.3 * claim.session.attempt
            return Outcome(state="failed", error="no", cost_usd=cost, folder=f"/w/{claim.job.query}")

    write(queries, "query\none\n")
    limits = ("--max-cost-each", "2", "--max-cost-all", "1")
    assert await run(queries, Fails(), *limits) == 1
    again = Fails()
    assert await run(queries, again, "--retry-failed", *limits) == 1
    (claim,) = again.claims
    assert (claim.session.attempt, claim.folder) == (2, "/w/one")
    assert claim.limit_usd == pytest.approx(1.0)
    assert await run(queries, again, "--retry-failed", *limits) == 1
    assert again.claims[-1].limit_usd == pytest.approx(1.0)


class Refused(Runner):
    """Is refused by the provider at first."""

    async def __call__(self, claim: JobClaim, lost: asyncio.Event) -> Outcome:
        outcome = await super().__call__(claim, lost)
        if len(self.ran) == 1:
            return Outcome(state="put_off", error="too many requests", cost_usd=0.3)
        return outcome


async def test_nothing_is_begun_for_a_while_when_the_provider_refuses_requests(
    queries: Path, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(local_batch, "PUT_OFF_SECONDS", 0.01)
    limits = ("--parallel", "1", "--max-cost-each", "2", "--max-cost-all", "1")
    assert await run(queries, runner := Refused(), *limits) == 1
    assert runner.ran == ["one", "one", "fail", "two"]
    # What it has cost counts once.
    assert [claim.limit_usd for claim in runner.claims] == [
        pytest.approx(each) for each in (1.0, 1.0, 0.9, 0.8)
    ]
    assert "too many requests; no job starts for" in capsys.readouterr().err
    assert [each["state"] for each in lines_of(default_file(queries))] == ["done", "failed", "done", "done"]


async def test_a_batch_that_waits_for_the_provider_can_be_interrupted(
    queries: Path, monkeypatch: Patch
) -> None:
    lines: list[str] = []

    def hear(_reporter: Reporter, text: str) -> None:
        lines.append(text)
        if "no job starts for 60 s" in text:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Reporter, "line", hear)
    assert await run(queries, runner := Refused(), "--parallel", "1") == 130
    assert runner.ran == ["one"]
    assert "interrupted: 3 jobs left; run the same command again to resume" in lines


class Failing(Runner):
    """Runs jobs that fail, each in a session."""

    async def __call__(self, claim: JobClaim, lost: asyncio.Event) -> Outcome:
        await super().__call__(claim, lost)
        return Outcome(state="failed", error="no", cost_usd=0.4, folder=f"/w/{claim.job.query}")


def sessions_of(runner: Runner) -> list[tuple[str, int, str | None]]:
    return sorted((claim.job.query, claim.session.attempt, claim.folder) for claim in runner.claims)


async def test_a_retry_that_is_interrupted_forgets_no_session(queries: Path) -> None:
    write(queries, "query\none\ntwo\n")
    assert await run(queries, Failing()) == 1

    async def hold(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        os.kill(os.getpid(), signal.SIGTERM)
        await lost.wait()
        raise RuntimeError("stopped")

    more = ("--retry-failed", "--parallel", "1", "--grace", "0")
    settings = Settings(workspace_base=queries.parent)
    assert await run_batch(arguments(str(queries), *more), settings, None, job=hold) == 143
    assert await run(queries, again := Failing(), "--retry-failed") == 1
    assert sessions_of(again) == [("one", 2, "/w/one"), ("two", 2, "/w/two")]


async def test_a_retry_without_money_forgets_no_session(queries: Path, capsys: Output) -> None:
    write(queries, "query\none\ntwo\n")
    assert await run(queries, Failing()) == 1
    assert await run(queries, none := Failing(), "--retry-failed", "--max-cost-all", "0.8") == 1
    assert none.ran == []
    assert "the spending limit of the batch ($0.80) is reached" in capsys.readouterr().out
    assert await run(queries, none, "--retry-failed", "--max-cost-all", "0.00001") == 1
    assert "the spending limit of the batch ($0.00001) is reached" in capsys.readouterr().out
    assert await run(queries, again := Failing(), "--retry-failed", "--max-cost-all", "9") == 1
    assert sessions_of(again) == [("one", 2, "/w/one"), ("two", 2, "/w/two")]


async def test_a_job_whose_actions_cannot_be_recorded_is_told_and_runs_the_next_time(
    queries: Path, capsys: Output
) -> None:
    write(queries, "query\none\ntwo\n")

    async def lose(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        if claim.job.query == "two":
            return Outcome(state="done", answer="a")
        lost.set()
        raise RuntimeError("the disk is full")

    settings = Settings(workspace_base=queries.parent)
    assert await run_batch(arguments(str(queries)), settings, None, job=lose) == 1
    err = capsys.readouterr().err
    assert "one: unfinished, as its actions could not be recorded: is the disk full?\n" in err
    assert "\n1 job left; run the same command again to resume\n" in err
    assert await run(queries, again := Runner()) == 0
    assert again.ran == ["one"]


async def test_where_a_result_cannot_be_written_other_sessions_end_within_the_grace(
    queries: Path, monkeypatch: Patch
) -> None:
    write(queries, "query\none\ntwo\n")
    output, free, stopped = queries.with_name("results.jsonl"), asyncio.Event(), asyncio.Event()

    async def hold(claim: JobClaim, stop: JobStop) -> Outcome:
        if claim.job.query == "two":
            await stop.soon.wait()
            stopped.set()
            await free.wait()
            assert not stop.is_set()
        return Outcome(state="done", answer="a")

    def fail(_text: str, **_more: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("ua_tui.tui.cli.team.batch.print_line", fail)
    args = arguments(str(queries), "--output", str(output), "--json", "--grace", "3600")
    running = asyncio.create_task(run_batch(args, Settings(workspace_base=queries.parent), None, job=hold))
    await until(stopped.is_set)
    free.set()
    with pytest.raises(BrokenPipeError):
        await running
    assert [each["query"] for each in lines_of(output)] == ["one", "two"]


async def test_a_command_that_cannot_begin_leaves_the_results_of_another_as_they_are(queries: Path) -> None:
    output = queries.with_name("results.csv")
    assert await run(queries, Runner(), "--output", str(output)) == 1
    before = output.read_text()
    other = ResultsFile(default_file(queries))
    with pytest.raises(TeamError, match="another program is running a batch"):
        await run(queries, Runner(), "--output", str(output))
    other.close()
    with pytest.raises(CredentialsError):
        await run_batch(
            arguments(str(queries), "--output", str(output), "--again"),
            Settings(workspace_base=queries.parent),
            None,
        )
    assert output.read_text() == before


async def test_running_jobs_reserve_the_limit_of_the_batch(queries: Path) -> None:
    write(queries, "query\n" + "".join(f"q{number}\n" for number in range(5)))
    limits: list[float | None] = []
    free = [asyncio.Event() for _ in range(5)]

    async def hold(claim: JobClaim, _lost: asyncio.Event) -> Outcome:
        limits.append(claim.limit_usd)
        await free[len(limits) - 1].wait()
        return Outcome(state="done", answer="a", cost_usd=0.1)

    more = ("--max-cost-each", "1", "--max-cost-all", "2.6", "--parallel", "5")
    args = arguments(str(queries), *more)
    running = asyncio.create_task(run_batch(args, Settings(workspace_base=queries.parent), None, job=hold))
    await until(lambda: len(limits) == 3)
    # The rest is small, and what others do not use up may be enough for the fourth.
    assert limits == [1.0, 1.0, pytest.approx(0.6)]
    free[0].set()
    await until(lambda: len(limits) == 4)
    assert limits[-1] == pytest.approx(0.9)
    for each in free:
        each.set()
    assert await running == 0


@pytest.mark.parametrize("more", [("--max-cost-each", "0.5"), ("--max-cost-all", "5")])
async def test_a_model_without_a_price_runs_without_a_limit_unless_one_was_set(
    queries: Path, capsys: Output, more: tuple[str, str]
) -> None:
    settings = Settings(workspace_base=queries.parent, model="llama")
    runner = Runner()
    with pytest.raises(SettingsError, match="needs the price of llama, which is unknown"):
        await run_batch(arguments(str(queries), *more), settings, None, job=runner)
    assert runner.ran == []
    assert await run_batch(arguments(str(queries)), settings, None, job=runner) == 1
    assert {claim.limit_usd for claim in runner.claims} == {None}
    assert "the price of llama is unknown, so there is no spending limit" in capsys.readouterr().err
    # The demo has a model of its own.
    assert await run_batch(arguments(str(queries), "--demo"), settings, None, job=(demo := Runner())) == 1
    assert {claim.limit_usd for claim in demo.claims} == {1.0}
    none = ("--max-cost-each", "none", "--max-cost-all", "none", "--again")
    assert await run_batch(arguments(str(queries), *none), settings, None, job=runner) == 1


async def test_an_error_of_the_program_ends_the_batch_and_lets_others_write(
    queries: Path, monkeypatch: Patch
) -> None:
    def fail(_batch: LocalBatch, *_more: object) -> None:
        raise SettingsError("the disk is full")

    monkeypatch.setattr(ResultOutput, "show", fail)
    with pytest.raises(SettingsError, match="the disk is full"):
        await run(queries, Runner())
    ResultsFile(default_file(queries)).close()
