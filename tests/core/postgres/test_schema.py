from __future__ import annotations

import pytest

from tests.postgres_server import Cluster, Database
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST, check_version, migrate, migrations


def test_the_migrations_end_with_the_version_of_this_program() -> None:
    assert [version for version, _ in migrations()] == list(range(1, LATEST + 1))


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
