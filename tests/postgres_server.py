"""A real PostgreSQL server for the tests: a temporary cluster that an ordinary user runs, shared by all test processes.

Its socket lets every role in without a password; over TCP on loopback a password is needed, which is the role's name.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

MISSING = "PostgreSQL is not installed here (Debian: apt-get install postgresql): nothing of a team is tested"
_SETTINGS = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "shared_buffers=64MB",
    "autovacuum_naptime=10s", "log_min_messages=warning", "timezone=UTC", "lc_messages=C", "jit=off",
)  # fmt: skip
_HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
_WITHIN = 120.0
_NOTE_CHANGES = """
CREATE TABLE public.changed_objects (tag text);
CREATE FUNCTION public.note_changed_object() RETURNS event_trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog AS $$
    BEGIN
        -- Rights are given to roles, which go with the test that made them.
        IF tg_tag NOT IN ('GRANT', 'REVOKE', 'DROP OWNED') THEN
            INSERT INTO public.changed_objects VALUES (tg_tag);
        END IF;
    END $$;
CREATE EVENT TRIGGER note_changed_object ON ddl_command_end EXECUTE FUNCTION public.note_changed_object();
"""
"""Notes that a test changed tables or functions: what only changes rows is undone faster than a database is made."""
_DISCONNECT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_ROLES = "SELECT rolname FROM pg_roles WHERE strpos(rolname, %s) > 0"
_VERSIONS = "SELECT array_agg(m::text) FROM migration m"
_EMPTY = """
SET session_replication_role = replica;
DO $$
DECLARE each record;
BEGIN
    FOR each IN
        SELECT oid::regclass AS name, pg_relation_size(oid) AS size FROM pg_class
        WHERE relnamespace = 'ua_tui'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
            AND relname NOT IN ('migration', 'claiming')
    LOOP
        IF each.size > 1000000 THEN
            EXECUTE format('TRUNCATE %s CASCADE', each.name);
        ELSE
            EXECUTE format('DELETE FROM %s', each.name);
        END IF;
    END LOOP;
    UPDATE claiming SET not_before = now();
    PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL;
END $$
"""


def binaries() -> Path | None:
    """The folder with the programs of the newest PostgreSQL server; None if there is none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[-3].split(".")[0])
    )
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(os.path.realpath(initdb)).parent if initdb else None


