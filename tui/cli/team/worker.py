"""`ua-tui worker`: runs jobs of a team, or those of this machine, until it is stopped."""

from __future__ import annotations

import argparse

from ua_tui.tui.cli.arguments import (
    add_address,
    add_sessions_folder,
    optional_address,
    whole_number,
    workspace_settings,
)
from ua_tui.tui.cli.output import quiet_libraries

EXAMPLES = """\
examples:
  ua-tui worker --from postgresql://desk@db.example/desk --parallel 4
  ua-tui worker                  the jobs that `ua-tui batch FILE --no-wait` left in this folder
"""
PARALLEL = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to the parser."""
    add_address(parser, "--from", "the team's database")
    add_parallel(parser)
    add_sessions_folder(parser)


def add_parallel(parser: argparse.ArgumentParser) -> None:
    """Add the number of jobs at a time."""
    parser.add_argument(
        "--parallel",
        metavar="N",
        type=whole_number(1, 64),
        help=f"how many jobs to run at a time on this machine (default: {PARALLEL})",
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: an address or a setting is wrong.
        TeamError: the jobs cannot be reached, or their tables are of another version.
    """
    import asyncio

    settings = workspace_settings(args)
    address = optional_address(args.address, settings)
    from ua_tui.tui.team.worker import run_worker

    with quiet_libraries(settings.log_level):
        return asyncio.run(run_worker(settings, address, parallel=args.parallel or PARALLEL))
