"""Sessions of a team in its database, and a list of them that is kept up to date, for the tests of the fleet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.postgres_server import Database
from tests.waiting import until
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import PermissionAsked
from ua_tui.core.team.fleet.rows import Fleet, FleetRow
from ua_tui.core.team.fleet.source import FleetSource


def add_job(database: Database, id_: str, query: str = "Do it.", state: str = "waiting", **more: Any) -> None:
    """Add a job, in a batch that all of them share."""
    database.execute("INSERT INTO batch (id) VALUES ('b') ON CONFLICT DO NOTHING")
    _insert(database, "job", {"id": id_, "batch": "b", "query": query, "state": state} | more)


def add_session(database: Database, id_: str, *, job: bool = True, **more: Any) -> None:
    """Add a session, with the running job that it works on."""
    if job:
        add_job(database, f"j-{id_}", state="running", session=id_, attempt=1)
    values = {"id": id_, "name": f"session_{id_}", "state": "running", "host": "elsewhere", **more}
    _insert(database, "session", {**values, "job": f"j-{id_}" if job else None})


def ask(database: Database, session: str, request: str = "r1", command: str = "rm -r /tmp/x") -> None:
    """Ask a person whether a command may run, as a worker does, and announce it."""
    asked = PermissionAsked(request_id=request, tool_name="Bash", input={"command": command})
    database.execute(
        "INSERT INTO question (session, request, attempt, event) VALUES (%s, %s, 1, %s)",
        session, request, encode_event(asked).decode(),
    )  # fmt: skip
    database.execute("SELECT pg_notify('ua_tui', 'question ' || %s)", session)


def change(database: Database, session: str, *, announced: bool = True, **values: Any) -> None:
    """Change the row of a session as a replica does."""
    names = ", ".join(f"{name} = %s" for name in values)
    database.execute(f"UPDATE session SET {names}, seen_at = now() WHERE id = %s", *values.values(), session)
    if announced:
        database.execute("SELECT pg_notify('ua_tui', 'session ' || %s)", session)


class Watched:
    """The fleet as it was shown last."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.shown = 0

    def row(self, id_: str) -> FleetRow:
        """The row with this id, an empty one if it is not shown."""
        return next((row for row in self.fleet.rows if row.id == id_), FleetRow(id="", state="waiting"))

    @property
    def ids(self) -> list[str]:
        """The ids of all rows."""
        return [row.id for row in self.fleet.rows]

    def states(self) -> dict[str, str]:
        """The state of each row."""
        return {row.id.partition(":")[2]: row.state for row in self.fleet.rows}


@asynccontextmanager
async def watched(source: FleetSource) -> AsyncIterator[Watched]:
    """Keep the fleet up to date while a test runs."""
    seen = Watched()

    async def watch() -> None:
        async for fleet in source.changes():
            seen.fleet = fleet
            seen.shown += 1

    task = asyncio.create_task(watch())
    try:
        await until(lambda: seen.shown)
        yield seen
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _insert(database: Database, table: str, values: dict[str, Any]) -> None:
    names, places = ", ".join(values), ", ".join("%s" for _ in values)
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", *values.values())
