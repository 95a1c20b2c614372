from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.cases import cases_of
from tests.old_postgres import old_postgres
from tests.postgres_server import Cluster, Database
from ua_tui.core.doctor.checks import run_checks, run_team_checks
from ua_tui.core.doctor.findings import DoctorCheck, can_start
from ua_tui.core.doctor.team import TeamChecks, _is_local
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST, grant
from ua_tui.core.settings.model import Settings
from ua_tui.core.version import VERSION

CASES = cases_of(__file__)

NAMES = [
    "packages", "password", "connection", "server", "tables", "rights", "clock", "capacity", "workers",
]  # fmt: skip


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return {"HOME": str(tmp_path)}


@pytest.fixture(scope="module")
def unchanged(cluster: Cluster) -> Iterator[Database]:
    """A database with the tables of a team, which the tests only read."""
    database = cluster.make_team_database()
    yield database
    cluster.drop(database)


async def checked(url: str, environ: dict[str, str]) -> dict[str, DoctorCheck]:
    checks = await run_team_checks(Address.parse(url), Settings(), environ)
    assert [check.name for check in checks] == [f"team_{name}" for name in NAMES]
    return {check.name.removeprefix("team_"): check for check in checks}


def states(found: dict[str, DoctorCheck]) -> dict[str, str]:
    return {name: check.status for name, check in found.items()}


async def test_a_database_that_works(unchanged: Database, environ: dict[str, str]) -> None:
    found = await checked(unchanged.url, environ)
    assert can_start(list(found.values()))
    assert states(found) == dict.fromkeys(NAMES, "ok") | {"password": "skipped"}
    assert "psycopg 3" in found["packages"].found
    assert "owner, on this machine" in found["connection"].found
    assert found["tables"].found == f"version {LATEST}"
    assert "none alive; 0 jobs waiting" in found["workers"].found


async def test_jobs_without_a_worker_are_warned_of(team_database: Database, environ: dict[str, str]) -> None:
    team_database.execute("INSERT INTO batch (id) VALUES ('b')")
    team_database.execute("INSERT INTO job (id, batch, query) VALUES ('j', 'b', 'why?')")
    team_database.execute(worker(1, "90 minutes"))
    found = (await checked(team_database.url, environ))["workers"]
    assert (found.status, found.found) == ("warning", "none alive, last seen 1h 30m ago; 1 job waiting")
    assert "ua-tui worker" in found.advice
    team_database.execute(worker(2, "-5 minutes"))
    found = (await checked(team_database.url, environ))["workers"]
    assert (found.status, found.found) == ("ok", "1 alive, last seen 0 s ago; 1 job waiting")
    team_database.execute(worker(3, "-5 minutes", "9.9"))
    found = (await checked(team_database.url, environ))["workers"]
    assert (found.status, "version 9.9" in found.found) == ("warning", True)


def worker(number: int, silent: str, version: str = VERSION) -> str:
    return f"""
        INSERT INTO worker (id, name, version, parallel, seen_at)
            VALUES ({number}, 'w', '{version}', 1, now() - interval '{silent}')
    """


async def test_rights_of_a_role(cluster: Cluster, team_database: Database, environ: dict[str, str]) -> None:
    role = cluster.make_role(f"r{team_database.name}")
    url = cluster.url(team_database.name, role)
    found = await checked(url, environ)
    assert states(found)["rights"] == "failed"
    assert f"ua-tui team grant {role}" in found["rights"].advice
    assert (states(found)["tables"], states(found)["workers"]) == ("skipped", "skipped")
    assert not can_start(list(found.values()))

    grant(Address.parse(team_database.url), role)
    found = await checked(url, environ)
    assert "may submit jobs" in found["rights"].found
    assert states(found)["tables"] == "ok"
    team_database.execute(f'GRANT owner TO "{role}"')
    try:
        assert "and may run workers" in (await checked(url, environ))["rights"].found
    finally:
        team_database.execute(f'REVOKE owner FROM "{role}"')


async def test_a_database_without_tables(cluster: Cluster, environ: dict[str, str]) -> None:
    empty = cluster.make_database()
    try:
        found = await checked(empty.url, environ)
    finally:
        cluster.drop(empty)
    assert (states(found)["tables"], states(found)["rights"]) == ("failed", "skipped")
    assert "ua-tui team migrate" in found["tables"].advice


@pytest.mark.parametrize(("statement", "words"), CASES["tables_of_another_version"])
async def test_tables_of_another_version(
    team_database: Database, environ: dict[str, str], statement: str, words: str
) -> None:
    team_database.execute(statement)
    found = (await checked(team_database.url, environ))["tables"]
    assert found.status == "failed"
    assert words in f"{found.found}: {found.advice}"


