"""`ua-tui fleet`: all sessions of this machine and of a team, live on a screen or printed once; or one to follow."""

from __future__ import annotations

import argparse
import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.events.units import duration, money
from ua_tui.core.history.index import SessionIndex
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.fleet.database import find_session
from ua_tui.core.team.fleet.rows import WORDS, Fleet, FleetBatch, FleetRow, FleetWorker
from ua_tui.core.team.fleet.source import FleetSource
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.mailbox import PostgresMailbox
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.restore import SessionMirror
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import optional_address, settings_of
from ua_tui.tui.cli.output import (
    complain,
    has_screen,
    local_time,
    print_json,
    print_line,
    print_table,
    screen_problem,
)
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED

if TYPE_CHECKING:
    from ua_tui.tui.replay.followed_source import FollowedSource

_HEADER = ("STATE", "STARTED", "TIME", "COST", "WHERE", "OWNER", "BATCH", "TITLE OR FIRST QUERY", "NOW")
_OF_SESSIONS = (
    "id", "state", "title", "now", "cost_usd", "cost_is_estimated", "started", "finished", "where", "owner",
    "session", "job", "batch", "unknown_outcomes", "folder", "private", "demo",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Show the fleet; returns the exit code.

    Without a terminal, or with `--json`, it is printed once.

    Raises:
        SettingsError: the settings or the address are wrong.
        TeamError: the team's database cannot be used.
    """
    settings = settings_of(args)
    address = optional_address(args.address or None, settings)
    if args.follow:
        if problem := screen_problem():
            return complain(problem)
        followed = asyncio.run(make_source(args.follow, address, Path(args.folder) if args.folder else None))
        from ua_tui.tui.cli.full_screen import screen_of

        screen = screen_of(settings, followed)
        screen.run()
        return screen.return_code or 0

    source = FleetSource(SessionIndex(settings.workspace_base), address)
    if args.json or not has_screen():
        place = str(address or source.index.sessions)
        return _print(asyncio.run(source.read()), as_json=args.json, place=place)

    from ua_tui.tui.app.list_apps import ListApp
    from ua_tui.tui.screens.team.fleet import FleetScreen

    app = ListApp(settings, FleetScreen(source), "ua-tui fleet")
    app.run()
    return app.return_code or 0


def _print(fleet: Fleet, *, as_json: bool, place: str) -> int:
    if fleet.notice:
        complain(fleet.notice)
    now = time.time()
    if as_json:
        progress = fleet.progress(now)
        print_json(
            {
                "sessions": [_session(each) for each in fleet.rows],
                "batches": [_fields(each, total=each.total) for each in fleet.batches],
                "workers": [_fields(each, alive=each.state != "lost") for each in fleet.workers],
                "waiting": fleet.waiting,
                "oldest_waiting": _iso(progress.oldest),
                "per_minute": progress.per_minute,
                "seconds_left": progress.left_seconds,
                "cost_usd": progress.cost_usd,
            }
        )
    elif not fleet.rows:
        return complain(f"there are no sessions in {place}", 0)
    else:
        print_table([_HEADER, *(_row(each, now) for each in fleet.rows)])
        listed = sum(row.is_queued for row in fleet.rows)
        if fleet.waiting > listed:
            print_line(f"and {fleet.waiting - listed:,} more waiting jobs")
    return EXIT_FAILED if fleet.notice else 0


def _fields(record: FleetRow | FleetBatch | FleetWorker, **more: Any) -> dict[str, Any]:
    """What is known of a session, a batch or a worker, with times as text."""
    found = msgspec.structs.asdict(record)
    times = ("started", "finished", "submitted", "seen")
    return found | {name: _iso(found[name]) for name in times if name in found} | more


def _session(row: FleetRow) -> dict[str, Any]:
    state = "finished" if row.state == "done" else row.state
    known = _fields(row, state=state, now=row.activity, session=row.name, unknown_outcomes=row.unknown)
    return {name: known[name] for name in _OF_SESSIONS} | {"folder": row.folder or None}


def _row(row: FleetRow, now: float) -> tuple[str, ...]:
    seconds = row.seconds(now)
    return (
        WORDS[row.state],
        "-" if row.started is None else local_time(datetime.fromtimestamp(row.started, UTC)),
        "-" if seconds is None else duration(seconds),
        money(row.cost_usd, is_estimated=row.cost_is_estimated) or "-",
        row.where or "-",
        row.owner or "-",
        row.batch_name or "-",
        clean_line(row.title or row.name or "-", 100),
        clean_line(row.activity, 100),
    )


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


async def make_source(session: str, address: Address | None, folder: Path | None) -> FollowedSource:
    """Make the source of the screen that follows a session; questions can be answered if it works on a job.

    Without an address it is a session of a batch of this machine; `folder` is its folder, if that is on this machine.

    Raises:
        TeamError: the team's database cannot be used, or has no such session.
    """
    from ua_tui.tui.replay.followed_source import FollowedSource

    if address is None:
        if folder is None:
            raise TeamError("a session of this machine is followed in its folder: give --folder")
        return FollowedSource(folder, LocalMailbox(folder))

    row = await find_session(address, session)
    mailbox = PostgresMailbox(address, SessionId(id=session)) if row.takes_answers else None
    place = folder or SessionMirror(address, session)
    return FollowedSource(place, mailbox, where=row.where, owner=row.owner)
