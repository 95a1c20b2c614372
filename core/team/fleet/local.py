"""The sessions and jobs of this machine, for the fleet: from their folders, and from the file of the jobs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from ua_tui.core.errors import JournalError, TeamError, UniversalAgentError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.history.headline import Summary
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.storage.sqlite import connect
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.team.fleet.rows import FleetRow, FleetState
from ua_tui.core.team.jobs.sqlite_tables import check_own
from ua_tui.core.text import clean_line
from ua_tui.core.view.activity import Activity, Asked, describe_question

JOBS = "jobs.db"
"""The file of this machine's jobs, beside the folders of the sessions."""
MOST_WAITING = 200
"""How many waiting jobs are listed; of the others there is only a number."""
_LONGEST = 300
_TAIL = 256 << 10

_COUNT = "SELECT count(*) FROM job WHERE state = 'waiting' AND session IS NULL"
_WAITING = (
    "SELECT j.id, substr(j.query, 1, 400), b.submitted_at FROM job j JOIN batch b ON b.id = j.batch"
    " WHERE j.state = 'waiting' AND j.session IS NULL ORDER BY j.rowid LIMIT ?"
)
_BEGUN = (
    "SELECT id, session, state, substr(query, 1, 400), coalesce(folder, ''), cost_usd, started_at, finished_at,"
    " substr(coalesce(error, ''), 1, 400) FROM job WHERE session IS NOT NULL"
    " ORDER BY finished_at IS NOT NULL, coalesce(finished_at, started_at) DESC LIMIT ?"
)
_QUESTIONS = "SELECT session, event FROM question WHERE answer IS NULL ORDER BY asked_at"
_STATES: dict[str, FleetState] = {
    "finished": "done",
    "crashed": "crashed",
    "corrupt": "crashed",
    "running": "running",
    "unknown": "crashed",
}


