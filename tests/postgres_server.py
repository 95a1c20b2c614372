"""A real PostgreSQL server for the tests: a temporary cluster that an ordinary user runs, shared by all test processes.

Its socket lets every role in without a password; over TCP on loopback a password is needed, which is the role's name.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

__all__ = ["MISSING", "Cluster", "Database", "binaries", "shared_cluster", "short_folder"]

MISSING = "PostgreSQL is not installed here (Debian: apt-get install postgresql): nothing of a team is tested"
_SETTINGS = (
    "fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "shared_buffers=64MB",
    "autovacuum_naptime=10s", "log_min_messages=warning", "timezone=UTC", "lc_messages=C", "jit=off",
)  # fmt: skip
_HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
_WITHIN = 30.0


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
    """A running server; `port` is its port on loopback, `folder` has its data and its socket."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    @classmethod
    def create(cls, folder: Path) -> Cluster:
        """Make a cluster in a new folder, and start it."""
        folder.mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        cluster = cls(folder, port)
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
        options = " ".join(f"-c {each}" for each in _SETTINGS)
        options += (
            f" -c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        )
        self._run(
            "pg_ctl", "start", "--wait", "--pgdata", str(self.folder / "data"), "--options", options,
            "--log", str(self.folder / "log"), "--timeout", str(int(_WITHIN)),
        )  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is what a crash does to its clients."""
        self._run("pg_ctl", "stop", "--wait", "--pgdata", str(self.folder / "data"), "--mode", mode)

    def remove(self) -> None:
        """Stop the server, and remove its folder, which `short_folder` made."""
        self.stop()
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def restart(self) -> None:
        """Restart the server, which ends all connections."""
        self.stop("fast")
        self.start()

    def make_database(self, template: str = "template1", name: str | None = None) -> Database:
        """Make a database, a copy of `template`."""
        import psycopg

        name = name or f"t{uuid4().hex[:12]}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
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
        from core.postgres.address import Address
        from core.postgres.schema import migrate

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


if __name__ == "__main__":
    # By hand: a cluster until Enter is pressed.
    started = time.monotonic()
    made = Cluster.create(short_folder())
    sys.stdout.write(f"{made.make_team_database().url}\n{time.monotonic() - started:.1f} s; Enter ends it\n")
    sys.stdout.flush()
    sys.stdin.readline()
    made.remove()
