from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.core.team.stores import WAITS
from tests.postgres_server import Cluster, Database
from tests.waiting import PATIENCE, wait_until
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres import schema
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST, check_version, grant, migrate, migrations, revoke


def test_the_migrations_end_with_the_version_of_this_program() -> None:
    versions = [version for version, _ in migrations()]
    assert (versions, versions[-1]) == (sorted({*versions}), LATEST)


def test_a_second_migration_changes_nothing_and_what_cannot_be_migrated_is_explained(
    team_database: Database, cluster: Cluster
) -> None:
    assert migrate(Address.parse(team_database.url)) == []
    team_database.execute("INSERT INTO migration (version) VALUES (99)")
    with pytest.raises(TeamError, match="tables of version 99, and this program knows"):
        migrate(Address.parse(team_database.url))
    with pytest.raises(TeamError, match="there is no such database: create it"):
        migrate(Address.parse(cluster.url("nothing")))


@pytest.mark.parametrize(
    ("found", "words"), [(None, "no tables"), (LATEST - 1, "team migrate"), (99, "update ua-tui")]
)
def test_another_version_of_the_tables_is_refused(found: int | None, words: str) -> None:
    with pytest.raises(TeamError, match=words):
        check_version(found, Address.parse("postgresql://db/desk"))


def database_of_version(cluster: Cluster, version: int, encoding: str = "UTF8") -> Database:
    """A database with the tables that earlier programs made."""
    database = cluster.make_database("template0", options=f"ENCODING '{encoding}' LOCALE 'C'")
    database.execute("CREATE SCHEMA ua_tui")
    database.execute(
        "CREATE TABLE migration (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now(),"
        " serves integer)"
    )
    for number, statements in migrations():
        if number <= version:
            database.execute(statements)
            database.execute("INSERT INTO migration (version) VALUES (%s)", number)
    return database


def test_tables_that_no_released_program_made_are_refused(cluster: Cluster) -> None:
    database = database_of_version(cluster, 0)
    database.execute("INSERT INTO migration (version) VALUES (3)")
    with pytest.raises(TeamError, match="DROP SCHEMA ua_tui CASCADE"):
        migrate(Address.parse(database.url))
    cluster.drop(database)


OF_VERSION_7 = """
INSERT INTO session (id, name) VALUES ('s', 'a'), ('t', 'b'), (repeat('i', 2000), 'c');
INSERT INTO journal VALUES ('s', 2, '["' || chr(233) || '"]'), ('s', 1, '"' || chr(233) || '"'), ('s', 3, '{}'),
    ('t', 1, '{}'), (repeat('i', 2000), 1, '{}');
INSERT INTO entry (project, session, subpath, entry) VALUES ('s', 'c', '', '1'), ('s', 'c', 'subagents/a', '2'),
    ('s', 'c', '', '3'), ('s', 'c/subagents', 'a/', '5'), ('s', 'c', repeat('d', 1024), '6');
INSERT INTO entry (owner, project, session, entry) VALUES ('somebody', 's', 'c', '4');
"""
SINCE_7 = [f"tables of version {version}" for version, _ in migrations() if version > 7]
TOO_LONG = "INSERT INTO journal VALUES ('s', 4, repeat(chr(233), 41943040))"
PIECES = """
SELECT path, string_agg(convert_from(data, 'UTF8'), '' ORDER BY start), max(start) FROM piece WHERE session = 's'
GROUP BY path ORDER BY path
"""


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_what_a_database_of_version_seven_has_of_sessions_stays(cluster: Cluster, encoding: str) -> None:
    database = database_of_version(cluster, 7, encoding)
    database.execute(OF_VERSION_7)
    database.execute(TOO_LONG)
    assert migrate(Address.parse(database.url)) == SINCE_7
    assert database.execute(PIECES) == [
        (".conversation/c.jsonl", "1\n3\n", 2), (".conversation/c/subagents/a.jsonl", "2\n5\n", 2),
        ("journal.jsonl", '"é"\n["é"]\n{}\n', 12),
    ]  # fmt: skip
    cluster.drop(database)


def test_what_a_worker_of_version_seven_writes_during_the_migration_stays(cluster: Cluster) -> None:
    database = database_of_version(cluster, 7)
    database.execute(OF_VERSION_7)
    with psycopg.connect(database.url) as worker, ThreadPoolExecutor() as threads:
        worker.execute("INSERT INTO ua_tui.journal VALUES ('t', 2, '[]')")
        migrating = threads.submit(migrate, Address.parse(database.url))
        wait_until(lambda: database.execute(WAITS))
        worker.commit()
        assert migrating.result(PATIENCE) == SINCE_7
    stored = "SELECT convert_from(data, 'UTF8') FROM piece WHERE session = 't' ORDER BY start"
    assert database.execute(stored) == [("{}\n",), ("[]\n",)]
    cluster.drop(database)


OF_VERSION_5 = """
DROP FUNCTION claim_job, free_jobs;
CREATE FUNCTION claim_job(by_worker bigint, worker_name text, latest integer, OUT c_job text)
    RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the old one'; END; $$;
CREATE OR REPLACE FUNCTION follow_jobs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END; $$;
CREATE OR REPLACE FUNCTION check_ceilings() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END; $$;
INSERT INTO batch (id) VALUES ('b');
INSERT INTO job (id, batch, query, settings) VALUES ('a', 'b', 'q', '{}'), ('d', 'b', 'q', '{"demo": true}');
INSERT INTO batch_count VALUES ('b', 'waiting', 2, 0);
"""
TRIGGERS = """
SELECT tgrelid::regclass::text, tgname FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid::regclass::text IN ('job', 'batch', 'question') ORDER BY 1, 2
"""


