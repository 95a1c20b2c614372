"""Every direct dependency is imported somewhere, and listed in docs/dependencies.md."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from importlib.metadata import metadata, packages_distributions, requires

import pytest

from tests.paths import PROJECT

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRA = PYPROJECT["project"]["optional-dependencies"]["team"]
PAGE = (PROJECT / "docs" / "dependencies.md").read_text(encoding="utf-8")
LICENCES = {"MIT License": "MIT", "Apache-2.0 OR BSD-2-Clause": "Apache-2.0 or BSD-2-Clause"}
"""Licences as some packages write them, and as the document does."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[; ]", each)[0].lower() for each in requirements}


DIRECT, OF_EXTRA = names(PYPROJECT["project"]["dependencies"]), names(EXTRA)


def licence(package: str) -> str:
    facts = metadata(package)
    classified = [
        each.rpartition(" :: ")[2]
        for each in facts.get_all("Classifier") or []
        if each.startswith("License ::")
    ]
    # Once something has imported the package `importlib_metadata`, it raises an error for a field that is missing.
    expressions, texts = (facts.get_all(field) or [] for field in ("License-Expression", "License"))
    found: str = next(iter([*expressions, *classified, *texts]))
    return LICENCES.get(found, found)


def needed(package: str) -> set[str]:
    """The package and all that it installs on this system, with the parts that the extra asks for."""
    found: set[str] = set()
    waiting = {package}
    while waiting:
        name = waiting.pop()
        found.add(name)
        plain = [each for each in requires(name) or [] if "extra" not in each and "win32" not in each]
        waiting |= names(plain) - found
    return found


def imported() -> set[str]:
    """The names of packages in our source: of import statements, and as the texts of late imports."""
    names: set[str] = set()
    for path in (
        path for folder in ("core", "observers", "tui") for path in (PROJECT / folder).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                names.add(node.value)
    return {".".join(name.split(".")[:count]) for name in names for count in (1, 2, 3)}


@pytest.mark.slow
def test_each_is_imported() -> None:
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for module, packages in packages_distributions().items():
        for package in packages:
            modules[package.lower().replace("_", "-")].add(module)
    # These share one top-level package.
    modules["opentelemetry-sdk"] = {"opentelemetry.sdk"}
    modules["opentelemetry-proto"] = {"opentelemetry.proto"}
    modules["opentelemetry-exporter-otlp-proto-http"] = {"opentelemetry.exporter.otlp"}
    found = imported()
    assert [name for name in sorted(DIRECT | OF_EXTRA) if not modules[name] & found] == []


def test_each_is_in_the_document_and_the_extra_is_what_the_tests_use() -> None:
    assert set(re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)) == DIRECT | OF_EXTRA
    assert f"{len(DIRECT)} in all, and {len(OF_EXTRA)} more of the extra" in PAGE
    assert {*EXTRA} <= {*PYPROJECT["dependency-groups"]["dev"]}


def test_the_licence_of_what_the_extra_installs_is_in_the_document() -> None:
    section = PAGE.partition("## Working in a team")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z][\w, -]*) \| ([^|]+) \|[^|]*\|$", section, re.MULTILINE)
    documented = {name: found for each, found in rows[1:] for name in each.split(", ")}
    installed = {"psycopg-binary", "psycopg-pool"}.union(*map(needed, OF_EXTRA))
    assert documented.keys() - {"tzdata"} == installed - {"tzdata"}
    assert {name: licence(name) for name in documented} == documented
