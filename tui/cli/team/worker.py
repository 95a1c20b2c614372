"""`ua-tui worker`: runs jobs of a team, or those of this machine, until it is stopped."""

from __future__ import annotations

import argparse

from ua_tui.tui.cli.arguments import add_sessions_folder, workspace_settings
from ua_tui.tui.cli.team.address import add_address, optional_address

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
        type=_parallel,
        help=f"how many jobs to run at a time on this machine (default: {PARALLEL})",
    )


def _parallel(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 64")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: an address or a setting is wrong.
        TeamError: the jobs cannot be reached, or their tables are of another version.
    """
    import asyncio

    from ua_tui.core.records.log import install_root_handler

    settings = workspace_settings(args)
    address = optional_address(args.address, settings)
    from ua_tui.tui.team.worker import run_worker

    # What libraries log would go to the terminal.
    handler = install_root_handler(settings.log_level)
    try:
        return asyncio.run(run_worker(settings, address, parallel=args.parallel or PARALLEL))
    finally:
        handler.uninstall()
