"""No module imports itself in a circle, not even through an import inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import PROJECT


def modules(package: str) -> dict[str, Path]:
    """The files of a package by the names of their modules."""
    found = {}
    for path in (PROJECT / package).rglob("*.py"):
        parts = path.relative_to(PROJECT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(node: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """The modules that code imports when it runs: what is only for type checkers does not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            names = (f"{child.module}.{alias.name}" for alias in child.names)
            yield from (name if name in known else child.module for name in names)
        yield from imported(child, known)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """What remains after removing, again and again, every module that imports or is imported by no other one."""
    left = {name: set(names) for name, names in graph.items()}
    while True:
        targets = set().union(*left.values()) if left else set()
        keep = {name for name, names in left.items() if names and name in targets}
        if len(keep) == len(left):
            return [sorted(left)] if left else []
        left = {name: left[name] & keep for name in keep}


@pytest.mark.parametrize("package", ["core", "observers", "tui", "ua_tui"])
def test_no_module_imports_itself_in_a_circle(package: str) -> None:
    known = modules(package)
    graph = {
        name: {each for each in imported(ast.parse(path.read_text("utf-8")), known) if each in known} - {name}
        for name, path in known.items()
    }
    assert cycles(graph) == []