async def test_an_old_server(environ: dict[str, str]) -> None:
    with old_postgres() as url:
        found = await checked(url, environ)
    assert states(found)["connection"] == "ok"
    assert (found["server"].status, found["server"].found) == (
        "failed",
        "PostgreSQL 9.6.24, which is too old",
    )
    assert "13 or later" in found["server"].advice
    assert states(found)["tables"] == "skipped"


async def test_a_wrong_password_a_missing_database_and_nobody(
    cluster: Cluster, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    role = cluster.make_role("wilma", "the right password")
    monkeypatch.setenv("PGPASSWORD", "the wrong password")
    found = await checked(cluster.tcp("postgres", role), {**environ, "PGPASSWORD": "the wrong password"})
    assert "the password is wrong" in found["connection"].found
    assert "PGPASSWORD is set" in found["password"].found
    assert set(states(found).values()) == {"ok", "failed", "skipped"}

    found = await checked(cluster.url("nothing"), environ)
    assert "there is no such database" in found["connection"].found
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = await checked(f"postgresql://127.0.0.1:{taken.getsockname()[1]}/desk", environ)
    assert "no server is listening" in found["connection"].found
    found = await checked("postgresql://nobody.invalid/desk", environ)
    assert "the host is unknown" in found["connection"].found


def test_what_is_local_needs_no_tls() -> None:
    local = [("/run/postgresql", ""), ("localhost", "127.0.0.1"), ("localhost", "::1")]
    assert [
        where for where in (*local, ("db.example", "192.0.2.7"), ("db.example", "")) if _is_local(*where)
    ] == local


async def test_the_password_file(tmp_path: Path, environ: dict[str, str]) -> None:
    for make, status, words in (
        (lambda path: None, "skipped", "there is no"),
        (lambda path: path.write_text("*:*:*:*:x"), "failed", "as others may read"),
        (lambda path: path.touch(0o640), "failed", "as its group may read"),
        (lambda path: path.touch(0o600), "ok", "is private"),
        (lambda path: path.mkdir(), "failed", "is not a regular file"),
    ):  # fmt: skip
        path = tmp_path / ".pgpass"
        path.unlink(missing_ok=True)
        before = os.umask(0o022)
        make(path)
        os.umask(before)
        found = (await checked("postgresql://127.0.0.1:1/desk", environ))["password"]
        assert found.status == status
        assert words in found.found
        if status == "failed":
            # libpq does not read it either: it would warn on standard error.
            assert found.advice


async def test_the_clocks_are_compared(unchanged: Database, environ: dict[str, str]) -> None:
    for ahead, words in CASES["the_clocks_are_compared"]:

        def clock(ahead: float = ahead) -> float:
            return time.time() + ahead

        async with TeamChecks(Address.parse(unchanged.url), environ, clock) as checks:
            found = await checks._clock(await checks._connected())
        assert found.status == ("ok" if words is None else "warning")
        if words is not None:
            assert words in found.found
            assert "leases follow the server's clock" in found.advice


async def test_a_read_only_server_with_few_connections_left_and_a_password_file_that_is_not_there(
    tmp_path: Path, unchanged: Database, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.doctor.team._FEW_CONNECTIONS", 10_000)
    options = f"&options=-c%20default_transaction_read_only%3Don&passfile={tmp_path}/none"
    found = await checked(unchanged.url + options, environ)
    assert (found["capacity"].status, "are free" in found["capacity"].found) == ("warning", True)
    assert (found["server"].status, "which is read-only" in found["server"].found) == ("failed", True)
    assert (found["password"].status, f"{tmp_path}/none" in found["password"].found) == ("failed", True)


async def test_missing_packages_are_named(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    found = await checked("postgresql://127.0.0.1:1/desk", environ)
    assert (found["packages"].status, ".[team]" in found["packages"].advice) == ("failed", True)
    assert states(found)["connection"] == "skipped"


async def test_hostile_role_is_inert(cluster: Cluster, unchanged: Database, environ: dict[str, str]) -> None:
    role = cluster.make_role(f"\x1b[2J{unchanged.name}", "x")
    url = cluster.url(unchanged.name, role.replace("\x1b", "%1B").replace("[", "%5B"))
    found = await checked(url, environ)
    assert not any("\x1b" in check.found + check.advice for check in found.values())


async def test_the_database_of_the_settings_is_checked(unchanged: Database, environ: dict[str, str]) -> None:
    asked = [f"team_{name}" for name in NAMES]
    settings = Settings(team=unchanged.url, cli_path=Path("/no/such/program"))
    checks = await run_checks(settings, environ)
    assert [check.name for check in checks if check.name in asked] == asked
