"""All observers of a session: the built-in ones in the order of the Observers pane, then plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from core.agent.definitions.rules import Rule
from core.plugins import PluginProblem
from observers.base import Observer
from observers.compliance import Compliance
from observers.corpus import Corpus
from observers.downloads import Downloads
from observers.media import Media
from observers.plugins import load_plugins
from observers.search.observer import SearchResults
from observers.work_products import WorkProducts
from observers.workbench_activity import WorkbenchActivity

__all__ = ["default_observers"]


def _ignore(_problem: PluginProblem) -> None:
    """Ignore a problem: it is in the log."""


def default_observers(
    *,
    plugins: bool = True,
    rules: Sequence[Rule] | None = None,
    report: Callable[[PluginProblem], object] = _ignore,
) -> list[Observer]:
    """Make one instance of each; an observer keeps no state between results.

    With `plugins` those of other installed packages are among them; looking for them takes some milliseconds,
    importing them as long as they like, so that this is not for the event loop. `report` hears of every plug-in
    that is left out. `rules` are those of the sub-agents, by default of the shipped ones.
    """
    observers: list[Observer] = [
        SearchResults(),
        WorkbenchActivity(),
        Corpus(),
        WorkProducts(),
        Media(),
        Downloads(),
        Compliance(rules),
    ]
    if plugins:
        observers += load_plugins([observer.name for observer in observers], report)
    return observers
