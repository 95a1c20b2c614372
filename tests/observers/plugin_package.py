"""Lays down an installed package with observers, as an installer would leave it, and the page's own example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

PAGE = Path(__file__).parents[2] / "docs" / "observers.md"


def install(folder: Path, module: str, source: str, **points: str) -> Path:
    """Put a module and the `*.dist-info` that names its observers into a folder."""
    return install_package(folder, module, source, {"ua_tui.observers": points})


def install_package(folder: Path, module: str, source: str, groups: Mapping[str, Mapping[str, str]]) -> Path:
    """Put a module and the `*.dist-info` that names its entry points, by group and name, into a folder."""
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
    lines: list[str] = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items()), ""]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / f"{module}.py").write_text(dedent(source), encoding="utf-8")
    return folder


def example() -> str:
    """The observer in `docs/observers.md`, as it stands there."""
    (source,) = re.findall(r"```python\n(.+?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(source)


def install_example(folder: Path) -> Path:
    """Install the page's example under the entry point that the page gives it."""
    page = PAGE.read_text(encoding="utf-8")
    (point,) = re.findall(r'"ua_tui\.observers"\]\n(\w+) = "(.+)"', page)
    module = re.search(r"In a file `(\w+)\.py`", page)
    assert module is not None
    return install(folder, module[1], example(), **{point[0]: point[1]})
