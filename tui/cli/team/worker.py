"""`ua-tui worker`: runs jobs of a team until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import socket

from ua_tui.core.events.units import quantity
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.tui.cli.arguments import WrongUsage, optional_address, settings_of
from ua_tui.tui.cli.output import print_line, quiet_libraries
from ua_tui.tui.team.worker import run_worker
from ua_tui.tui.terminal.apart import run_apart

PARALLEL = 2


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: an address or a setting is wrong, or the health file cannot be written.
        TeamError: the jobs cannot be reached, or their tables are of another version.
        WrongUsage: no database is named.
    """
    settings = settings_of(args)
    address = optional_address(args.address, settings)
    if address is None:
        raise WrongUsage(
            "name the team's database with --from or the `team` setting; `ua-tui batch FILE` needs no worker here"
        )
    if args.drain:
        count = asyncio.run(Operations(address).drain(socket.gethostname()))
        workers = f"{quantity(count, 'worker')} on this machine will end after their running jobs"
        print_line(workers if count else "no worker is running on this machine")
        return 0

    def work() -> int:
        parallel = args.parallel or PARALLEL
        return asyncio.run(
            run_worker(settings, address, parallel=parallel, grace=args.grace, health_file=args.health_file)
        )

    with quiet_libraries(settings.log_level):
        return run_apart(work)
