"""The table of the cases: what was seen, and what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.running import environment
from tests.faults.starter import Starter

Report = Callable[..., None]
WIDEST = 70
"""Characters of a cell."""
_ROW = "fault"


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """Starts programs; one for all tests of a process."""
    with Starter(environment(tmp_path_factory.mktemp("starter"))) as starter:
        yield starter


@pytest.fixture
def report(record_property: Callable[[str, object], None]) -> Report:
    """Add a row to the table: (case, what was seen, what was lost)."""

    def add(case: str, seen: str, lost: str = "nothing") -> None:
        record_property(_ROW, [case, seen, lost])

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table."""
    reports = [each for key in ("passed", "failed") for each in terminalreporter.stats.get(key, [])]
    rows = [tuple(value) for each in reports for name, value in each.user_properties if name == _ROW]
    wrong = [each.nodeid.rpartition("::")[2] for each in terminalreporter.stats.get("failed", [])]
    failed = [(name, "FAILED, see above", "?") for name in wrong]
    if not rows and not failed:
        return
    terminalreporter.section("faults")
    for row in _aligned([("case", "seen", "lost"), *sorted(rows), *failed]):
        terminalreporter.write_line(row)


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    rows = [tuple(cell if len(cell) <= WIDEST else cell[: WIDEST - 1] + "…" for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
