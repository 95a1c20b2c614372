"""Who sees and changes what in a team's database: PostgreSQL itself decides, whatever a program asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.core.cases import cases_of
from tests.postgres_server import Cluster, Database
from ua_tui.core.postgres import schema
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import describe
from ua_tui.core.postgres.schema import grant, revoke

CASES = cases_of(__file__)

ROWS = Path(__file__).with_suffix(".sql").read_text("utf-8")
OF_SESSIONS = ("piece", "artifact", "action", "question")
ALL = ("batch", "job", "batch_job", "session", *OF_SESSIONS, "blob")
ANSWER = "UPDATE question SET answer = '{}', answered_by = %s, answered_at = now() WHERE session = %s"


FORGED = CASES["forged"]
"""What somebody may not do who takes part."""


@dataclass(frozen=True)
class Team:
    """A database, and two people who take part: the rows are mary's."""

    database: Database
    cluster: Cluster
    mary: str
    john: str

    @contextmanager
    def role(self, name: str) -> Iterator[psycopg.Connection[Any]]:
        """A connection as one of them."""
        url = self.cluster.url(self.database.name, name)
        with psycopg.connect(url, autocommit=True, options="-c search_path=ua_tui") as db:
            yield db


@pytest.fixture
def team(cluster: Cluster, team_database: Database) -> Team:
    mary, john = (cluster.make_role(f"{name}{team_database.name}") for name in ("mary", "john"))
    for name in (mary, john):
        grant(Address.parse(team_database.url), name)
    team_database.execute(ROWS.format(mary=mary))
    return Team(team_database, cluster, mary, john)


def count(db: psycopg.Connection[Any], table: str) -> int:
    row = db.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def test_what_is_private_is_seen_by_its_owner_and_the_workers(team: Team) -> None:
    for name, seen in ((team.mary, 2), (team.john, 1), ("owner", 2)):
        with team.role(name) as db:
            assert {table: count(db, table) for table in ALL} == dict.fromkeys(ALL, seen), name


def test_what_is_another_persons_cannot_be_changed(team: Team) -> None:
    with team.role(team.john) as db:
        for table in ("batch", "job", "session"):
            column = "state" if table == "job" else "title"
            value = "cancelled" if table == "job" else "x"
            assert db.execute(f"UPDATE {table} SET {column} = '{value}'".encode()).rowcount == 0
        for table in ALL:
            # Some tables are denied, of others only their own rows are there for them.
            with suppress(errors.InsufficientPrivilege):
                assert db.execute(f"DELETE FROM {table}".encode()).rowcount == 0, table
        assert db.execute("UPDATE artifact SET sha256 = 'cc'").rowcount == 0
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute("UPDATE job SET query = 'other'")


def test_nothing_can_be_forged(team: Team) -> None:
    done = []
    # What an earlier version let people do.
    team.database.execute(f'GRANT UPDATE (finished_at, limited, lost, error) ON job TO "{team.john}"')
    grant(Address.parse(team.database.url), team.john)
    with team.role(team.john) as db:
        db.execute("INSERT INTO batch (id) VALUES ('mine')")
        db.execute("INSERT INTO job (id, batch, query) VALUES ('mine', 'mine', 'q')")
        db.execute("INSERT INTO job (id, batch, query) VALUES ('running', 'mine', 'q')")
        db.execute("INSERT INTO session (id, name) VALUES ('mine', 'a')")
        db.execute("INSERT INTO question (session, request, attempt, event) VALUES ('mine', 'r', 1, '{}')")
        team.database.execute("INSERT INTO action (session, key, attempt, tool) VALUES ('mine', 'k', 1, 't')")
        team.database.execute("UPDATE job SET state = 'needs_you', worker_id = 1 WHERE id = 'running'")
        for statement in FORGED:
            try:
                db.execute(statement.format(mary=team.mary).encode())
            except errors.InsufficientPrivilege:
                continue
            done.append(statement)
    assert done == []


def test_what_workers_stored_of_a_job_its_owner_does_not_change(team: Team) -> None:
    team.database.execute("UPDATE session SET job = id, attempt = 2")
    team.database.execute("UPDATE job SET attempt = 2")
    add = "INSERT INTO piece VALUES ('open', 'journal.jsonl', 9, '1')"
    with team.role(team.mary) as db:
        assert db.execute("DELETE FROM piece").rowcount == 0
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute(add)
        assert count(db, "piece") == 2
        # She resumes one of the sessions herself.
        db.execute("UPDATE session SET attempt = 3 WHERE id = 'open'")
        db.execute(add)
        assert db.execute("DELETE FROM piece").rowcount == 2


