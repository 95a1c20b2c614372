"""The fleet, kept up to date: all sessions of this machine and of a team, each once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

from msgspec.structs import replace

from ua_tui.core.history.index import SessionIndex
from ua_tui.core.postgres.address import Address
from ua_tui.core.tasks import end_tasks
from ua_tui.core.team.fleet.database import DatabaseSessions
from ua_tui.core.team.fleet.local import LocalSessions
from ua_tui.core.team.fleet.rows import Fleet, arrange

REFRESH_SECONDS = 1.0
"""How often the sessions of this machine are read."""
GATHER_SECONDS = 0.1
"""Changes within this time are shown together."""


class FleetSource:
    """Gives the fleet, and again after each change. Belongs to one event loop.

    Args:
        index: lists the sessions of this machine.
        address: the team's database; None without a team.
    """

    def __init__(self, index: SessionIndex, address: Address | None = None) -> None:
        self.index = index
        self.address = address
        self.local = LocalSessions(index)
        self._host = socket.gethostname()
        self._news = asyncio.Event()
        self.team = DatabaseSessions(address, self._news.set) if address is not None else None

    async def read(self) -> Fleet:
        """Read everything once.

        Raises:
            TeamError: the team's database cannot be used.
        """
        await asyncio.gather(
            asyncio.to_thread(self.local.refresh, first=True),
            *([self.team.read()] if self.team is not None else []),
        )
        return self.fleet()

    async def changes(self) -> AsyncIterator[Fleet]:
        """Give the fleet as soon as something is known, then after each change, until it is closed."""
        tasks = [asyncio.create_task(self._follow_local(), name="fleet:local")]
        if self.team is not None:
            tasks.append(asyncio.create_task(self.team.run(), name="fleet:team"))
        shown: Fleet | None = None
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                fleet = self.fleet()
                if fleet != shown:
                    shown = fleet
                    yield fleet
                await asyncio.sleep(GATHER_SECONDS)
                for task in tasks:
                    if task.done():
                        task.result()
        finally:
            await end_tasks(*tasks)

    def fleet(self) -> Fleet:
        """The fleet as it was read last."""
        local, team = self.local.fleet, Fleet() if self.team is None else self.team.fleet
        rows = {row.id: row for row in local.rows}
        here = {row.name: row for row in local.rows}
        for row in team.rows:
            mine = here.get(row.name) if row.host == self._host else None
            if mine is None:
                rows[row.id] = row
            else:
                # A copy of its folder may be another session there, with the same name.
                rows.pop(mine.id, None)
                # It runs on this machine: it is followed in its own folder.
                title = row.title or mine.title
                rows[row.id] = replace(row, folder=mine.folder, title=title, demo=mine.demo, where="")
        return Fleet(
            rows=arrange(rows.values()),
            batches=(*local.batches, *team.batches),
            workers=team.workers,
            is_reading=team.is_reading,
            notice="; ".join(filter(None, (local.notice, team.notice))),
        )

    async def _follow_local(self) -> None:
        await asyncio.to_thread(self.local.refresh, first=True)
        self._news.set()
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            if await asyncio.to_thread(self.local.refresh):
                self._news.set()
