from __future__ import annotations

import pytest

from tests.postgres_server import Cluster, Database
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST, check_version, migrate, migrations


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


def test_a_knowledge_base_of_version_two_is_emptied_but_stays_forgotten(cluster: Cluster) -> None:
    database = cluster.make_database()
    address = Address.parse(database.url)
    migrate(address)
    database.execute(
        "INSERT INTO k_session (name) VALUES ('ada:/x'); INSERT INTO k_forgotten (entry) VALUES ('{}')"
    )
    # As version 2 left it.
    database.execute("DROP FUNCTION k_matches, k_frequencies, k_similar")
    database.execute(
        "CREATE TABLE k_term (term text); CREATE FUNCTION k_fold() RETURNS void LANGUAGE sql AS ''"
    )
    database.execute("DELETE FROM migration WHERE version > 1; INSERT INTO migration VALUES (2)")
    done = migrate(address)
    assert "tables of version 3" in done
    assert "ua-tui knowledge rebuild" in done[-1]
    assert database.execute("SELECT count(*) FROM k_session") == [(0,)]
    assert database.execute("SELECT entry FROM k_forgotten") == [("{}",)]
    assert database.execute("SELECT to_regclass('k_term'), to_regproc('k_fold')") == [(None, None)]
    cluster.drop(database)