def test_nobody_runs_triggers_of_the_owner_on_rows_of_their_own(team: Team) -> None:
    found = team.database.execute(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'ua_tui'::regnamespace AND prosecdef"
        " AND prorettype = 'trigger'::regtype"
    )
    assert found
    with team.role(team.john) as db:
        db.execute("CREATE TEMP TABLE theirs (LIKE ua_tui.job)")
        for (name,) in found:
            trigger = (
                "CREATE TRIGGER a AFTER INSERT ON theirs REFERENCING NEW TABLE AS new_jobs"
                f" FOR EACH STATEMENT EXECUTE FUNCTION {name}"
            )
            with pytest.raises(errors.InsufficientPrivilege):
                db.execute(trigger.encode())


SHADOWS = CASES["shadows"]


def test_nobody_becomes_a_worker_by_tables_and_functions_of_their_own(team: Team) -> None:
    team.database.execute(f'CREATE SCHEMA theirs; GRANT ALL ON SCHEMA theirs TO "{team.john}"')
    with team.role(team.john) as db:
        for statement in SHADOWS:
            db.execute(statement.encode())
            assert db.execute("SELECT ua_tui.is_worker()").fetchone() == (False,), statement
            assert db.execute("SELECT id FROM ua_tui.session").fetchall() == [("open",)]


TOO_LARGE = CASES["too_large"]


def test_nobody_fills_the_memory_of_others(team: Team) -> None:
    with team.role(team.john) as db:
        db.execute("INSERT INTO batch (id) VALUES ('mine')")
        for statement in TOO_LARGE:
            with pytest.raises(errors.CheckViolation):
                db.execute(statement.encode())


def test_a_job_takes_over_no_session_of_something_else(team: Team) -> None:
    team.database.execute("UPDATE job SET session = 'closed' WHERE id = 'open'")
    team.database.execute("UPDATE batch SET paused = true WHERE id = 'closed'")
    found = team.database.execute("SELECT c_session FROM claim_job(1, 'w', 1) WHERE c_job = 'open'")
    assert found[0][0] != "closed"
    assert team.database.execute("SELECT attempt FROM session WHERE id = 'closed'") == [(1,)]


def test_who_knows_the_digest_of_a_private_file_does_not_get_it(team: Team) -> None:
    with team.role(team.john) as db:
        db.execute("INSERT INTO session (id, name) VALUES ('mine', 'a')")
        db.execute("INSERT INTO artifact (session, path, sha256, size) VALUES ('mine', 'b', 'bb', 1)")
        assert db.execute("SELECT sha256 FROM blob").fetchall() == [("aa",)]


def test_an_answer_is_given_once_and_in_the_name_of_who_gives_it(team: Team) -> None:
    with team.role(team.john) as db:
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute(ANSWER.encode(), (team.mary, "open"))
        assert db.execute(ANSWER.encode(), (team.john, "open")).rowcount == 1
        assert db.execute(ANSWER.encode(), (team.john, "open")).rowcount == 0
        assert db.execute(ANSWER.encode(), (team.john, "closed")).rowcount == 0
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute("UPDATE question SET event = '{}'")


def test_a_person_does_their_own_work(team: Team) -> None:
    with team.role(team.john) as db:
        db.execute("INSERT INTO batch (id, shared) VALUES ('mine', false)")
        db.execute("INSERT INTO job (id, batch, query, shared) VALUES ('mine', 'mine', 'q', false)")
        db.execute("INSERT INTO batch_job (batch, number, job) VALUES ('mine', 1, 'mine')")
        db.execute("UPDATE job SET state = 'cancelled' WHERE id = 'mine'")
        db.execute("INSERT INTO command (session, kind) VALUES ('open', 'interrupt')")
        assert count(db, "batch") == 2
    with team.role(team.mary) as db:
        assert count(db, "batch") == 2
        assert count(db, "command") == 1


