"""Every direct dependency is imported somewhere, and listed in docs/dependencies.md."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions

from tests.paths import PROJECT


def direct() -> set[str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {re.split(r"[<>=]", each)[0] for each in project["dependencies"]}


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
    assert [name for name in sorted(direct()) if not modules[name] & found] == []


def test_each_is_in_the_document() -> None:
    text = (PROJECT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)) == direct()
    assert f"{len(direct())} in all" in text
