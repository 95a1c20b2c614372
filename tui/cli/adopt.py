"""`ua-tui trust adopt`: makes jobs, a knowledge base and sessions the user's own that another program made."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.events.types import PermissionAnswered
from ua_tui.core.events.units import quantity
from ua_tui.core.history.headline import read_heading
from ua_tui.core.history.journal_reader import read_events
from ua_tui.core.knowledge.database import adopt_knowledge
from ua_tui.core.knowledge.database_file import FILE
from ua_tui.core.knowledge.folders import is_session
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.ownership import is_own_session, seal_session
from ua_tui.core.storage.queue_file import read_queue, write_queue
from ua_tui.core.team.jobs.sqlite_jobs import FILE as JOBS
from ua_tui.core.team.jobs.sqlite_tables import adopt_jobs, explain
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.output import complain, print_line
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

_RIGHTS = "json_extract(settings, '$.allow', '$.permission_mode') != '[null,null]'"
_JOBS = f"SELECT count(*), total({_RIGHTS}), count(answer) FROM job"  # noqa: S608
_QUESTION = "Adopt this? Its queries run, its rules allow, its answers are taken for yours. [y/N] "


def adopt(path: Path, *, yes: bool) -> int:
    """Show what a file, a session or a folder with both has, ask, and make it the user's own; returns the exit code."""
    path = path.resolve()
    try:
        found = _find(path)
        for each in found:
            print_line(f"{clean_line(str(each), 700)}: {_content(each)}")
        if not found:
            return complain(
                f"nothing to adopt in {clean_line(str(path), 700)}: name jobs.db, a knowledge base or a session"
            )
        if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
            return complain("nobody can be asked here: --yes adopts what is listed", EXIT_USAGE)
        if not yes and input(_QUESTION).strip().lower() not in ("y", "yes"):
            return complain("nothing was adopted")
        for each in found:
            _adopt(each)
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error
    print_line(f"{quantity(len(found), 'file or session', 'files and sessions')} adopted")
    return 0


def _find(path: Path) -> list[Path]:
    if path.is_file() or is_session(path):
        return [path]
    folder = path / WORKSPACES if (path / WORKSPACES).is_dir() else path
    sessions = [
        each for each in sorted(folder.glob("session_*")) if is_session(each) and not is_own_session(each)
    ]
    return [each for each in (folder / JOBS, folder / FILE) if each.is_file()] + sessions


def _content(path: Path) -> str:
    if path.is_dir():
        waiting = rules = 0
        with suppress(UniversalAgentError):
            waiting = len(read_queue(Root(path), foreign=True))
            rules = sum(isinstance(e, PermissionAnswered) and e.scope == "session" for e in read_events(path))
        counts = f"{quantity(waiting, 'waiting query', 'waiting queries')}, {quantity(rules, 'rule')} of the session"
        return f"{read_heading(path).line}; {counts}"
    if path.name != JOBS:
        status = read_status(path)
        return f"{quantity(status.sessions, 'session')}, {quantity(status.documents.get('article', 0), 'article')}"
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        jobs, rights, answers = db.execute(_JOBS).fetchone()
    return f"{quantity(jobs, 'job')}, {int(rights):,} with rights, {quantity(answers, 'answer')}"


def _adopt(path: Path) -> None:
    if path.is_dir():
        root = Root(path)
        write_queue(root, read_queue(root, foreign=True), Redactor())
        seal_session(root)
    elif path.name == JOBS:
        adopt_jobs(path)
    else:
        adopt_knowledge(path)
