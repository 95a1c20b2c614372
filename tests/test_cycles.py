"""No module imports itself in a circle, not even through an import inside a function."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp
import pytest


@pytest.mark.parametrize("package", ["core", "observers", "tui", "ua_tui"])
def test_no_module_imports_itself_in_a_circle(package: str) -> None:
    graph = grimp.build_graph(package, exclude_type_checking_imports=True, cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imported) > 1
    TopologicalSorter(imported).prepare()  # raises CycleError, which names the circle
