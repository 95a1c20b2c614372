"""All observers of a session: the `OBSERVER` of each module in `observers/`, by their `order`, then plug-ins."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

from ua_tui import observers
from ua_tui.core.agent.definitions.rules import SubagentRule
from ua_tui.core.events.types import KNOWLEDGE
from ua_tui.core.plugins import PluginProblem
from ua_tui.observers.base import Observer, ObserverSpec
from ua_tui.observers.plugins import load_plugins


def _ignore(_problem: PluginProblem) -> None:
    """Ignore a problem: it is in the log."""


@cache
def _specs() -> tuple[ObserverSpec, ...]:
    modules = (
        import_module(f"{observers.__name__}.{module.name}")
        for module in pkgutil.iter_modules(observers.__path__)
    )
    found: list[ObserverSpec] = [module.OBSERVER for module in modules if hasattr(module, "OBSERVER")]
    return tuple(sorted(found, key=lambda spec: spec.order))


def default_observers(
    *,
    plugins: bool = True,
    rules: Sequence[SubagentRule] | None = None,
    report: Callable[[PluginProblem], object] = _ignore,
) -> list[Observer]:
    """Make one instance of each; an observer keeps no state between results.

    The first call imports them. With `plugins` those of other installed packages are among them; finding them
    takes some milliseconds, and importing them any time, so this is not for the event loop. `report` is called
    with every plug-in that is left out. `rules` are those of the sub-agents, by default of the shipped ones.
    """
    found = [spec.make(rules) for spec in _specs()]
    if plugins:
        found += load_plugins([*(observer.name for observer in found), KNOWLEDGE], report)
    return found
