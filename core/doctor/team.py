"""Checks the database of a team: the packages, the address, TLS, the server, its tables, rights, clock and workers."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module, metadata
from pathlib import Path
from typing import Self

import msgspec

from ua_tui.core.doctor.findings import Finding, PlannedCheck, failed, ok, skipped, warning
from ua_tui.core.errors import TeamError, missing_extra
from ua_tui.core.events.units import duration, quantity
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import OLDEST, Connection, connect_async, rows_of, shown_version
from ua_tui.core.postgres.problems import needing_extra, reporting
from ua_tui.core.postgres.schema import LATEST, OLDEST_VERSION
from ua_tui.core.postgres.state import read_rights, read_version, read_work
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.tasks import end_tasks
from ua_tui.core.text import clean_line
from ua_tui.core.version import VERSION

_PACKAGES = {
    "psycopg": "psycopg",
    "psycopg-pool": "psycopg_pool",
}
_CHECKED_MODES = ("verify-ca", "verify-full")
_FEW_CONNECTIONS = 10
"""What one worker with a few sessions and some screens need."""
_MIGRATE = "run `ua-tui team migrate` as the owner of the database"
_REMOVE = (
    "use another database, or run DROP SCHEMA ua_tui CASCADE as the owner, which removes everything in them"
)
_NO_CONNECTION = "not checked without a connection"


class TeamChecks(msgspec.Struct, eq=False):
    """The checks of a team's database, over one connection; use it as an async context manager.

    Args:
        address: where it is.
        environ: the variables that libpq reads.
        now: the clock of this machine, in seconds since the epoch.
    """

    address: Address
    environ: Mapping[str, str] = os.environ
    now: Callable[[], float] = time.time
    _connecting: asyncio.Task[Connection] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._connecting is not None:
            await end_tasks(self._connecting)
            # Why there is no connection, a check has said.
            if not self._connecting.cancelled() and self._connecting.exception() is None:
                await self._connecting.result().close()

    def planned(self, within: float) -> list[PlannedCheck]:
        """The checks, each with so many seconds; those that work in a team needs are required."""
        over_connection = (
            ("server", "server", self._server, True),
            ("tables", "tables", self._tables, True),
            ("rights", "rights", self._rights, True),
            ("clock", "clock", self._clock, False),
            ("capacity", "connections", self._capacity, False),
            ("workers", "workers", self._workers, False),
        )
        return [
            PlannedCheck("team_packages", "Team packages", self._packages(), within, required=True),
            PlannedCheck("team_password", "Team password", self._password_file(), within),
            PlannedCheck("team_connection", "Team database", self._connection(), within, required=True),
            *(
                PlannedCheck(f"team_{name}", f"Team {title}", self._over(check), within, required=required)
                for name, title, check, required in over_connection
            ),
        ]

    async def _over(self, check: Callable[[Connection], Awaitable[Finding]]) -> Finding:
        """A check over the connection; only that of the server is done with one to a server that is too old."""
        try:
            db = await self._connected()
        except TeamError:
            return skipped(_NO_CONNECTION)
        if db.info.server_version < OLDEST and check != self._server:
            return skipped(_NO_CONNECTION)
        with reporting(self.address):
            return await check(db)

    async def _packages(self) -> Finding:
        """Whether the packages of the extra can be imported."""
        found = []
        for name, module in _PACKAGES.items():
            try:
                await asyncio.to_thread(import_module, module)
                found.append(f"{name} {metadata.version(name)}")
            except (ImportError, metadata.PackageNotFoundError) as error:
                remedy = missing_extra("team", "").remedy
                return failed(f"{name} cannot be imported: {error}", remedy)
        return ok(", ".join(found))

    async def _password_file(self) -> Finding:
        """Whether libpq would read the file with passwords."""
        given = self.address.options.get("passfile") or self.environ.get("PGPASSFILE")
        home = self.environ.get("HOME") or str(Path.home())
        path = Path(given or Path(home, ".pgpass"))
        if self.environ.get("PGPASSWORD"):
            return ok("PGPASSWORD is set, which overrides a password file")
        try:
            descriptor = await asyncio.to_thread(open_regular, path, follow=True)
        except OSError as error:
            if given or not isinstance(error, FileNotFoundError | NotADirectoryError):
                advice = "make it a file that only you can read, or change PGPASSFILE or passfile="
                return failed(f"{path} cannot be read: {error.strerror}", advice)
            return skipped(f"there is no {path}, and PGPASSWORD is not set")
        mode = os.fstat(descriptor).st_mode
        os.close(descriptor)
        if mode & 0o077:
            who = "others" if mode & 0o007 else "its group"
            return failed(f"{path} is ignored, as {who} may read or write it", f"run chmod 600 {path}")
        return ok(f"{path} is private")

    async def _connection(self) -> Finding:
        """Connect, and see whether the connection is encrypted."""
        try:
            db = await self._connected()
        except TeamError as error:
            if isinstance(error.__cause__, ImportError):
                return skipped("not checked without the packages")
            raise
        found = f"{self.address}, as {db.info.user}"
        if _is_local(db.info.host, db.info.hostaddr):
            return ok(f"{found}, on this machine")
        if not db.pgconn.ssl_in_use:
            return warning(
                f"{found}, without TLS",
                "turn it on in the server, and add sslmode=verify-full to the address",
            )
        mode = self.address.options.get("sslmode") or self.environ.get("PGSSLMODE") or "prefer"
        if mode not in _CHECKED_MODES:
            return warning(
                f"{found}, with TLS, but the server's certificate is not checked",
                "add sslmode=verify-full and sslrootcert= to the address",
            )
        return ok(f"{found}, with TLS")

    async def _server(self, db: Connection) -> Finding:
        """Whether the server is new enough, and accepts changes."""
        found = f"PostgreSQL {shown_version(db.info)}"
        if db.info.server_version < OLDEST:
            return failed(f"{found}, which is too old", f"use {OLDEST // 10000} or later")
        ((read_only,),) = await rows_of(db, "SELECT current_setting('transaction_read_only')")
        if read_only == "on":
            return failed(
                f"{found}, which is read-only",
                "name the primary server, or add target_session_attrs=read-write",
            )
        return ok(found)

    async def _tables(self, db: Connection) -> Finding:
        """Whether the tables have the version of this program."""
        version = await read_version(db)
        if version is None:
            if await read_rights(db) == "none" and await self._has_schema(db):
                return skipped("not readable without access rights")
            return failed("there are no ua-tui tables", _MIGRATE)
        found = f"version {version}"
        if version < LATEST:
            advice = _MIGRATE if version >= OLDEST_VERSION else _REMOVE
            return failed(f"{found}, and this program needs {LATEST}", advice)
        if version > LATEST:
            return failed(f"{found}, and this program knows {LATEST}", "update ua-tui on this machine")
        return ok(found)

    async def _rights(self, db: Connection) -> Finding:
        """What the role of the connection may do."""
        rights = await read_rights(db)
        if rights == "none" and not await self._has_schema(db):
            return skipped("there are no tables yet")
        user = clean_line(db.info.user, 60)
        match rights:
            case "owner":
                return ok(f"{user} owns the tables, and may run workers, migrate and grant access")
            case "worker":
                return ok(f"{user} is a member of the owner's role, and may run workers")
            case "member":
                return ok(
                    f"{user} may submit jobs, see what is shared, and answer questions, but may not run workers"
                )
            case "none":
                return failed(
                    f"{user} may not use the tables", f"have their owner run `ua-tui team grant {user}`"
                )

    async def _clock(self, db: Connection) -> Finding:
        """How much the clock of this machine differs from the server's."""
        before = self.now()
        ((there,),) = await rows_of(db, "SELECT extract(epoch FROM clock_timestamp())::float8")
        after = self.now()
        late = there - (before + after) / 2
        if abs(late) <= 5 + (after - before) / 2:
            return ok(f"this machine and the server differ by {abs(late):.1f} s")
        return warning(
            f"the clock of this machine is {duration(abs(late))} {'behind' if late > 0 else 'ahead of'} the server's",
            "set it, for example with NTP. Work continues, as leases follow the server's clock, but times shown "
            "here are wrong",
        )

    async def _capacity(self, db: Connection) -> Finding:
        """How many connections are left."""
        ((most, used),) = await rows_of(
            db,
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,"
            " (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database)",
        )
        free = max(most - used, 0)
        found = f"{free} of {most} are free"
        if free < _FEW_CONNECTIONS:
            return warning(found, "raise max_connections of the server, or run fewer workers")
        return ok(found)

    async def _workers(self, db: Connection) -> Finding:
        """Whether anybody works."""
        if await read_rights(db) == "none" or await read_version(db) is None:
            return skipped("not readable without tables and access rights")
        work = await read_work(db)
        waiting = work.jobs.get("waiting", 0)
        jobs = f"{quantity(waiting, 'job')} waiting"
        others = {each["version"] for each in work.workers[: work.alive]} - {VERSION}
        if others:
            names = clean_line(", ".join(sorted(others)), 60)
            return warning(
                f"{work.alive} alive, some with version {names} of ua-tui instead of {VERSION}; {jobs}",
                "update all machines of the team to the same version",
            )
        if work.alive:
            return ok(f"{work.alive} alive, last seen {work.workers[0]['silent_seconds']:.0f} s ago; {jobs}")
        last = f", last seen {duration(work.workers[0]['silent_seconds'])} ago" if work.workers else ""
        if waiting:
            return warning(f"none alive{last}; {jobs}", "start one with `ua-tui worker`")
        return ok(f"none alive{last}; {jobs}")

    async def _connected(self) -> Connection:
        """The connection, made by the first check that needs it.

        Raises:
            TeamError: there is none.
        """
        with needing_extra():
            await asyncio.to_thread(import_module, "psycopg")
        if self._connecting is None:
            self._connecting = asyncio.create_task(connect_async(self.address, any_version=True))
        return await asyncio.shield(self._connecting)

    async def _has_schema(self, db: Connection) -> bool:
        return bool(await rows_of(db, "SELECT 1 FROM pg_namespace WHERE nspname = 'ua_tui'"))


def _is_local(host: str, address: str) -> bool:
    if host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
