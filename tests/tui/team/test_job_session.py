from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.core.team.copied_session import copied_session
from tests.core.team.stores import SESSION, add_session
from tests.postgres_server import Database
from tests.waiting import PATIENCE, run_ready
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.types import QueryFinished
from ua_tui.core.history.rebuild import clean_up_after_kills
from ua_tui.core.history.session import runs_elsewhere
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.resume import Resume, prepare_resume
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.progress import JobProgress, read_progress
from ua_tui.core.team.records import Job, JobClaim, Outcome, SessionId
from ua_tui.tui import compose
from ua_tui.tui.team import job_session
from ua_tui.tui.team.job_session import JobRun


async def test_a_job_gives_its_place_back_when_the_actions_that_run_have_ended(
    team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_session(team_database)
    begun, free = asyncio.Event(), asyncio.Event()

    async def act(run: job_session.JobRun) -> Outcome:
        await run.ledger.begin({"key": "mcp__mail__send"}, "call", lambda: False)
        run.parked = "it has been running for 2h"
        run.stop.soon.set()
        begun.set()
        await free.wait()
        await run.ledger.finish("call", ok=True, result="sent")
        return await asyncio.Future()

    monkeypatch.setattr(job_session.JobRun, "run", act)
    claim = JobClaim(job=Job(id="j1", query="Send it."), session=SESSION)
    address = Address.parse(team_database.url)
    running = asyncio.create_task(
        JobRun(claim, JobStop(), settings=Settings(), note=note, address=address).work()
    )
    await begun.wait()
    await run_ready()
    assert not running.done()
    free.set()
    outcome = await running
    assert (outcome.state, outcome.error) == ("parked", "it has been running for 2h")
    assert team_database.execute("SELECT state, result FROM action") == [("done", "sent")]


async def note(*_given: object) -> bool:
    return True


async def test_what_is_missing_in_the_journal_of_a_job_was_spent_as_well(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_session(team_database)
    limits: list[float | None] = []

    async def see(_run: job_session.JobRun, settings: Settings, *_more: object) -> Any:
        limits.append(settings.max_cost_usd)
        return SimpleNamespace(workspace=SimpleNamespace(path=tmp_path))

    async def run_session(run: job_session.JobRun, *_more: object) -> Outcome:
        run._progress.handle_event(
            QueryFinished(query_id="q1", status="error", duration_ms=1.0, cost_usd=0.25)
        )
        return run.outcome("failed")

    monkeypatch.setattr(job_session.JobRun, "_compose", see)
    monkeypatch.setattr(job_session.JobRun, "_run_session", run_session)
    claim = JobClaim(
        job=Job(id="j1", query="Go on."), session=SessionId(id="s1", attempt=2), limit_usd=1.0, spent_usd=0.5
    )
    settings, address = (
        Settings(workspace_base=tmp_path, api_key="sk-ant-1"),
        Address.parse(team_database.url),
    )
    outcome = await JobRun(claim, JobStop(), settings=settings, note=note, address=address).work()
    assert (limits, outcome.cost_usd) == ([0.5], 0.75)


@pytest.mark.parametrize("is_local", [False, True])
async def test_no_other_program_gets_at_the_folder_of_a_job_before_its_session(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch, is_local: bool
) -> None:
    async with copied_session(tmp_path / "a", team_database) as session:
        assert await session.replica.flush(PATIENCE)
    seal_session(session.workspace.root)
    others: list[Workspace] = []
    opened: list[Workspace] = []
    base = tmp_path / ("a" if is_local else "b")

    def claim(folder: Path) -> None:
        # What each program does when it starts, with the sessions that look as if they had been killed.
        clean_up_after_kills(base, Redactor())
        with suppress(WorkspaceError):
            others.append(Workspace.claim(folder))

    def progress_of(folder: Path) -> JobProgress:
        if not is_local:
            claim(folder)
        return read(folder)

    def prepare(settings: Settings, folder: Path, **more: Any) -> tuple[Settings, Resume]:
        claim(folder)
        return real(settings, folder, **more)

    async def open_only(
        _run: job_session.JobRun, settings: Settings, _interactive: bool, resume: Resume | None
    ) -> Any:
        assert resume is not None
        redactor = Redactor(["secret"])
        opened.append(await compose._open_workspace(settings, redactor, resume, AsyncExitStack()))
        assert opened[0].locked
        assert opened[0].redactor is redactor
        return SimpleNamespace(workspace=opened[0])

    async def run_session(run: job_session.JobRun, _session: object, _text: str) -> Outcome:
        return run.outcome("done")

    read, real = read_progress, prepare_resume
    monkeypatch.setattr(job_session, "read_progress", progress_of)
    monkeypatch.setattr(job_session, "prepare_resume", prepare)
    monkeypatch.setattr(job_session.JobRun, "_compose", open_only)
    monkeypatch.setattr(job_session.JobRun, "_run_session", run_session)
    outcome = await JobRun(
        JobClaim(
            job=Job(id="j1", query="Send it."),
            session=SessionId(id="s1", attempt=2),
            folder=str(session.workspace.path) if is_local else "",
        ),
        JobStop(),
        settings=Settings(workspace_base=base, api_key="sk-ant-1"),
        note=note,
        address=None if is_local else Address.parse(team_database.url),
    ).work()
    assert (outcome.state, outcome.error, others) == ("done", "", [])
    assert outcome.folder == str(opened[0].path)
    # The session has the lock until it ends.
    assert runs_elsewhere(opened[0].path)
    opened[0].close()
    assert not runs_elsewhere(opened[0].path)


async def test_a_job_that_does_not_resume_leaves_the_folder_unlocked(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with copied_session(tmp_path / "a", team_database) as session:
        assert await session.replica.flush(PATIENCE)

    def prepare(*_given: object, **_more: object) -> tuple[Settings, Resume]:
        raise WorkspaceError("no")

    monkeypatch.setattr(job_session, "prepare_resume", prepare)
    outcome = await JobRun(
        JobClaim(job=Job(id="j1", query="Send it."), session=SessionId(id="s1", attempt=2)),
        JobStop(),
        settings=Settings(workspace_base=tmp_path / "b", api_key="sk-ant-1"),
        note=note,
        address=Address.parse(team_database.url),
    ).work()
    assert (outcome.state, outcome.error) == ("failed", "no")
    assert not runs_elsewhere(Path(outcome.folder))
