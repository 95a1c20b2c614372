"""What is built from the project has what a team needs."""

from __future__ import annotations

import re
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.paths import PROJECT
from ua_tui.core.postgres.schema import migrations


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(PROJECT)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(path)


def test_the_migrations_are_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    folder = Path("ua_tui/core/postgres/migrations")
    expected = {str(folder / path.name) for path in (PROJECT / folder).glob("*.sql")}
    assert {name for name in wheel.namelist() if name.endswith(".sql")} == expected
    assert len(expected) == len(migrations()) > 0


def test_the_extra_is_in_the_metadata(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    facts = HeaderParser().parsestr(wheel.read(name).decode())
    assert facts.get_all("Provides-Extra") == ["team"]
    required = facts.get_all("Requires-Dist") or []
    of_team = [each for each in required if each.endswith("extra == 'team'")]
    assert sorted(re.split(r"[<>=\[]", each)[0] for each in of_team) == [
        "obstore",
        "psycopg",
    ]
    assert not [each for each in required if "psycopg" in each and "extra" not in each]
    assert any(each.startswith("psycopg[binary,pool]") for each in of_team)