@dataclass(frozen=True, kw_only=True)
class Database:
    """One database of the cluster: `url` goes over the socket, `tcp` over loopback and needs a password."""

    name: str
    url: str
    tcp: str

    def execute(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement as the owner; returns its rows."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True, options="-c search_path=ua_tui,public") as db:
            cursor = db.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []


class Cluster:
    """A running server; `port` is its port on loopback, `folder` has its data and its socket.

    `settings` are more of the server's, as `name=value`.
    """

    def __init__(self, folder: Path, port: int, settings: Sequence[str] = ()) -> None:
        self.folder = folder
        self.port = port
        self.settings = settings

    @classmethod
    def create(cls, folder: Path, settings: Sequence[str] = ()) -> Cluster:
        """Make a cluster in a new folder, and start it."""
        folder.mkdir(parents=True)
        cluster = cls(folder, _free_port(), settings)
        if os.geteuid() == 0:
            shutil.chown(folder, *_ordinary_user())
            _open_parents(folder)
        cluster._run(
            "initdb", "--pgdata", str(folder / "data"), "--username", "owner", "--auth", "trust", "--no-sync",
            "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-instructions",
        )  # fmt: skip
        (folder / "data" / "pg_hba.conf").write_text(_HBA)
        cluster.start()
        cluster._set_password()
        return cluster

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = " ".join(f"-c {each}" for each in (*_SETTINGS, *self.settings))
        options += (
            f" -c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        )
        self._run(
            "pg_ctl", "start", "--wait", "--pgdata", str(self.folder / "data"), "--options", options,
            "--log", str(self.folder / "log"), "--timeout", str(int(_WITHIN)),
        )  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is what a crash does to its clients."""
        self._run(
            "pg_ctl", "stop", "--wait", "--pgdata", str(self.folder / "data"), "--mode", mode,
            "--timeout", str(int(_WITHIN)),
        )  # fmt: skip

    def remove(self) -> None:
        """Stop the server, and remove its folder, which `short_folder` made."""
        self.stop()
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def restart(self) -> None:
        """Restart the server, which ends all connections."""
        self.stop("fast")
        self.start()

    def crash(self) -> None:
        """Kill every process of the server, and start it again: it recovers from its log."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for pid in (main, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # Where nobody waits for a dead process, it looks alive to the next server.
        for lock in (self.folder / "data" / "postmaster.pid", self.folder / f".s.PGSQL.{self.port}.lock"):
            lock.unlink(missing_ok=True)
        self.start()

    def make_database(
        self, template: str = "template1", name: str | None = None, options: str = ""
    ) -> Database:
        """Make a database, a copy of `template`; `options` are more words of `CREATE DATABASE`."""
        import psycopg

        name = name or f"t{uuid4().hex[:12]}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" {options}'.encode())
        return Database(name=name, url=self.url(name), tcp=self.tcp(name))

    def make_team_database(self) -> Database:
        """Make a database with the tables of ua-tui."""
        self._make_template()
        return self.make_database("team_template")

    def drop(self, database: Database) -> None:
        """Remove a database, and end its connections."""
        import psycopg

        with suppress(psycopg.Error), psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f'DROP DATABASE "{database.name}" WITH (FORCE)'.encode())

    def make_role(self, name: str, password: str = "") -> str:
        """Make a role that may log in; returns its name."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE ROLE \"{name}\" LOGIN PASSWORD '{password or name}'".encode())
        return name

    def url(self, database: str, user: str = "owner") -> str:
        """The address of a database over the socket."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def tcp(self, database: str, user: str = "owner") -> str:
        """The address of a database over loopback."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def _set_password(self) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(b"ALTER ROLE owner PASSWORD 'owner'")

    def _make_template(self) -> None:
        from ua_tui.core.postgres.address import Address
        from ua_tui.core.postgres.schema import migrate

        with _locked(self.folder.parent / "template.lock"):
            import psycopg

            with psycopg.connect(self.url("postgres"), autocommit=True) as db:
                found = db.execute("SELECT 1 FROM pg_database WHERE datname = 'team_template'").fetchone()
            if found is None:
                database = self.make_database(name="team_making")
                migrate(Address.parse(database.url))
                with psycopg.connect(self.url("postgres"), autocommit=True) as db:
                    db.execute(b"ALTER DATABASE team_making RENAME TO team_template")

    def _run(self, program: str, *arguments: str) -> None:
        folder = binaries()
        assert folder is not None, MISSING
        user, group = _ordinary_user() if os.geteuid() == 0 else (None, None)
        done = subprocess.run(
            [str(folder / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT if program == "initdb" else subprocess.DEVNULL,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            cwd="/",
            check=False,
        )
        log = self.folder / "log"
        said = (done.stdout or b"").decode() + (log.read_text()[-2000:] if log.exists() else "")
        assert done.returncode == 0, f"{program} failed: {said}"


class ReusedDatabase:
    """A database with the tables of ua-tui, which the tests of a process use one after the other.

    Between two tests its connections are ended, its rows and the roles with its name in theirs are removed, and its
    sequences are reset. After a test that changed tables, functions or the noted versions the next one gets another
    database.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._database: Database | None = None
        self._versions: list[tuple[Any, ...]] = []

    def empty(self) -> Database:
        """The database without rows."""
        if self._database is None or not self._is_emptied(self._database):
            self.drop()
            self._database = self._cluster.make_team_database()
            self._database.execute(_NOTE_CHANGES)
            self._versions = self._database.execute(_VERSIONS)
        return self._database

    def drop(self) -> None:
        """Remove the database, if there is one."""
        if self._database is not None:
            self._cluster.drop(self._database)
            self._database = None

    def _is_emptied(self, database: Database) -> bool:
        import psycopg

        try:
            with psycopg.connect(database.url, autocommit=True, options="-c search_path=ua_tui,public") as db:
                while db.execute(_DISCONNECT).fetchall():
                    # A process of the server ends in its own time.
                    time.sleep(0.01)
                if db.execute("SELECT FROM changed_objects LIMIT 1").fetchall():
                    return False
                if db.execute(_VERSIONS.encode()).fetchall() != self._versions:
                    return False
                for (name,) in db.execute(_ROLES, (database.name,)).fetchall():
                    quoted = name.replace('"', '""')
                    db.execute(f'DROP OWNED BY "{quoted}" CASCADE; DROP ROLE "{quoted}"'.encode())
                db.execute(_EMPTY.encode())
                # Migrating takes this right away.
                db.execute(f'GRANT CONNECT ON DATABASE "{database.name}" TO PUBLIC'.encode())
        except psycopg.Error:
            return False
        return True


@contextmanager
def shared_cluster(folder: Path) -> Iterator[Cluster]:
    """The cluster of a test run below `folder`: the first test process starts it, the last one stops it."""
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "cluster.json"
    with _locked(folder / "lock"):
        known: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {"users": 0}
        running = Cluster(Path(known["folder"]), known["port"]) if known["users"] else None
        cluster = running or Cluster.create(short_folder())
        known = {"users": known["users"] + 1, "folder": str(cluster.folder), "port": cluster.port}
        state.write_text(json.dumps(known))
    try:
        yield cluster
    finally:
        with _locked(folder / "lock"):
            known = json.loads(state.read_text())
            known["users"] -= 1
            if not known["users"]:
                cluster.remove()
            state.write_text(json.dumps(known))


def _free_port() -> int:
    """A port that nobody gets by chance, also while the server is stopped for a moment.

    Those that the system gives to servers and to outgoing connections are above.
    """
    try:
        above = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except OSError:
        above = 32768
    while True:
        port = 10_000 + secrets.randbelow(max(above, 20_000) - 10_000)
        with suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port


def short_folder() -> Path:
    """A new folder whose path leaves room for the name of a socket."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="ua-pg-")) / "c"


def _ordinary_user() -> tuple[str, str]:
    """The user and the group that run the server where the tests run as root, as whom it does not start."""
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            found = pwd.getpwnam(name)
            import grp

            return name, grp.getgrgid(found.pw_gid).gr_name
    raise AssertionError("there is no ordinary user to run PostgreSQL")


def _open_parents(folder: Path) -> None:
    parent = folder.parent
    parent.chmod(parent.stat().st_mode | 0o711)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
