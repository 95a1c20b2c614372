from __future__ import annotations

import psycopg
import pytest

from tests.postgres_server import Cluster, Database
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
    ("found", "words"), [(None, "no tables"), (LATEST, "team migrate"), (99, "update ua-tui")]
)
def test_another_version_of_the_tables_is_refused(
    found: int | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "LATEST", LATEST + 1)
    with pytest.raises(TeamError, match=words):
        check_version(found, Address.parse("postgresql://db/desk"))


def test_tables_that_no_released_program_made_are_refused(cluster: Cluster) -> None:
    database = cluster.make_database()
    migrate(Address.parse(database.url))
    database.execute("DELETE FROM migration; INSERT INTO migration (version) VALUES (8)")
    with pytest.raises(TeamError, match="DROP SCHEMA ua_tui CASCADE"):
        migrate(Address.parse(database.url))
    cluster.drop(database)


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
