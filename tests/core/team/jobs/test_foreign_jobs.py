"""A file of jobs that somebody else made, or changed: none of its queries, rights and answers count."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.core.team.jobs.batches import batch_with, jobs_of
from tests.tui.fixture_types import Patch
from ua_tui.core.errors import TeamError
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs, jobs_path
from ua_tui.core.team.jobs.sqlite_tables import adopt_jobs
from ua_tui.core.team.local_mailbox import SqliteMailbox
from ua_tui.core.team.records import Job, JobResult, Outcome

FORGED = "forged"
EVIL = """UPDATE job SET query = 'read @/forged', settings = '{"allow": ["crawl_parallel"]}'"""
PLANT = (
    "INSERT INTO job (id, batch, query, settings, format) SELECT 'x', batch, 'forged', '{}', 1 FROM job LIMIT 1;"
    "INSERT INTO batch_job SELECT batch, 99, 'x' FROM batch_job LIMIT 1"
)
Change = str | Callable[[Path], object]


def as_other_user(path: Path) -> None:
    """Make the file with the program of another user."""
    path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(path.parent / "other"))
        asyncio.run(
            submitted(path, [Job(id=job.id, query=f"{FORGED} {job.id}", number=job.number) for job in JOBS])
        )


def copied(path: Path) -> None:
    """Bring a file of the user's own that was made, and answered, elsewhere."""
    elsewhere = path.parent.parent / "elsewhere" / path.name
    asyncio.run(submitted(elsewhere, JOBS))
    asyncio.run(worked(elsewhere, FORGED))
    shutil.copy(elsewhere, path)


def without_tables(path: Path) -> None:
    """Make a file of the first version, which has no seals."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP TABLE mark; DROP TABLE seal; PRAGMA user_version = 1;")
    change(path, f"UPDATE job SET state = 'done', answer = '{FORGED}'")


def view_of_jobs(path: Path) -> None:
    """Have the name of the table be that of a view."""
    with closing(sqlite3.connect(path)) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(job)")]
        listed = ", ".join("'forged' AS query" if each == "query" else each for each in columns)
        db.executescript(f"ALTER TABLE job RENAME TO old; CREATE VIEW job AS SELECT {listed} FROM old;")


def as_knowledge_base(path: Path) -> None:
    """Have another kind of file of the user's own in its place."""
    path.unlink()
    KnowledgeStore(path).close()


