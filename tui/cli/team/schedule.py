"""`ua-tui batch --every`: stores a schedule for the workers of a team, or prints timers for one machine."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from ua_tui.core.events.units import quantity
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.team.jobs.due_times import DueTimes
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.schedules import store_schedule
from ua_tui.core.team.records import Job, JobBatch
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage, options_beside
from ua_tui.tui.cli.output import print_line


async def make_schedule(store: PostgresJobs, batch: JobBatch, jobs: Sequence[Job], every: str) -> str:
    """Have the workers of a team run a batch whenever it is due; returns a line that says when that is first.

    Raises:
        SettingsError: the expression is wrong.
        TeamError: the database cannot be used.
    """
    zone = _zone()
    due = (await store_schedule(store, batch, jobs, every=every, zone=zone)).astimezone(ZoneInfo(zone))
    return (
        f"scheduled: {batch.name}, {quantity(len(jobs), 'query', 'queries')}, {every} {zone}, first "
        f"{due:%a %Y-%m-%d %H:%M}; `ua-tui team status` shows it, and "
        f"`ua-tui team cancel {shlex.quote(batch.name)}` removes it"
    )


def print_timer(args: argparse.Namespace, title: str) -> None:
    """Print a systemd timer with its service, and a line for cron, which run this batch again.

    Raises:
        SettingsError: the expression is wrong.
        WrongUsage: the command has line breaks or other control characters.
    """
    times = DueTimes(args.every, _zone())
    calendar = times.on_calendar()
    given = options_beside(args.given, {"--every": {}})
    program = shutil.which("ua-tui")
    words = [*([program] if program else [sys.executable, "-m", "ua_tui"]), "batch", *given]
    if not args.again:
        words.insert(-len(given), "--again")
    folder = str(Path.cwd())
    if not "".join([*words, folder]).isprintable():
        raise WrongUsage(
            "--every cannot be used here: neither systemd nor cron can run a command with control characters"
        )
    unit = f"ua-tui-{safe_name(title)}"
    if calendar is not None:
        print_line(_UNITS.format(
            unit=unit,
            title=clean_line(title, 100).replace("%", "%%"),
            folder=folder.replace("%", "%%"),
            command=" ".join(map(_for_systemd, words)),
            calendar=calendar,
        ))  # fmt: skip
    else:
        print_line("# systemd cannot combine days of the month with days of the week as cron does: use cron")
    print_line("# cron: add this line with `crontab -e`")
    command = f"cd {shlex.quote(folder)} && {shlex.join(words)}".replace("%", r"\%")
    print_line(f"{times.cron} {command}")


def _zone() -> str:
    """The name of the time zone of this machine."""
    from tzlocal import get_localzone_name

    return get_localzone_name() or "UTC"


def _for_systemd(word: str) -> str:
    """A word of a command line in a unit file."""
    word = word.replace("%", "%%").replace("$", "$$")
    if re.fullmatch(r"[\w@%+=:,./-]+", word):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


_UNITS = """\
# systemd: ~/.config/systemd/user/{unit}.service
[Unit]
Description=ua-tui batch {title}

[Service]
Type=oneshot
WorkingDirectory={folder}
ExecStart={command}

# systemd: ~/.config/systemd/user/{unit}.timer, then `systemctl --user enable --now {unit}.timer`
[Unit]
Description=ua-tui batch {title}

[Timer]
OnCalendar={calendar}
Persistent=true

[Install]
WantedBy=timers.target
"""
