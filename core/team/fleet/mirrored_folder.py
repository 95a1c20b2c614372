"""A copy of a session of the team on this machine, kept up to date while somebody looks at it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import TeamError

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.team.restore import SessionMirror


class MirroredFolder:
    """Mirrors a session from the team's database. Belongs to one event loop.

    Args:
        address: the database.
        session: the id of the session there.
        artifacts: where large files are, as in the setting `team_artifacts`.
    """

    def __init__(self, address: Address, session: str, artifacts: Path | str | None = None) -> None:
        self._artifacts = artifacts
        self._address = address
        self._session = session
        self._mirror: SessionMirror | None = None
        self._ending: asyncio.Task[None] | None = None
        self._is_over = False

    async def start(self) -> Path:
        """Copy what there is, and begin to follow it; returns the folder.

        Raises:
            TeamError: the database cannot be used, or has no such session.
        """
        from ua_tui.core.team.restore import SessionMirror

        await self.close()
        self._mirror = SessionMirror(self._address, self._session, artifacts=self._artifacts)
        folder = await self._mirror.start()
        self._ending = asyncio.create_task(self._wait(self._mirror), name="fleet:mirror")
        return folder

    def runs(self, folder: Path) -> bool:
        """Whether the session still runs, so that the folder may change."""
        return not self._is_over

    async def close(self) -> None:
        """End to keep it up to date."""
        if self._ending is not None:
            self._ending.cancel()
            await asyncio.gather(self._ending, return_exceptions=True)
            self._ending = None
        if self._mirror is not None:
            mirror, self._mirror = self._mirror, None
            await mirror.close()

    async def _wait(self, mirror: SessionMirror) -> None:
        with suppress(TeamError):
            await mirror.ends
        self._is_over = True