JOBS = jobs_of(3)
HOSTILE: dict[str, Change] = {
    "query and rights": EVIL,
    "query of one": "UPDATE job SET query = 'forged' WHERE rowid = 2",
    "rights": """UPDATE job SET settings = '{"allow": ["forged"]}'""",
    "mode": """UPDATE job SET settings = '{"permission_mode": "acceptEdits", "x": "forged"}'""",
    "broken settings": "UPDATE job SET settings = 'forged['",
    "limit": "UPDATE job SET limit_usd = 1e6",
    "answer": f"UPDATE job SET state = 'done', answer = '{FORGED}'",
    "answer of one": f"UPDATE job SET state = 'done', answer = '{FORGED}' WHERE rowid = 3",
    "error": f"UPDATE job SET state = 'failed', error = '{FORGED}'",
    "session elsewhere": "UPDATE job SET session = 'forged', folder = '/forged', attempt = 4",
    "name of a job": "UPDATE job SET query = 'forged', batch = 'forged'",
    "rows of others": "DELETE FROM seal; " + EVIL,
    "seal of another": EVIL + "; UPDATE seal SET code = (SELECT code FROM seal ORDER BY job LIMIT 1)",
    "empty seal": EVIL + "; UPDATE seal SET code = ''",
    "blob as a seal": EVIL + "; UPDATE seal SET code = x'00'",
    "number as a seal": EVIL + "; UPDATE seal SET code = 1",
    "blob as a query": "UPDATE job SET query = CAST('forged' AS BLOB)",
    "trigger on new jobs": "CREATE TRIGGER t AFTER INSERT ON job BEGIN UPDATE job SET query = 'forged'; END",
    "trigger on changes": "CREATE TRIGGER t AFTER UPDATE ON job BEGIN UPDATE job SET answer = 'forged'; END",
    "trigger on batches": "CREATE TRIGGER t AFTER INSERT ON batch BEGIN UPDATE job SET query = 'forged'; END",
    "view": "CREATE VIEW forged AS SELECT 1",
    "view of jobs": view_of_jobs,
    "table": "CREATE TABLE forged(x)",
    "index": "CREATE INDEX forged ON job (lower(query))",
    "computed column": "ALTER TABLE job ADD COLUMN forged TEXT AS (query || 'forged')",
    "trigger on messages": "CREATE TRIGGER t AFTER INSERT ON question BEGIN UPDATE question SET answer = 'forged'; END",
    "no mark": "DELETE FROM mark; " + EVIL,
    "mark of another": "UPDATE mark SET id = 'x'; " + EVIL,
    "mark that is no text": "UPDATE mark SET seal = x'00'; " + EVIL,
    "another user": as_other_user,
    "elsewhere": copied,
    "first version": without_tables,
    "rows of two jobs": "UPDATE job SET query = 'query 2' WHERE query = 'query 1'",
    "one seal for all": "UPDATE job SET settings = '[1]'; UPDATE seal SET code = (SELECT max(code) FROM seal)",
    "format": "UPDATE job SET format = 0",
    "white space": "UPDATE job SET settings = '{ }'",
    "another batch": "UPDATE job SET batch = 'forged'",
    "job with the seal of another": f"{PLANT}; INSERT INTO seal SELECT 'x', code FROM seal LIMIT 1",
    "job without a seal": PLANT,
    "seals as a view": "DROP TABLE seal; CREATE VIEW seal AS SELECT id AS job, seal_of(id, batch, query, settings,"
    " format, limit_usd, state, answer, error, session, folder) AS code FROM job; " + EVIL,
    "mark as a view": "DROP TABLE mark; CREATE VIEW mark AS SELECT 'x' AS id, 'x' AS seal; " + EVIL,
    "hidden trigger": "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_t', 'job', 0,"
    " 'CREATE TRIGGER sqlite_t AFTER INSERT ON job BEGIN UPDATE job SET query = ''forged''; END')",
    "other defaults": "PRAGMA writable_schema = ON;"
    " UPDATE sqlite_master SET sql = replace(sql, 'waiting', 'done') WHERE name = 'job'",
    "mark with a default": "ALTER TABLE mark ADD COLUMN x TEXT DEFAULT 'forged'",
    "knowledge base": as_knowledge_base,
    "virtual table": "CREATE VIRTUAL TABLE forged USING fts5(x)",
}


async def submitted(path: Path, jobs: list[Job]) -> None:
    store = SqliteJobs(path)
    await store.open()
    try:
        await store.submit(batch_with(jobs), jobs)
    finally:
        await store.close()


async def worked(path: Path, answer: str, most: int = 9) -> list[JobResult]:
    """Give the batch again, run what is left, and return what it prints."""
    store = SqliteJobs(path)
    await store.open()
    try:
        batch = batch_with(JOBS)
        await store.submit(batch, JOBS, retry_failed=True)
        while most and (claim := await store.next()):
            most -= 1
            assert FORGED not in f"{claim.job} {claim.folder}"
            await store.finish(claim, Outcome(state="done", answer=answer, cost_usd=0.1))
        return [each async for each in store.results(batch.id)]
    finally:
        await store.close()


