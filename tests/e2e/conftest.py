"""What holds for the whole programs: the slow ones come first, one in each process, and each test has a home."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.running import MCP_TIMEOUT


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the tests out: each process gets one part of the list, and runs it from its beginning."""
    kinds = [{mark.name for mark in item.iter_markers()} for item in items]
    if not all(names & {"e2e", "faults"} for names in kinds):
        return
    processes = int(getattr(config, "workerinput", {}).get("workercount", 1))
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    # The last parts have one test more when they cannot be equal.
    items[:] = [item for first in reversed(range(processes)) for item in items[first::processes]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test, which is the home of the sessions that run in its process."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MCP_TIMEOUT", MCP_TIMEOUT)
    return tmp_path
