from __future__ import annotations

import json
import os
from pathlib import Path

import psycopg
import pytest

from tests.postgres_server import Cluster, Database
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.errors import SettingsError
from ua_tui.core.postgres import schema
from ua_tui.core.postgres.schema import LATEST, migrations
from ua_tui.core.settings.model import Settings
from ua_tui.tui.cli import main
from ua_tui.tui.cli.arguments import team_address

SECRET = "Tr0ub4dor-and-3"
ROWS = """
INSERT INTO batch (id) VALUES ('b');
INSERT INTO job (id, batch, query, state) VALUES ('1', 'b', 'q', 'waiting'), ('2', 'b', 'q', 'done');
INSERT INTO worker (id, name, version, parallel, seen_at) VALUES
    (1, 'old\x1b[2J', '0.1', 1, now() - interval '2 hours'),
    (2, 'desk-1', '0.2', 4, now() + interval '5 minutes')
"""


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: Patch) -> None:
    for name in [name for name in os.environ if name.startswith(("PG", "UA_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_it_makes_the_tables_once(cluster: Cluster, capsys: Output) -> None:
    empty = cluster.make_database()
    try:
        assert main(["team", "migrate", "--to", empty.url]) == 0
        assert main(["team", "migrate", "--to", empty.url]) == 0
    finally:
        cluster.drop(empty)
    lines = capsys.readouterr().out.splitlines()
    made = [line.removeprefix("applied: ") for line in lines if line.startswith("applied: ")]
    assert made == [f"tables of version {version}" for version, _ in migrations()]
    assert [line for line in lines if "now has" in line or "already has" in line] == [
        f"{empty.name} on {cluster.folder} now has tables of version {LATEST}",
        f"{empty.name} on {cluster.folder} already has tables of version {LATEST}",
    ]


def test_without_rights_it_says_who_has_them(
    cluster: Cluster, team_database: Database, capsys: Output
) -> None:
    role = cluster.make_role(f"m{team_database.name}")
    url = cluster.url(team_database.name, role)
    assert main(["team", "migrate", "--to", url]) == 1
    assert main(["team", "grant", role, "--to", url]) == 1
    assert main(["team", "status", "--to", url]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert "as the owner of the database" in errors[0]
    assert "lacks the necessary rights" in errors[1] or "only the owner of the tables" in errors[1]
    assert len(errors) == 3


def test_a_role_takes_part_also_in_new_tables_until_revoked(
    cluster: Cluster, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    role = cluster.make_role(f"g{team_database.name}")
    url = cluster.url(team_database.name, role)
    assert main(["team", "grant", role, "--to", team_database.url]) == 0
    later = [*schema.migrations(), (LATEST + 1, "CREATE TABLE later (a integer)")]
    with monkeypatch.context() as newer:
        newer.setattr(schema, "migrations", lambda: later)
        newer.setattr(schema, "LATEST", LATEST + 1)
        assert main(["team", "migrate", "--to", team_database.url]) == 0
    readable = "SELECT has_table_privilege(%s, 'ua_tui.later', 'SELECT')"
    assert team_database.execute(readable, role) == [(True,)]
    team_database.execute(f"DELETE FROM migration WHERE version > {LATEST}")
    assert main(["team", "status", "--to", url]) == 0
    assert main(["team", "revoke", role, "--to", team_database.url]) == 0
    assert main(["team", "status", "--to", url]) == 1
    reported = capsys.readouterr()
    assert f"{role} may submit jobs" in reported.out
    assert f"{role} may no longer use the tables" in reported.out
    assert main(["team", "grant", "no such role", "--to", team_database.url]) == 1
    assert "has no role 'no such role'" in capsys.readouterr().err


def test_limits_are_set_shown_and_removed(cluster: Cluster, team_database: Database, capsys: Output) -> None:
    role = cluster.make_role(f"l{team_database.name}")
    limit = ["team", "limit", role, "--to", team_database.url]
    for given, shown in (
        ([], "no limits"),
        (["--jobs", "3"], "at most 3 jobs at once"),
        (["--cost-per-day", "20"], "$20.00 a day · at most 3 jobs at once"),
        ([], "$20.00 a day · at most 3 jobs at once"),
        (["--none", "--tools", "Read"], "may allow Read"),
        (["--none"], "no limits"),
    ):
        assert main([*limit, *given]) == 0
        assert capsys.readouterr().out == f"{role}: {shown}\n"
    assert main(["team", "limit", "nobody", "--jobs", "3", "--to", team_database.url]) == 1
    assert "has no role 'nobody'" in capsys.readouterr().err
    assert main(["team", "grant", role, "--to", team_database.url]) == 0
    assert main(["team", "limit", role, "--jobs", "3", "--to", cluster.url(team_database.name, role)]) == 1
    assert "may change members and their limits" in capsys.readouterr().err


def test_the_state_is_shown(team_database: Database, capsys: Output) -> None:
    assert main(["team", "status", "--to", team_database.url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f", tables of version {LATEST}" in lines[0]
    assert lines[1:] == ["jobs      none", "workers   none", "schedules none"]
    team_database.execute(ROWS)
    assert main(["team", "--to", team_database.url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        "jobs      1 waiting · 1 finished",
        "workers   1 alive, 1 silent", "  desk-1, 4 jobs at once, version 0.2, seen 0.0s ago",
        "  old\ufffd[2J, 1 job at once, version 0.1, seen 2h 00m ago",
        "schedules none",
    ]  # fmt: skip
    assert main(["team", "status", "--json", "--to", team_database.url]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["tables"], found["alive"], found["jobs"]) == (LATEST, 1, {"waiting": 1, "done": 1})
    team_database.execute("UPDATE batch SET paused = true")
    assert main(["team", "--to", team_database.url]) == 0
    assert "jobs      1 paused · 1 finished" in capsys.readouterr().out.splitlines()
    team_database.execute("UPDATE batch SET paused = false")
    team_database.execute("UPDATE job SET state = 'held' WHERE state = 'waiting'")
    assert main(["team", "--to", team_database.url]) == 0
    assert "jobs      1 paused · 1 finished" in capsys.readouterr().out.splitlines()
    team_database.execute(
        "INSERT INTO job (id, batch, query, state, worker_id) VALUES"
        " ('3', 'b', 'q', 'running', 1), ('4', 'b', 'q', 'running', 2)"
    )
    assert main(["team", "--to", team_database.url]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "jobs      1 running · 1 lost · 1 paused · 1 finished"


@pytest.mark.parametrize(("given", "words"), [
    (["grant"], "grant takes the names of database roles"),
    (["status", "mary"], "status takes no names"),
    (["migrate", "--json"], "--json can only be used with status and attention"),
])  # fmt: skip
def test_wrong_usage_is_reported(given: list[str], words: str, capsys: Output) -> None:
    assert main(["team", *given, "--to", "postgresql://db/desk"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("days", ["-1d", "0d", "nand", "infd", "90", "1h"])
def test_old_is_older_than_some_days(days: str, capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["team", "prune", f"--older-than={days}"])
    assert "must be a number of days above 0, such as 90d" in capsys.readouterr().err


def test_the_address_is_given_or_that_of_the_settings(capsys: Output) -> None:
    assert main(["team", "status"]) == 2
    assert "no team database is set" in capsys.readouterr().err
    settings = Settings(team="postgresql://db/desk")
    assert str(team_address(None, settings)) == "desk on db"
    assert str(team_address("postgresql://other/desk", settings)) == "desk on other"
    with pytest.raises(SettingsError, match="begins with postgresql://"):
        team_address("", settings)
    with pytest.raises(SettingsError):
        team_address(f"postgresql://u:{SECRET}@other/desk", Settings())


def test_the_doctor_reports_on_the_database(team_database: Database, capsys: Output) -> None:
    assert main(["doctor", "--to", team_database.url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "the team's database can be used"
    assert any(line.startswith("ok       Team tables") for line in lines)
    team_database.execute("INSERT INTO migration (version) VALUES (99)")
    assert main(["doctor", "--to", team_database.url, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["could_work"] is False
    (tables,) = [check for check in found["checks"] if check["name"] == "team_tables"]
    assert (tables["status"], tables["required"]) == ("failed", True)


def test_a_table_that_a_member_locks_keeps_no_command_waiting(
    cluster: Cluster, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("ua_tui.core.postgres.connection._LOCKED_MS", 50)
    member = cluster.make_role(f"l{team_database.name}")
    assert main(["team", "grant", member, "--to", team_database.url]) == 0
    with psycopg.connect(cluster.url(team_database.name, member)) as lock:
        lock.execute("LOCK TABLE ua_tui.schedule IN ACCESS EXCLUSIVE MODE")
        for command in (["status"], ["attention"], ["cancel", "weekly"]):
            assert main(["team", *command, "--to", team_database.url]) == 1
            assert "another program holds a lock on the tables" in capsys.readouterr().err
    assert main(["team", "status", "--to", team_database.url]) == 0
