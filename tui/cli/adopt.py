"""`ua-tui trust adopt`: makes jobs, a knowledge base and sessions the user's own that another program made."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from core.errors import UniversalAgentError
from core.events.types import PermissionAnswered
from core.events.units import quantity
from core.history.headline import read_heading
from core.knowledge.database import FILE, adopt_knowledge
from core.knowledge.folders import is_session
from core.knowledge.status import read_status
from core.records.journal import iter_journal
from core.redaction.redactor import Redactor
from core.storage.files import Root
from core.storage.ownership import is_own_session, seal_session
from core.storage.queue_file import read_queue, write_queue
from core.storage.workspace import JOURNAL, WORKSPACES
from core.team.jobs.sqlite_jobs import FILE as JOBS
from core.team.jobs.sqlite_tables import adopt_jobs, explain
from core.text import clean_line
from tui.cli.output import complain, print_line
from tui.terminal.exit_codes import EXIT_USAGE

__all__ = ["adopt"]

_RULES = (
    "json_extract(settings, '$.allow') IS NOT NULL OR json_extract(settings, '$.permission_mode') IS NOT NULL"
)
_JOBS = f"SELECT count(*), total({_RULES}), count(answer) FROM job"  # noqa: S608


class _Found(NamedTuple):
    """A file or a session that can be adopted: what is in it, and what adopts it."""

    path: Path
    content: str
    adopt: Callable[[Path], None]


def adopt(path: Path, *, yes: bool) -> int:
    """Show what a file, a session or a folder with both has, ask, and make it the user's own; returns the exit code."""
    path = path.resolve()
    try:
        found = list(_find(path))
        if not found:
            return complain(
                f"{clean_line(str(path), 700)} has nothing to adopt: name jobs.db, a knowledge base, or a session"
            )
        for each in found:
            print_line(f"{clean_line(str(each.path), 700)}: {each.content}")
        if not yes:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                return complain("nobody can be asked here: --yes adopts what is listed", EXIT_USAGE)
            question = "Adopt this? Its queries run, its rules allow, its answers are taken for yours. [y/N] "
            if input(question).strip().lower() not in ("y", "yes"):
                return complain("nothing was adopted")
        for each in found:
            each.adopt(each.path)
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error
    print_line(f"{quantity(len(found), 'file or session', 'files and sessions')} adopted")
    return 0


def _find(path: Path) -> Iterator[_Found]:
    if path.is_file():
        yield _jobs(path) if path.name == JOBS else _knowledge(path)
    elif is_session(path):
        yield _Found(path, _describe_session(path), _adopt_session)
    elif (path / WORKSPACES).is_dir():
        yield from _find(path / WORKSPACES)
    elif path.is_dir():
        files = [path / name for name in (JOBS, FILE)]
        for each in (*filter(Path.is_file, files), *sorted(filter(is_session, path.iterdir()))):
            if each in files or not is_own_session(each):
                yield from _find(each)


def _jobs(path: Path) -> _Found:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        jobs, rules, answers = db.execute(_JOBS).fetchone()
    content = f"{quantity(jobs, 'job')}, {int(rules):,} with rights, {quantity(answers, 'answer')}"
    return _Found(path, content, adopt_jobs)


def _knowledge(path: Path) -> _Found:
    status = read_status(path)
    content = (
        f"{quantity(status.sessions, 'session')}, {quantity(status.documents.get('article', 0), 'article')}"
    )
    return _Found(path, content, adopt_knowledge)


def _describe_session(folder: Path) -> str:
    rules = waiting = 0
    with suppress(UniversalAgentError):
        waiting = len(read_queue(Root(folder), foreign=True))
        for event in iter_journal(folder / JOURNAL):
            rules += isinstance(event, PermissionAnswered) and event.scope == "session"
    shown = read_heading(folder).line
    return f"{shown}; {quantity(waiting, 'waiting query', 'waiting queries')}, {quantity(rules, 'rule')} of the session"


def _adopt_session(folder: Path) -> None:
    root = Root(folder)
    write_queue(root, read_queue(root, foreign=True), Redactor())
    seal_session(root)