def test_a_role_without_rights_sees_nothing(team: Team) -> None:
    revoke(Address.parse(team.database.url), team.john)
    # Also where another one lets it connect.
    team.database.execute(f'GRANT CONNECT ON DATABASE "{team.database.name}" TO "{team.john}"')
    with team.role(team.john) as db:
        for table in ALL:
            with pytest.raises(errors.InsufficientPrivilege):
                count(db, f"ua_tui.{table}")
            # A schema that may not be used is skipped.
            with pytest.raises(errors.UndefinedTable) as raised:
                count(db, table)
            assert "ua-tui team grant" in str(describe(raised.value))


def test_the_tables_and_functions_are_protected(team: Team) -> None:
    """The tables of migrations and workers have no texts of a person; members cannot change either.

    Functions with the rights of the owner check who asks themselves, and find only what is in the schema or part of
    PostgreSQL and its extensions.
    """
    found = team.database.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'ua_tui'::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity ORDER BY 1"
    )
    assert {name for (name,) in found} == {"migration", "worker"}
    found = team.database.execute(
        "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'ua_tui'::regnamespace AND prosecdef"
    )
    assert {name for name, _ in found} == {
        "k_frequencies",
        "k_matches",
        "k_similar",
        "check_ceilings",
        "continue_job",
        "follow_jobs",
    }
    assert all(config == ["search_path=ua_tui, pg_temp"] for _, config in found)


def test_a_member_of_the_owner_works_and_migrates(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = team.cluster.make_role(f"worker{team.database.name}")
    team.database.execute(f'GRANT owner TO "{worker}"')
    later = [*schema.migrations(), (schema.LATEST + 1, "CREATE TABLE later (a integer)")]
    monkeypatch.setattr(schema, "migrations", lambda: later)
    monkeypatch.setattr(schema, "LATEST", schema.LATEST + 1)
    schema.migrate(Address.parse(team.cluster.url(team.database.name, worker)))
    owner = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'ua_tui.later'::regclass"
    assert team.database.execute(owner) == [("owner",)]
    with team.role(worker) as db:
        assert {table: count(db, table) for table in ALL} == dict.fromkeys(ALL, 2)
        db.execute("INSERT INTO session (id, name, owner, shared) VALUES ('s', 'a', %s, false)", (team.mary,))
        db.execute("INSERT INTO piece VALUES ('s', 'journal.jsonl', 0, '1')")
        assert db.execute("UPDATE job SET state = 'running'").rowcount == 2
    team.database.execute(f'REVOKE owner FROM "{worker}"')


def test_with_a_batch_goes_all_of_its_sessions(team: Team) -> None:
    team.database.execute("UPDATE session SET job = id")
    # The same content is in a file of another session, too.
    team.database.execute(
        "INSERT INTO artifact (session, path, sha256, size) VALUES ('closed', 'c', 'aa', 1)"
    )
    # What a file had before it was written again.
    team.database.execute("INSERT INTO blob (sha256, data) VALUES ('cc', 'z')")
    url = team.cluster.url(team.database.name)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DELETE FROM ua_tui.batch WHERE id = 'open'")
        tables = [f"ua_tui.{table}" for table in ALL]
        left = {table.removeprefix("ua_tui."): count(db, table) for table in tables}
        assert left == {**dict.fromkeys(ALL, 1), "artifact": 2, "blob": 2}
        db.execute("DELETE FROM ua_tui.batch")
        assert {table: count(db, table) for table in tables} == dict.fromkeys(tables, 0)


def test_a_member_locks_few_tables_and_none_after_the_end_of_their_access(team: Team) -> None:
    with team.role(team.john) as db:
        tables = "SELECT relname FROM pg_class WHERE relnamespace = 'ua_tui'::regnamespace AND relkind = 'r'"
        names = [name for (name,) in db.execute(tables.encode()).fetchall()]
        locked = set()
        for name in names:
            with suppress(errors.InsufficientPrivilege), db.transaction():
                db.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE NOWAIT".encode())
                locked.add(name)
        # Those from which members remove rows of their own.
        assert locked == {
            "piece", "schedule", "k_session", "k_call", "k_document", "k_chunk", "k_vector",
        }  # fmt: skip
        db.execute("BEGIN")
        db.execute("LOCK TABLE piece, schedule IN ACCESS EXCLUSIVE MODE")
        revoke(Address.parse(team.database.url), team.john)
        with pytest.raises(errors.AdminShutdown):
            db.execute("SELECT 1")
    with team.role("owner") as owner, owner.transaction():
        owner.execute("LOCK TABLE piece, schedule IN ACCESS EXCLUSIVE MODE")
