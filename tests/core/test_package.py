"""What is built from the project is complete."""

from __future__ import annotations

import tarfile
import zipfile
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


def test_everything_of_a_clone_is_in_the_source_distribution(tmp_path: Path) -> None:
    from hatchling.builders.sdist import SdistBuilder

    (path,) = SdistBuilder(str(PROJECT)).build(directory=str(tmp_path))
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    kinds = [
        "*.py",
        "*.toml",
        "*.md",
        "*.sql",
        "*.json*",
        "*.tcss",
        "*.svg",
        "*.html",
        "*.txt",
        "*.js",
        "run",
    ]
    folders = (
        ".ci",
        "docs",
        "tests",
        "ua_tui",
        *(f"ua_tui/{each}" for each in ("core", "observers", "styles", "tui")),
    )
    kept = [path for folder in folders for kind in kinds for path in (PROJECT / folder).rglob(kind)]
    kept += [PROJECT / name for name in (".gitignore", "LICENSE", "constraints.txt", "pyproject.toml")]
    kept += [PROJECT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "README", "SECURITY")]
    assert {str(path.relative_to(PROJECT)) for path in kept} - packed == set()
