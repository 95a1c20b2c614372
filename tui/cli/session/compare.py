"""`ua-tui compare`: what two sessions have in common, and what not."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.text import clean_line, escape_unsafe
from ua_tui.tui.cli.arguments import add_sessions_folder, read_given_file, redactor_of, workspace_settings
from ua_tui.tui.cli.output import page_width, print_line

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.comparison.sessions import Comparison

_JOB = re.compile(r"(.+):(\d{1,9})", re.DOTALL)
_LARGEST = 1 << 30
_WIDTH, _WIDEST = 100, 160
EXAMPLES = """\
A and B are each a session's folder, its name, latest, or a job of a batch: the name of the batch, or its results as
JSON lines, a colon and the number of the row. Lines with - are of A alone, those with + of B alone. Nothing is
written, and no model is asked.

examples:
  ua-tui compare session_20261121_074110 latest
  ua-tui compare queries:1 queries:2
  ua-tui compare session_20261121_074110 latest --json | jq -r '.claims.changed[][].quote.exact'
"""


class _Row(msgspec.Struct, frozen=True):
    number: int
    folder: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `ua-tui compare`."""
    parser.add_argument("a", metavar="A", help="a session")
    parser.add_argument("b", metavar="B", help="the session to compare it with")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    add_sessions_folder(parser)


def run(args: argparse.Namespace) -> int:
    """Compare two sessions; returns the exit code: 0.

    Raises:
        SettingsError: there is no such session, or both are the same.
        JournalError: one of them cannot be read.
    """
    settings = workspace_settings(args)
    a, b = (_folder(settings, wanted) for wanted in (args.a, args.b))
    print_comparison(a, b, settings, as_json=args.json)
    return 0


def print_comparison(
    a: Path, b: Path, settings: Settings, *, report: str = "", as_json: bool = False
) -> Comparison:
    """Compare two sessions, print the result and return it; `report` is the path of the report of A, if not the newest.

    Raises:
        UniversalAgentError: they cannot be compared.
    """
    from ua_tui.core.knowledge.place import place_of
    from ua_tui.tui.comparison.body import comparison_lines
    from ua_tui.tui.comparison.sessions import compare_sessions

    compared, difference = compare_sessions(a, b, redactor_of(settings), place_of(settings), report=report)
    if as_json:
        print_line(escape_unsafe(msgspec.json.format(msgspec.json.encode(compared), indent=2).decode()))
        return compared
    for line in comparison_lines(compared, difference, page_width(_WIDEST) or _WIDTH):
        print_line(line)
    return compared


def _folder(settings: Settings, wanted: str) -> Path:
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.storage.folders import WORKSPACES
    from ua_tui.core.team.fleet.running_batch import BATCHES

    if (job := _JOB.fullmatch(wanted)) is not None:
        named = settings.workspace_base / WORKSPACES / BATCHES / f"{job[1]}.jsonl"
        for file in (job[1], str(named)):
            if os.path.isfile(file):
                return find_session(settings.workspace_base, _folder_of_job(file, int(job[2])))
    return find_session(settings.workspace_base, wanted)


def _folder_of_job(file: str, number: int) -> str:
    """The folder of the session of a row in the results of a batch."""
    shown = clean_line(file, 300)
    for line in read_given_file(file, _LARGEST).splitlines():
        try:
            row = msgspec.json.decode(line, type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if row.number == number:
            if not row.folder:
                raise SettingsError(
                    f"row {number} of {shown} has no session on this machine: it did not run here"
                )
            return row.folder
    raise SettingsError(f"{shown} has no result of a row {number}: name a number that is in it")
