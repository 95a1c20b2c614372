"""`ua-tui worker`: runs jobs of a team until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import (
    WrongUsage,
    optional_address,
    settings_of,
)
from ua_tui.tui.cli.output import print_line, quiet_libraries
from ua_tui.tui.terminal.apart import run_apart

PARALLEL = 2
_ALIVE_SECONDS = 5.0


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
            "name the team's database with --from, or with the setting team; `ua-tui batch FILE` needs no worker here"
        )
    if args.drain:
        from ua_tui.core.team.jobs.operations import Operations

        count = asyncio.run(Operations(address).drain(socket.gethostname()))
        workers = f"{quantity(count, 'worker')} of this machine: ending when their jobs are over"
        print_line(workers if count else "no worker of this machine is alive")
        return 0
    from ua_tui.tui.team.worker import run_worker

    async def work() -> int:
        async with touching(args.health_file):
            return await run_worker(
                settings,
                address,
                parallel=args.parallel or PARALLEL,
                grace=args.grace,
                health_file=args.health_file,
            )

    with quiet_libraries(settings.log_level):
        return run_apart(lambda: asyncio.run(work()))


@asynccontextmanager
async def touching(path: Path | None, every: float = _ALIVE_SECONDS) -> AsyncIterator[None]:
    """Touch a file as long as the event loop of the block runs, and remove it at the end.

    Raises:
        SettingsError: it cannot be written at first.
    """
    if path is None:
        yield
        return
    try:
        await asyncio.to_thread(path.touch)
    except OSError as error:
        raise SettingsError(
            f"--health-file: {clean_line(str(path), 200)} cannot be written ({error.strerror}): "
            "name a file in a folder that the worker may write to"
        ) from error

    async def keep_touching() -> None:
        while True:
            await asyncio.sleep(every)
            # A disk that is full for a while is no reason to end.
            with suppress(OSError):
                await asyncio.to_thread(path.touch)

    task = asyncio.create_task(keep_touching())
    try:
        yield
    finally:
        task.cancel()
        with suppress(OSError):
            await asyncio.to_thread(path.unlink)
