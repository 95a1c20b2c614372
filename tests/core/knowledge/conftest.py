"""The two knowledge bases: a file, and the database of a team."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres_server import Cluster, Database
from ua_tui.core.knowledge.place import FILE, KnowledgePlace
from ua_tui.core.postgres.address import Address


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


@pytest.fixture(params=["file", "team"])
def place(request: pytest.FixtureRequest) -> KnowledgePlace:
    """A file, and the database of a team: both answer alike."""
    if request.param == "file":
        path: Path = request.getfixturevalue("path")
        return path
    # To empty one database is quicker than to make another.
    database: Database = request.getfixturevalue("emptied")
    database.execute("TRUNCATE k_session, k_forgotten CASCADE")
    return Address.parse(database.url)


@pytest.fixture(scope="module")
def emptied(cluster: Cluster) -> Iterator[Database]:
    """A database for several tests."""
    database = cluster.make_team_database()
    yield database
    cluster.drop(database)