def change(path: Path, what: Change) -> None:
    if callable(what):
        what(path)
        return
    with closing(sqlite3.connect(path)) as db:
        db.executescript(what)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = jobs_path(tmp_path)
    asyncio.run(submitted(path, JOBS))
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_foreign_or_changed_file_counts(path: Path, name: str) -> None:
    change(path, HOSTILE[name])
    before = path.read_bytes()
    with pytest.raises(TeamError, match=r"trust adopt|move it away"):
        asyncio.run(worked(path, "own"))
    if not name.startswith("job with"):
        # The user's own jobs run before such a job is met.
        assert path.read_bytes() == before

    async def run_all() -> None:
        # A worker, which has no batch to compare them with.
        store = SqliteJobs(path)
        await store.open()
        try:
            while claim := await store.next():
                assert FORGED not in f"{claim.job} {claim.folder}"
                await store.finish(claim, Outcome(state="done", answer="own"))
        finally:
            await store.close()

    with suppress(TeamError):
        asyncio.run(run_all())


_open: list[sqlite3.Connection] = []


def keep_open(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("SELECT count(*) FROM job").fetchone()
    _open.append(db)


INNOCENT: dict[str, Change] = {
    "nothing": "SELECT 1",
    "vacuum": "VACUUM",
    "statistics": "ANALYZE",
    "without a log": "PRAGMA journal_mode = DELETE",
    "open for all": lambda path: path.chmod(0o644),
    "another program has it open": keep_open,
    "some are done": lambda path: asyncio.run(worked(path, "own", most=2)),
    "all are done": lambda path: asyncio.run(worked(path, "own")),
    "some failed": lambda path: asyncio.run(failed(path)),
    "a program was killed": lambda path: asyncio.run(lost(path)),
    "a question waits": lambda path: asyncio.run(SqliteMailbox(path).questions()) and None,
    "gone and back": lambda path: shutil.move(shutil.move(path, path.parent / "x"), path),
    "missing": lambda path: path.unlink(),
    "empty": lambda path: os.truncate(path, 0),
    "adopted": adopt_jobs,
}


async def failed(path: Path) -> None:
    store = SqliteJobs(path)
    await store.open()
    claim = await store.next()
    assert claim is not None
    await store.note(claim, "needs_you", 0.1, "/somewhere")
    await store.finish(claim, Outcome(state="failed", error="no model"))
    await store.close()


async def lost(path: Path) -> None:
    store = SqliteJobs(path)
    await store.open()
    assert await store.next() is not None
    await store.close()


@pytest.mark.parametrize("name", INNOCENT)
def test_what_the_user_does_with_own_files_changes_nothing(path: Path, name: str) -> None:
    change(path, INNOCENT[name])
    results = asyncio.run(worked(path, "own"))
    assert [(each.job.query, each.state, each.answer) for each in results] == [
        (job.query, "done", "own") for job in JOBS
    ]
    while _open:
        _open.pop().close()


def test_a_folder_reached_by_a_link_is_the_same(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert len(asyncio.run(worked(jobs_path(tmp_path / "link"), "own"))) == 3


def test_adopting_makes_a_file_of_an_earlier_version_the_user_s_own(path: Path) -> None:
    without_tables(path)
    change(path, "UPDATE job SET answer = 'before'")
    with pytest.raises(TeamError, match="not made by this program for this user"):
        asyncio.run(worked(path, "own"))
    adopt_jobs(path)
    assert [each.answer for each in asyncio.run(worked(path, "own"))] == ["before"] * 3


def test_a_file_with_triggers_is_not_adopted(path: Path) -> None:
    change(path, HOSTILE["trigger on new jobs"])
    with pytest.raises(TeamError, match="move it away"):
        adopt_jobs(path)


def test_other_settings_than_those_submitted_are_not_run(path: Path) -> None:
    change(path, """UPDATE job SET settings = '{"allow": ["forged"]}'""")
    adopt_jobs(path)
    with pytest.raises(TeamError, match="other settings"):
        asyncio.run(worked(path, "own"))


def test_without_a_state_folder_only_the_own_program_knows_its_files(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/state")
    path = jobs_path(tmp_path)
    asyncio.run(submitted(path, JOBS))
    assert len(asyncio.run(worked(path, "own"))) == 3
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/another")
    with pytest.raises(TeamError, match=r"\(the key in /dev/null/another/ua-tui cannot be used: .*\)"):
        asyncio.run(worked(path, "own"))
