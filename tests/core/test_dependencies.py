"""Every direct dependency is imported somewhere and documented, and every package has a licence and a version."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from importlib.metadata import metadata, packages_distributions

import pytest

from tests.dependencies_page import EXTRAS, PINS, PYPROJECT, installed_by, licences
from tests.paths import DOCS, PROJECT

PAGE = (DOCS / "dependencies.md").read_text(encoding="utf-8")
OPTIONAL = PYPROJECT["project"]["optional-dependencies"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[; ]", each)[0].lower() for each in requirements}


ALWAYS = names(PYPROJECT["project"]["dependencies"])
OF_EXTRAS = set().union(*(names(OPTIONAL[extra]) for extra in EXTRAS))


def imported() -> set[str]:
    """The names of packages in our source: of import statements, and as the texts of late imports."""
    names: set[str] = set()
    for path in (
        path
        for folder in ("core", "observers", "tui")
        for path in (PROJECT / "ua_tui" / folder).rglob("*.py")
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
    assert [name for name in sorted(ALWAYS | OF_EXTRAS) if not modules[name] & found] == []


def test_each_is_in_the_document_and_the_tests_use_all_extras() -> None:
    assert set(re.findall(r"^\| `([^`]+)` \|[^|]+\| [<\d][^|]*\|$", PAGE, re.MULTILINE)) == ALWAYS | OF_EXTRAS
    assert f"{len(ALWAYS)} are always installed, and {len(OF_EXTRAS)} belong to extras" in PAGE
    assert OPTIONAL["standard"] == [
        f"ua-tui[{','.join(each for each in EXTRAS if each not in ('documents', 'team'))}]"
    ]
    assert "ua-tui[standard,documents,team]" in PYPROJECT["dependency-groups"]["dev"]


def test_every_package_has_a_tested_version_and_those_without_a_permissive_licence_are_named() -> None:
    installed = installed_by("ua-tui", EXTRAS) - {"ua-tui"}
    assert installed - {pin.partition("==")[0] for pin in PINS} == set()
    table = licences(PAGE)
    assert installed <= table.keys()
    permissive = re.compile(r"(MIT|BSD|Apache|PSF|CNRI)[\w.-]*( (AND|OR) (MIT|BSD|Apache|CNRI)[\w.-]*)*")
    named = {name.partition("-")[0] for name, (found, _) in table.items() if not permissive.fullmatch(found)}
    prose = PAGE.partition("## Licences")[2].partition("<!--")[0]
    assert named == {"certifi", "shtab", "tld", "psycopg"}
    assert [name for name in named if name not in prose] == []
    # The terms of the command line are not its licence, but in the description of the package.
    terms = "https://www.anthropic.com/legal/commercial-terms"
    assert terms in str(metadata("claude-agent-sdk"))
    assert terms in prose
