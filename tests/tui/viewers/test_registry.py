"""Viewers are discovered, the most specific first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.fixture_types import Patch
from ua_tui.tui.viewers import types
from ua_tui.tui.viewers.registry import viewers


@pytest.fixture
def more_types(tmp_path: Path, monkeypatch: Patch) -> Iterator[Path]:
    """A folder whose modules count as modules of `ua_tui.tui.viewers.types`."""
    folder = tmp_path / "types"
    folder.mkdir()
    monkeypatch.setattr(types, "__path__", [*types.__path__, str(folder)])
    viewers.cache_clear()
    yield folder
    viewers.cache_clear()
    for name in {each.stem for each in folder.glob("*.py")}:
        sys.modules.pop(f"{types.__name__}.{name}", None)
        vars(types).pop(name, None)


def test_every_module_of_types_with_a_viewer_is_found_in_order() -> None:
    names = [viewer.name for viewer in viewers()]
    modules = {path.stem for path in Path(types.__path__[0]).glob("*.py")} - {"__init__"}
    assert len(names) == len(set(names)) >= len(modules)
    assert names[-2:] == ["source code", "text"]
    assert names.index("binary") > names.index("PDF")
    assert names.index("search results") < names.index("JSON")


def test_no_viewer_is_loaded_before_the_first_file_and_no_slow_library_to_find_them() -> None:
    slow = ["PIL", "pypdf", "pygments", "nh3", "html_to_markdown", "lxml"]
    code = (
        "import sys; from ua_tui.tui.viewers.registry import viewers; "
        "print(*(name for name in sys.modules if name.startswith('ua_tui.tui.viewers.types.'))); viewers(); "
        f"print(*(name for name in {slow!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()
