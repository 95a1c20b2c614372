from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.core.team.jobs.batches import batch_with, jobs_of
from tests.paths import PROJECT
from tests.postgres_server import Database
from tests.waiting import PATIENCE, wait_until
from ua_tui.core.errors import CredentialsError
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs, jobs_path
from ua_tui.core.team.records import Counts
from ua_tui.tui.team.worker import run_worker

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def run(*more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.tui.team.local_child", str(tmp_path), *more]
        started.append(
            subprocess.Popen(command, cwd=PROJECT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
        return started[-1]

    yield run
    for each in started:
        each.kill()
        each.communicate()


def wait_for_lines(path: Path, count: int) -> list[str]:
    wait_until(lambda: path.exists() and len(path.read_text().splitlines()) >= count)
    return path.read_text().splitlines()


async def submit(folder: Path) -> str:
    jobs = jobs_of(2)
    store = SqliteJobs(jobs_path(folder))
    await store.open()
    batch = batch_with(jobs)
    await store.submit(batch, jobs)
    await store.close()
    return batch.id


async def counts(folder: Path, batch_id: str) -> Counts:
    store = SqliteJobs(jobs_path(folder))
    await store.open()
    try:
        return await store.counts(batch_id)
    finally:
        await store.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_the_jobs_of_a_killed_worker_are_resumed_and_a_signal_hands_them_back(
    tmp_path: Path, start: Start, number: int, code: int
) -> None:
    batch_id = await submit(tmp_path)
    killed = start()
    wait_for_lines(tmp_path / "log", 2)
    killed.kill()
    killed.wait()
    worker = start()
    lines = wait_for_lines(tmp_path / "log", 4)
    assert sorted(lines[2:]) == ["query 1 2 folder of query 1", "query 2 2 folder of query 2"]
    worker.send_signal(number)
    _, err = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == code
    assert err.count("is handed back") == 2
    assert (await counts(tmp_path, batch_id)).waiting == 2
    # Only the lock of a program that runs is there, and this one has ended.
    assert list((tmp_path / "AGENT_RUN_WORKSPACES" / ".workers").iterdir()) == []


async def test_a_worker_without_a_model_hands_the_first_job_back_and_ends(tmp_path: Path) -> None:
    batch_id = await submit(tmp_path)
    lines: list[str] = []
    with pytest.raises(CredentialsError, match="no API key, token, login or server is configured"):
        await run_worker(Settings(workspace_base=tmp_path), None, parallel=1, report=lines.append)
    assert "only jobs of the demo run here" in lines[1]
    assert lines[-1].endswith("is handed back")
    found = await counts(tmp_path, batch_id)
    assert (found.waiting, found.failed) == (2, 0)


async def test_a_worker_of_a_team_without_a_model_fails_no_job(
    tmp_path: Path, team_database: Database
) -> None:
    store = PostgresJobs(Address.parse(team_database.url))
    jobs = jobs_of(2)
    await store.open()
    try:
        await store.submit(batch_with(jobs), jobs)
        with pytest.raises(CredentialsError):
            await run_worker(
                Settings(workspace_base=tmp_path), Address.parse(team_database.url), parallel=2,
                report=lambda _: None,
            )  # fmt: skip
    finally:
        await store.close()
    assert team_database.execute("SELECT state, count(*) FROM job GROUP BY state") == [("waiting", 2)]


def test_two_programs_share_a_batch_and_an_interrupted_one_says_how_to_resume(
    tmp_path: Path, start: Start
) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("one\ntwo\nthree\nfour\nfive\n")
    first, second = start(str(queries)), start(str(queries))
    wait_for_lines(tmp_path / "log", 4)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=PATIENCE)
    assert first.returncode == 130
    assert "interrupted: 5 jobs not over; run the same command again to resume" in err
    (tmp_path / "end").touch()
    out, _ = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0
    assert out.count("it is over") == 5
    begun = [line.split()[0] for line in wait_for_lines(tmp_path / "log", 7)]
    # Those of the first program were begun again by the second one.
    assert sorted(set(begun)) == ["five", "four", "one", "three", "two"]
    assert len(begun) == 7


def run_without(folder: Path, missing: tuple[str, ...], *command: str) -> subprocess.CompletedProcess[str]:
    """Run the program where these packages are not installed."""
    (folder / "queries.txt").write_text("one\n")
    code = (
        f"import sys; [sys.modules.__setitem__(each, None) for each in {missing!r}]\n"
        f"from ua_tui.tui.cli import main; sys.exit(main({list(command)!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env={"PYTHONPATH": str(PROJECT), "HOME": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("missing", "command"),
    [
        (("psycopg", "procrastinate"), ("batch", "queries.txt", "--to")),
        (("procrastinate",), ("worker", "--from")),
    ],
)
def test_without_the_extra_there_is_one_clear_line(
    tmp_path: Path, missing: tuple[str, ...], command: tuple[str, ...]
) -> None:
    done = run_without(tmp_path, missing, *command, "postgresql:///desk")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "ua-tui: working in a team needs further packages: run uv tool install '.[team]', or pip install '.[team]', "
        "in a clone of ua-tui"
    ]


def test_a_batch_of_this_machine_needs_no_extra(tmp_path: Path) -> None:
    done = run_without(tmp_path, ("psycopg", "procrastinate", "obstore"), "batch", "queries.txt", "--no-wait")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "1 job: 1 new")