class JournalActivity:
    """What one session does now, from the end of its journal, which is read on as it grows; `read` blocks."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL
        self._place = -1
        self._activity = Activity()

    @property
    def state(self) -> FleetState:
        """Whether it needs a person, works, or rests."""
        # What is not known yet began before the end of the journal that was read.
        works = self._activity.state in ("", "running")
        return "needs_you" if self._activity.needs_person else "running" if works else "idle"

    @property
    def text(self) -> str:
        """What it does, in one line."""
        return self._activity.text()

    def read(self) -> None:
        """Read what was written since the last time; what cannot be read changes nothing."""
        with suppress(JournalError, OSError):
            if os.stat(self._path, follow_symlinks=False).st_size == self._place:
                return
            with closing(PastJournal(self._path)) as journal:
                if not 0 <= self._place <= journal.size:
                    self._place = journal.tail_place(_TAIL)
                place = -1
                while place != self._place:
                    place = self._place
                    self._place, events = journal.more(place)
                    for event in events:
                        self._activity = self._activity.after(event)


class LocalSessions:
    """Reads what there is on this machine; the methods block, so call them in a thread, one at a time.

    Args:
        index: lists the sessions.
        jobs: the file of the jobs; it need not be there.
    """

    def __init__(self, index: SessionIndex, jobs: Path | None = None) -> None:
        self._index = index
        self._jobs = index.sessions / JOBS if jobs is None else jobs
        self._summaries: dict[str, Summary] = {}
        self._activities: dict[str, JournalActivity] = {}
        self._of_jobs: dict[str, FleetRow] = {}
        self._seen: tuple[int, ...] = ()
        self.waiting = 0
        self.problem = ""

    @property
    def jobs(self) -> Path:
        """The file of the jobs."""
        return self._jobs

    def refresh(self, *, first: bool = False) -> bool:
        """Read which sessions there are, each only if it has changed; returns whether anything has."""
        seen: dict[str, Summary] = {}
        before, self.problem = self.problem, ""
        try:
            for batch in self._index.refresh(keep=first):
                seen.update((summary.name, summary) for summary in batch)
        except UniversalAgentError as error:
            self.problem = str(error)
            return self.problem != before
        changed = seen != self._summaries
        self._summaries = seen
        running = {name for name, summary in seen.items() if summary.state == "running"}
        self._activities = {
            name: self._activities.get(name) or JournalActivity(self._index.folder(name)) for name in running
        }
        return self.refresh_running() or changed or self.problem != before

    def refresh_running(self) -> bool:
        """Read what the running sessions and the jobs have done since the last time; returns whether that is news."""
        before = [(each.state, each.text) for each in self._activities.values()]
        for activity in self._activities.values():
            activity.read()
        jobs = self._read_jobs()
        return jobs or before != [(each.state, each.text) for each in self._activities.values()]

    def rows(self) -> Iterator[FleetRow]:
        """All sessions, and the first of the jobs that wait."""
        by_folder = {Path(row.folder).name: row for row in self._of_jobs.values() if row.folder}
        for name, summary in self._summaries.items():
            row = self._row(name, summary)
            if (job := by_folder.get(name)) is not None:
                row = _with_job(row, job)
            yield row
        for row in self._of_jobs.values():
            if not row.folder or Path(row.folder).name not in self._summaries:
                yield row

    def _row(self, name: str, summary: Summary) -> FleetRow:
        state, activity = _STATES[summary.state], summary.why
        if (doing := self._activities.get(name)) is not None and summary.state == "running":
            state, activity = doing.state, doing.text
        is_over = summary.state != "running"
        ended = None
        if is_over and summary.seconds is not None and summary.started is not None:
            ended = summary.started + summary.seconds
        elif is_over and summary.stamp[0]:
            ended = summary.stamp[0] / 1e9
        return FleetRow(
            id=f"here:{name}",
            state=state,
            title=summary.heading,
            activity=clean_line(activity, _LONGEST),
            cost_usd=summary.known_cost,
            started=summary.started,
            finished=ended,
            name=name,
            folder=str(self._index.folder(name)),
            demo=summary.demo,
        )

    # -- the jobs -----------------------------------------------------------------------------------

    def _read_jobs(self) -> bool:
        """Read the jobs if their file has changed; returns whether it has."""
        stamp = _stamp_of(self._jobs)
        if stamp == self._seen:
            return False
        if not stamp:
            self._seen, self._of_jobs, self.waiting = stamp, {}, 0
            return True
        try:
            check_own(self._jobs)
            with closing(connect(self._jobs, "ro", 1.0)) as db:
                self._of_jobs = {row.id: row for row in self._jobs_of(db)}
        except TeamError as error:
            self._seen, self._of_jobs, self.waiting, self.problem = stamp, {}, 0, str(error)
            return True
        except sqlite3.Error as error:
            self.problem = f"the jobs of this machine cannot be read: {clean_line(str(error), 200)}"
            return True
        self._seen = stamp
        return True

    def _jobs_of(self, db: sqlite3.Connection) -> Iterator[FleetRow]:
        asks: dict[str, str] = {}
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "question" in tables:
            asks = {session: question_line(event) for session, event in db.execute(_QUESTIONS)}
        if "job" not in tables:
            return
        (self.waiting,) = db.execute(_COUNT).fetchone()
        for id_, session, state, query, folder, cost, started, finished, error in db.execute(
            _BEGUN, (2_000,)
        ):
            begun = state not in ("running", "needs_you") or session not in asks
            yield FleetRow(
                id=f"job:{id_}",
                state=state if begun else "needs_you",
                title=clean_line(query, _LONGEST),
                activity=clean_line(error, _LONGEST) if begun else asks[session],
                cost_usd=cost,
                started=started,
                finished=finished,
                name=clean_line(Path(folder).name, 100),
                session=session,
                job=id_,
                folder=folder,
                local=True,
            )
        for id_, query, submitted in db.execute(_WAITING, (MOST_WAITING,)):
            title = clean_line(query, _LONGEST)
            yield FleetRow(
                id=f"job:{id_}", state="waiting", title=title, started=submitted, job=id_, local=True
            )


def _with_job(row: FleetRow, job: FleetRow) -> FleetRow:
    """The row of a session that works on a job: the job knows how it ended, the journal what it does."""
    state = job.state
    if state == "running" and row.state == "crashed":
        # The program that had it has ended; the next one resumes it.
        state = "lost"
    return msgspec.structs.replace(
        row,
        state=state,
        activity=job.activity or row.activity,
        cost_usd=job.cost_usd if job.is_over else row.cost_usd or job.cost_usd,
        started=job.started or row.started,
        finished=job.finished,
        session=job.session,
        job=job.job,
        local=True,
    )


def question_line(event: str) -> str:
    """What a question asks, in one line."""
    try:
        asked = decode_event(event.encode("utf-8", "replace"))
    except ValueError:
        asked = None
    return describe_question(asked) if isinstance(asked, Asked) else "asks something"


def _stamp_of(path: Path) -> tuple[int, ...]:
    """Changes with each transaction: also those that are in the log beside the file."""
    stamp: list[int] = []
    for each in (path, path.with_name(path.name + "-wal")):
        try:
            found = os.stat(each, follow_symlinks=False)
        except OSError:
            continue
        stamp += [found.st_mtime_ns, found.st_size]
    return tuple(stamp)
