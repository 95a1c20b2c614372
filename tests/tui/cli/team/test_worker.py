from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.team.jobs.batches import batch_with, jobs_of, open_jobs
from tests.paths import PROJECT
from tests.postgres_server import Database
from tests.tui.fixture_types import Output, Patch
from tests.waiting import PATIENCE, until, until_in_thread
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.records import JobClaim, Outcome
from ua_tui.tui.cli.team.worker import run_worker


async def test_a_worker_of_a_team_without_a_model_says_so_and_fails_no_job(
    tmp_path: Path, team_database: Database
) -> None:
    jobs, lines = jobs_of(2), list[str]()
    address = Address.parse(team_database.url)
    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs), jobs)
        working = asyncio.create_task(
            run_worker(Settings(workspace_base=tmp_path), address, parallel=2, report=lines.append)
        )
        await until_in_thread(lambda: team_database.execute("SELECT 1 FROM worker"))
        os.kill(os.getpid(), signal.SIGTERM)
        assert await working == 0
    assert any("until then, only demo jobs run here" in line for line in lines)
    assert team_database.execute("SELECT state, attempt FROM job") == [("waiting", 0)] * 2


async def test_a_worker_without_a_folder_for_sessions_leaves_the_jobs_to_others(
    tmp_path: Path, team_database: Database
) -> None:
    jobs, lines = jobs_of(2), list[str]()
    (base := tmp_path / "base").touch()

    async def run(_claim: JobClaim, _stop: JobStop) -> Outcome:
        return Outcome(state="done")

    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs), jobs)
        working = asyncio.create_task(
            run_worker(
                Settings(workspace_base=base), Address.parse(team_database.url), parallel=1, run=run,
                report=lines.append,
            )
        )  # fmt: skip
        await until(lambda: lines[1:])
        assert "/base/AGENT_RUN_WORKSPACES'" in lines[1]
        assert lines[1].endswith("; until then, no jobs are claimed")
        assert team_database.execute("SELECT state, attempt FROM job") == [("waiting", 0)] * 2
        base.unlink()
        await until_in_thread(
            lambda: team_database.execute("SELECT 1 FROM job WHERE state = 'done' OFFSET 1")
        )
        os.kill(os.getpid(), signal.SIGTERM)
        assert await working == 0
    assert lines[2] == "jobs are claimed again"


async def test_a_second_signal_removes_the_health_file_and_tells_when_jobs_are_back(
    tmp_path: Path, team_database: Database, monkeypatch: Patch, capsys: Output
) -> None:
    began, ended, codes = asyncio.Event(), asyncio.Event(), list[int]()
    monkeypatch.setattr(os, "_exit", codes.append)
    (health := tmp_path / "alive").touch()

    async def run(_claim: JobClaim, _stop: JobStop) -> Outcome:
        began.set()
        await ended.wait()
        return Outcome(state="done")

    async with open_jobs(team_database) as store:
        jobs = jobs_of(1)
        await store.submit(batch_with(jobs), jobs)
        working = asyncio.create_task(
            run_worker(
                Settings(workspace_base=tmp_path), Address.parse(team_database.url), parallel=1, run=run,
                report=lambda _: None, health_file=health,
            )
        )  # fmt: skip
        await asyncio.wait_for(began.wait(), PATIENCE)
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: codes)
        ended.set()
        assert await working == 0
    assert not health.exists()
    assert "everything was saved; other workers can claim its jobs in 30 s" in capsys.readouterr().err


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
        (("psycopg",), ("batch", "queries.txt", "--to")),
        (("psycopg_pool",), ("worker", "--from")),
    ],
)
def test_without_the_extra_there_is_one_clear_line(
    tmp_path: Path, missing: tuple[str, ...], command: tuple[str, ...]
) -> None:
    done = run_without(tmp_path, missing, *command, "postgresql:///desk")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "ua-tui: working in a team needs the extra team, which is not installed: in a clone of ua-tui, run "
        # The command keeps what else is installed.
        "uv tool install -c constraints.txt '.[standard,documents,team]', "
        "or pip install -c constraints.txt '.[team]'"
    ]


def test_a_batch_of_this_machine_needs_no_extra(tmp_path: Path) -> None:
    done = run_without(tmp_path, ("psycopg",), "batch", "queries.txt")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "1 job: 1 new")
    assert "no API key, token, login or server is configured" in done.stderr
    # Without a database there is nothing for a worker.
    done = run_without(tmp_path, (), "worker")
    assert (done.returncode, "name the team's database with --from" in done.stderr) == (2, True)
