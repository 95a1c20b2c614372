"""`docs/modules.md`: tables of all folders and modules, made from the docstrings of the packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.paths import PROJECT

PACKAGES = ("core", "observers", "tui", "styles", "ua_tui")


_INTRODUCTION = """\
# Folders and modules

One section per folder, from the docstrings of its modules. `python -m tests.docs` writes this page.
[architecture.md](architecture.md) explains how the parts fit together.

"""


def modules_page(_page: str) -> str:
    """The text of the page, which is generated completely."""
    return _INTRODUCTION + "".join(_sections())


def _sections() -> Iterator[str]:
    for package in PACKAGES:
        for folder in (PROJECT / package, *sorted(_folders(PROJECT / package))):
            yield _section(folder)


def _folders(package: Path) -> Iterator[Path]:
    return (path.parent for path in package.rglob("__init__.py") if path.parent != package)


def _section(folder: Path) -> str:
    name = folder.relative_to(PROJECT).as_posix()
    summary = " ".join(_docstring(folder / "__init__.py").split())
    lines = [f"## `{name}/`", "", summary, ""]
    rows = [
        f"| `{path.name}` | {_first_sentence(_docstring(path))} |"
        for path in sorted(folder.glob("*.py"))
        if path.name != "__init__.py"
    ]
    if rows:
        lines += ["| module | contents |", "|---|---|", *rows, ""]
    sheets = [f"`{path.name}`" for path in sorted(folder.glob("*.tcss"))]
    if sheets:
        lines += [", ".join(sheets), ""]
    return "\n".join(lines) + "\n"


def _docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def _first_sentence(docstring: str) -> str:
    first = " ".join(docstring.partition("\n\n")[0].split())
    return first.replace("|", "\\|")
