"""No module imports itself in a circle, not even through an import inside a function."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = grimp.build_graph("ua_tui", exclude_type_checking_imports=True, cache_dir=None)
    assert graph.count_imports() > 1000
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imported).prepare()  # raises CycleError, which names the circle