COLUMNS = """
SELECT table_name, column_name, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = 'ua_tui' ORDER BY 1, 2
"""


def test_a_database_with_the_functions_of_version_five_gets_these(cluster: Cluster) -> None:
    database, fresh = database_of_version(cluster, 5), cluster.make_database()
    address = Address.parse(database.url)
    migrate(Address.parse(fresh.url))
    database.execute(dict(migrations())[6])
    database.execute(OF_VERSION_5)
    assert migrate(address)[:2] == ["tables of version 6", "tables of version 7"]
    # A column that nobody writes any more, and that must not be empty, would refuse every call of a session.
    columns = fresh.execute(COLUMNS)
    assert database.execute(COLUMNS) == columns != []
    triggers = database.execute(TRIGGERS)
    assert triggers == fresh.execute(TRIGGERS) != []
    assert database.execute("SELECT c_job FROM claim_job(1, 'w', 1, true)") == [("d",)]
    assert database.execute("SELECT c_job FROM claim_job(1, 'w', 1)") == [("a",)]
    assert database.execute("SELECT state, jobs FROM batch_count WHERE jobs <> 0") == [("running", 2)]
    assert database.execute("SELECT * FROM free_jobs(30, 3, 'why')") == [("waiting",)] * 2
    counted = (
        "SELECT count(*) FROM pg_proc WHERE pronamespace = 'ua_tui'::regnamespace AND proname = 'claim_job'"
    )
    assert database.execute(counted) == [(1,)]
    cluster.drop(database)
    cluster.drop(fresh)


def test_later_tables_serve_this_program_if_they_say_so(team_database: Database) -> None:
    found = f"SELECT coalesce(({schema.VERSION_QUERY}), 0)"
    assert team_database.execute(found) == [(LATEST,)]
    team_database.execute("INSERT INTO migration (version, serves) VALUES (%s, %s)", LATEST + 1, LATEST)
    assert team_database.execute(found) == [(LATEST,)]
    team_database.execute("INSERT INTO migration (version, serves) VALUES (%s, %s)", LATEST + 2, LATEST + 1)
    assert team_database.execute(found) == [(LATEST + 2,)]


def test_strangers_cannot_connect_and_do_not_keep_others_from_migrating(cluster: Cluster) -> None:
    database = cluster.make_database()
    stranger = cluster.make_role(f"eve{database.name}")
    with psycopg.connect(cluster.url(database.name, stranger), autocommit=True) as eve:
        # Whatever it locks, there is nothing that others wait for.
        for number in (0x75617475, 0x75617377):
            eve.execute("SELECT pg_advisory_lock(%s)", (number,))
        assert migrate(Address.parse(database.url))
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(cluster.url(database.name, stranger))
    grant(Address.parse(database.url), stranger)
    psycopg.connect(cluster.url(database.name, stranger)).close()
    revoke(Address.parse(database.url), stranger)
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(cluster.url(database.name, stranger))
    cluster.drop(database)


def test_a_restored_database_that_lets_everybody_connect_is_closed_again(cluster: Cluster) -> None:
    database = cluster.make_database()
    address = Address.parse(database.url)
    member, other, stranger = (cluster.make_role(f"{name}{database.name}") for name in ("ann", "bob", "eve"))
    migrate(address)
    for name in (member, other):
        grant(address, name)
    for close in (migrate, lambda address: revoke(address, other)):
        # The rights of the database itself are not in a dump.
        database.execute(f'GRANT CONNECT ON DATABASE "{database.name}" TO PUBLIC')
        database.execute(f'REVOKE CONNECT ON DATABASE "{database.name}" FROM "{member}"')
        close(address)
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(cluster.url(database.name, stranger))
        psycopg.connect(cluster.url(database.name, member)).close()
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(cluster.url(database.name, other))
    cluster.drop(database)


def test_a_knowledge_base_of_version_four_is_emptied_but_stays_forgotten(cluster: Cluster) -> None:
    database = database_of_version(cluster, 5)
    address = Address.parse(database.url)
    database.execute(
        "INSERT INTO k_session (name) VALUES ('ada:/x'); INSERT INTO k_forgotten (entry) VALUES ('{}')"
    )
    # As version 4 left it.
    database.execute("DROP FUNCTION k_matches, k_frequencies, k_similar")
    database.execute(
        "CREATE TABLE k_term (term text); CREATE FUNCTION k_fold() RETURNS void LANGUAGE sql AS ''"
    )
    database.execute("DELETE FROM migration WHERE version > 4")
    done = migrate(address)
    assert f"tables of version {LATEST}" in done
    assert "ua-tui knowledge rebuild" in done[-1]
    assert database.execute("SELECT count(*) FROM k_session") == [(0,)]
    assert database.execute("SELECT entry FROM k_forgotten") == [("{}",)]
    assert database.execute("SELECT to_regclass('k_term'), to_regproc('k_fold')") == [(None, None)]
    cluster.drop(database)
