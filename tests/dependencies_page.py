"""The generated parts of `docs/dependencies.md` and `constraints.txt`: all packages, their licences and versions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import metadata, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import PROJECT

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = tuple(name for name in PYPROJECT["project"]["optional-dependencies"] if name != "standard")
PINS: list[str] = sorted(PYPROJECT["tool"]["uv"]["constraint-dependencies"])
_SPELLED = {
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "The BSD 2-Clause License": "BSD-2-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}
"""Licences as some packages write them, and as the document does."""


def installed_by(package: str, extras: Iterable[str] = ()) -> set[str]:
    """The package and all that it brings along on this system, with these extras."""
    found: dict[str, set[str]] = {}
    waiting = [(package, {"", *extras})]
    while waiting:
        name, asked = waiting.pop()
        new = asked - found.setdefault(canonicalize_name(name), set())
        found[canonicalize_name(name)] |= new
        for each in map(Requirement, requires(name) or []) if new else ():
            if any(each.marker is None or each.marker.evaluate({"extra": extra}) for extra in new):
                waiting.append((each.name, {"", *each.extras}))
    return {*found}


def licence(package: str) -> str:
    """The licence of an installed package, as its metadata have it."""
    facts = metadata(package)
    expressions, texts, classifiers = (
        [str(each) for each in facts.get_all(field) or []]
        for field in ("License-Expression", "License", "Classifier")
    )
    classified = [each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License ::")]
    found = next(each for each in (*expressions, *texts, *classified) if len(each) < 60)
    return _SPELLED.get(found, found)


def licences(page: str) -> dict[str, tuple[str, str]]:
    """The licence of each package in the table of the page, and the extra that installs it."""
    table = page.partition("<!-- generated: licences -->")[2].partition("|---|---|---|")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]*?) ?\| ([^|]+) \|$", table, re.MULTILINE)
    return {name: (licence, extra) for licence, extra, names in rows for name in names.split(", ")}


def licences_table(page: str) -> str:
    """The table of all licences with their packages; those that other systems need are kept."""
    found = licences(page)
    always = installed_by("ua-tui") - {"ua-tui"}
    added = {extra: installed_by("ua-tui", [extra]) - always for extra in EXTRAS}
    for package in always.union(*added.values()) - {"ua-tui"}:
        found[package] = licence(package), ", ".join(extra for extra in EXTRAS if package in added[extra])
    pinned = {pin.partition("==")[0] for pin in PINS}
    table: dict[tuple[str, str], list[str]] = {}
    for name in sorted(pinned & found.keys()):
        table.setdefault(found[name], []).append(name)
    rows = [f"| {kind} | {extra} | {', '.join(names)} |" for (kind, extra), names in sorted(table.items())]
    return "\n".join(["| licence | extra | packages |", "|---|---|---|", *rows])


def constraints(_: str) -> str:
    """The file of constraints: the versions that the tests run with."""
    return "\n".join(["# The versions that ua-tui is tested with: generated from pyproject.toml.", *PINS, ""])
