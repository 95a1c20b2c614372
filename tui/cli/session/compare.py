"""`ua-tui compare`: what two sessions have in common, and how they differ."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from ua_tui.core.errors import SettingsError, TeamError
from ua_tui.core.history.lookup import find_session
from ua_tui.core.knowledge.place import place_of
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.team.fleet.local import BATCHES
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import read_given_file, redactor_of, settings_of, team_address
from ua_tui.tui.cli.output import page_width, print_json, print_line
from ua_tui.tui.comparison.body import comparison_lines
from ua_tui.tui.comparison.sessions import Comparison, compare_sessions

_JOB = re.compile(r"(.+):(\d{1,9})", re.DOTALL)
_LARGEST = 1 << 30
_WIDTH, _WIDEST = 100, 160


class _Row(msgspec.Struct, frozen=True):
    number: int
    folder: str = ""
    job: str = ""


def run(args: argparse.Namespace) -> int:
    """Compare two sessions; returns the exit code: 0.

    Raises:
        SettingsError: there is no such session, or both are the same.
        JournalError: one of them cannot be read.
        TeamError: the database of the team cannot be used, or does not have one of them.
    """
    settings = settings_of(args)
    restored: dict[str, Path] = {}
    with TemporaryDirectory(prefix="ua-tui-") as elsewhere:
        a, b = (_folder(settings, wanted, Path(elsewhere), restored) for wanted in (args.a, args.b))
        print_comparison(a, b, settings, as_json=args.json)
    return 0


def print_comparison(
    a: Path, b: Path, settings: Settings, *, report: str = "", as_json: bool = False
) -> Comparison:
    """Compare two sessions, print the result and return it; `report` is the path of the report of A, if not the newest.

    Raises:
        UniversalAgentError: they cannot be compared.
    """
    compared, difference = compare_sessions(a, b, redactor_of(settings), place_of(settings), report=report)
    if as_json:
        print_json(compared)
        return compared
    for line in comparison_lines(compared, difference, page_width(_WIDEST) or _WIDTH):
        print_line(line)
    return compared


def _folder(settings: Settings, wanted: str, elsewhere: Path, restored: dict[str, Path]) -> Path:
    """The folder of a session; below `elsewhere` if it has to be made from what the team's database has.

    `restored` are the folders that were made, by their jobs: several rows may be of one job.
    """
    if (job := _JOB.fullmatch(wanted)) is not None:
        named = settings.workspace_base / WORKSPACES / BATCHES / f"{job[1]}.jsonl"
        for file in (job[1], str(named)):
            if os.path.isfile(file):
                row = _row(file, int(job[2]))
                if os.path.isdir(row.folder):
                    return find_session(settings.workspace_base, row.folder)
                missing = f"the session of row {row.number} of {clean_line(file, 300)} is not on this machine"
                if not (row.job and settings.team):
                    raise SettingsError(
                        f"{missing}; if a worker of a team ran it, set `team` to the address of the team's database"
                    )
                if row.job not in restored:
                    restored[row.job] = asyncio.run(_restored(settings, row.job, elsewhere, missing))
                return restored[row.job]
        if not os.path.isdir(wanted):
            raise SettingsError(
                f"there is no batch {clean_line(job[1], 300)!r}: no results file of that name is here, and "
                f"{clean_line(str(named.parent), 300)} has no batch of that name; to name a session, omit the colon"
            )
    return find_session(settings.workspace_base, wanted)


async def _restored(settings: Settings, job: str, base: Path, missing: str) -> Path:
    from ua_tui.core.team.fleet.database import find_session
    from ua_tui.core.team.restore import restored_workspace

    address = team_address(None, settings)
    try:
        session = await find_session(address, job=job)
    except TeamError as error:
        raise TeamError(f"{missing}, and could not be read from the team's database: {error}") from error
    workspace = await restored_workspace(address, session.session, base)
    await asyncio.to_thread(workspace.close)
    return workspace.path


def _row(file: str, number: int) -> _Row:
    """A row in the results of a batch."""
    for line in read_given_file(file, _LARGEST).splitlines():
        try:
            row = msgspec.json.decode(line, type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if row.number == number:
            return row
    shown = clean_line(file, 300)
    raise SettingsError(
        f"{shown} has no result for row {number}: give the results file of a batch and the number of a row in it"
    )
