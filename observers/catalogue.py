"""All observers of a session: the `OBSERVER` of each module in `observers/`, by their `order`, then plug-ins."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui import observers
from ua_tui.core.agent.definitions.rules import SubagentRule
from ua_tui.core.errors import ObserverError
from ua_tui.core.events.types import KNOWLEDGE, Event
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.plugins import (
    LOAD_SECONDS,
    PluginProblem,
    describe_exception,
    load_entry_point,
    load_entry_points,
)
from ua_tui.core.text import clean_line
from ua_tui.observers.base import Interest, Observer, ObserverContext, ObserverSpec, Outcome
from ua_tui.observers.execution.run import Run

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


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


GROUP = "ua_tui.observers"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class _PlugIn(msgspec.Struct, frozen=True):
    """An observer of a plug-in, under the name that it had when it was loaded."""

    name: str
    instance: Any

    def wants(self, call: ToolCall) -> bool | Interest:
        """Call the plug-in's `wants`."""
        answer: bool | Interest = self.instance.wants(call)
        return answer

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Call the plug-in's `observe`."""
        outcome: Outcome = self.instance.observe(result, context)
        return outcome


def load_failure_events(problem: PluginProblem) -> list[Event]:
    """The events for a plug-in that was not loaded: a failed run without a tool call."""
    return list(Run(problem.plugin, "", "", error=problem.message).finished(announced=False))


def load_plugins(
    taken: Sequence[str], report: Callable[[PluginProblem], object], *, seconds: float = LOAD_SECONDS
) -> list[Observer]:
    """Make the observers of every plug-in, in the order of their entry points' names.

    Takes as long as the plug-ins take to import, each at most `seconds`: not for the event loop. One that asks
    for a name that is `taken`, or that an earlier plug-in has, is left out.
    """
    names = set(taken)

    def make(point: EntryPoint) -> Observer:
        instance = _load(point)
        name = _checked_name(instance)
        if name in names:
            owner = "an observer of the program" if name in taken else "another plug-in"
            raise ObserverError(f"the name {name} is used by {owner}; choose another one")
        return _PlugIn(name, instance)

    found: list[Observer] = []
    for each in load_entry_points(GROUP, make, report, seconds=seconds):
        names.add(each.name)
        found.append(each)
    return found


def _load(point: EntryPoint) -> Any:
    target = load_entry_point(point)
    if not callable(target):
        return target
    try:
        return target()
    except BaseException as error:
        raise ObserverError(
            f"the observer cannot be created without arguments ({describe_exception(error)})"
        ) from error


def _checked_name(instance: Any) -> str:
    """The name of an observer that has all it needs.

    Raises:
        ObserverError: something is missing or of the wrong kind.
    """
    try:
        name: object = instance.name
        methods = {method: getattr(instance, method, None) for method in ("wants", "observe")}
    except Exception as error:
        raise ObserverError(f"it has no name ({describe_exception(error)}); add one") from error
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = clean_line(repr(name), 60)
        raise ObserverError(f"the name {shown} is invalid: use up to 40 lower-case letters, digits, _ and -")
    for method, found in methods.items():
        if not callable(found):
            raise ObserverError(f"it has no method {method}; see docs/observers.md")
        if inspect.iscoroutinefunction(found):
            raise ObserverError(f"its method {method} is async; make it a normal method")
    return name
