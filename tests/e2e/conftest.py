"""The order of the whole programs: the slow ones first, one in each process."""

from __future__ import annotations

import pytest


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
