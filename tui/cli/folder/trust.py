"""`ua-tui trust`: what the files of a folder change, the decision about it, and adopting what others made."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import asdict, replace

from ua_tui.core.claims.files import LEDGER
from ua_tui.core.claims.ledger import adopt as adopt_ledger
from ua_tui.core.claims.ledger import find_ledgers, read_content
from ua_tui.core.errors import UniversalAgentError, WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.history.headline import read_heading
from ua_tui.core.knowledge.index.database import adopt_knowledge
from ua_tui.core.knowledge.place import FILE, journal_size
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.places import Places
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import REPORT_CHECKS, WORKSPACES
from ua_tui.core.storage.ownership import is_own_session, seal_session
from ua_tui.core.storage.queue_file import read_queue, write_queue
from ua_tui.core.storage.sqlite import file_advice
from ua_tui.core.text import clean_line
from ua_tui.core.trust import Answer, TrustStore
from ua_tui.core.trust_question import FolderQuestion, describe_question, read_folder, revoke
from ua_tui.tui.cli.arguments import WrongUsage
from ua_tui.tui.cli.output import agrees, complain, print_json, print_line, print_list
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

_QUESTION = (
    "Adopt this? Then its queries can run, its rules apply, and its answers and signatures count as yours."
)


def adopt(path: Path, *, yes: bool) -> int:
    """Show what a file, a session or a folder with both has, ask, and make it the user's own; returns the exit code."""
    path = path.resolve()
    try:
        found = _find(path)
        for each in found:
            print_line(f"{clean_line(str(each), 700)}: {_content(each)}")
        if not found:
            return complain(
                f"nothing to adopt in {clean_line(str(path), 700)}: name a knowledge base, a session "
                "or decisions about claims"
            )
        if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
            return complain(
                "confirmation needs a terminal; --yes adopts what is listed without it", EXIT_USAGE
            )
        if not yes and not agrees(_QUESTION):
            return complain("nothing was adopted")
        for each in found:
            _adopt(each)
    except (sqlite3.Error, OSError) as error:
        advice = file_advice(error, again="move it elsewhere")
        raise WorkspaceError(
            advice._replace(problem=f"{clean_line(str(path), 700)} cannot be adopted: {advice.problem}")
        ) from error
    print_line(f"{quantity(len(found), 'file or session', 'files and sessions')} adopted")
    return 0


def _find(path: Path) -> list[Path]:
    if path.is_file() or journal_size(path) is not None:
        return [path]
    if path.name == REPORT_CHECKS:
        return _foreign_ledgers(path.parent)
    folder = path / WORKSPACES if (path / WORKSPACES).is_dir() else path
    found = [folder / FILE] if (folder / FILE).is_file() else []
    for session in sorted(each for each in folder.glob("session_*") if journal_size(each) is not None):
        # Somebody may have put decisions into a session of the user.
        found += [session] if not is_own_session(session) else _foreign_ledgers(session)
    return found


def _foreign_ledgers(session: Path) -> list[Path]:
    found = []
    for path in find_ledgers(session):
        with suppress(UniversalAgentError):
            _, _, is_own = read_content(path)
            found += [] if is_own else [path]
    return found


def _content(path: Path) -> str:
    if path.is_dir():
        waiting = 0
        with suppress(UniversalAgentError):
            waiting = len(read_queue(Root(path), foreign=True))
        queries = quantity(waiting, "waiting query", "waiting queries")
        return f"{read_heading(path).line}; {queries}, {_said(find_ledgers(path))}"
    if path.name.endswith(LEDGER):
        return _said([path])
    return quantity(read_status(path).sessions, "session")


def _said(ledgers: Sequence[Path]) -> str:
    """How many decisions and opinions about claims are in files; those that cannot be read have none."""
    decisions = opinions = 0
    for each in ledgers:
        with suppress(UniversalAgentError):
            decided, judged, _ = read_content(each)
            decisions += decided
            opinions += judged
    more = f" and {quantity(opinions, 'model opinion')}" if opinions else ""
    return f"{quantity(decisions, 'decision')}{more} about claims"


def _adopt(path: Path) -> None:
    if path.is_dir():
        root = Root(path)
        write_queue(root, read_queue(root, foreign=True), Redactor())
        seal_session(root)
        for each in find_ledgers(path):
            adopt_ledger(each)
    elif path.name.endswith(LEDGER):
        adopt_ledger(path)
    else:
        adopt_knowledge(path)


STATES = {
    "harmless": "nothing to trust",
    "undecided": "not trusted yet",
    "changed": "not trusted: files have changed",
    "ignored": "ignored",
    "partly": "trusted, except for what decides where data goes",
    "trusted": "trusted",
}
"""The states of a folder in words."""
_ANSWERS: dict[str, Answer] = {"yes": "trusted", "partly": "partly", "ignore": "ignored"}
_HEADER = ("FOLDER", "ANSWER", "SINCE", "FILES")


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code: 0, or 1 if the folder cannot be trusted.

    Raises:
        WorkspaceError: the answer cannot be stored.
        WrongUsage: the words do not go together, or there is no such folder.
    """
    if args.json and args.action not in ("show", "list"):
        raise WrongUsage("--json can only be used with show and list")
    if args.action == "list":
        return _list(as_json=args.json)
    folder = Path(args.folder).expanduser() if args.folder else Path.cwd()
    if args.action == "adopt":
        return adopt(folder, yes=args.yes)
    places = replace(Places(), cwd=folder.resolve())
    if args.action == "revoke":
        found = revoke(places)
        name = clean_line(str(places.cwd), 1000)
        print_line(
            f"the answer about {name} is forgotten: the next session there asks again"
            if found
            else f"no answer about {name} was stored"
        )
        return 0
    # An answer about a folder that is gone can still be revoked.
    if not places.cwd.is_dir():
        raise WrongUsage(f"there is no folder {clean_line(str(places.cwd), 1000)}")
    question = read_folder(places)
    if args.action == "show":
        return _show(question, as_json=args.json)
    return _answer(question, _ANSWERS[args.action], places)


def _show(question: FolderQuestion, *, as_json: bool) -> int:
    if as_json:
        content = {
            "folder": str(question.folder),
            "state": question.state,
            "changes": question.changes,
            "problems": question.problems,
            "difference": question.difference,
        }
        print_json(content)
        return 0
    print_line(f"{clean_line(str(question.folder), 1000)}: {STATES[question.state]}")
    for line in describe_question(question):
        print_line(line)
    if question.state in ("undecided", "changed"):
        choices = [word for word, answer in _ANSWERS.items() if answer in question.answers]
        print_line(f"To answer: {', '.join(f'ua-tui trust {word}' for word in choices)}")
    return 0


def _answer(question: FolderQuestion, answer: Answer, places: Places) -> int:
    if question.state == "harmless":
        return complain(f"no file in {clean_line(str(question.folder), 1000)} needs to be trusted", 0)
    for line in describe_question(question):
        print_line(line)
    if answer not in question.answers:
        return complain(f"the folder cannot be trusted: {question.problems[0]}")
    question.store(answer, places.state)
    print_line(f"{clean_line(str(question.folder), 1000)}: {STATES[answer]}")
    return 0


def _list(*, as_json: bool) -> int:
    decisions = TrustStore().folders()
    fields = (asdict(each) | {"texts": None} for each in decisions)
    rows = (
        (
            clean_line(each.folder, 200),
            STATES[each.answer],
            clean_line(each.at, 40),
            clean_line(", ".join(each.texts), 60),
        )
        for each in decisions
    )
    print_list(fields, _HEADER, rows, as_json=as_json, empty="no folder is trusted")
    return 0
