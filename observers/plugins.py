"""Observers that other installed packages bring, found by the entry points of the group `ua_tui.observers`.

Nothing a plug-in does wrong ends the session: what cannot be loaded is left out, and said.
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from core.errors import ObserverError
from core.events import Event
from core.observation import ToolCall, ToolResult
from core.text import clean_line
from observers.base import Interest, Observer, ObserverContext, Outcome
from observers.perform import Run

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "Problem", "load_plugins"]

GROUP = "ua_tui.observers"
LOAD_SECONDS = 10.0

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """A plug-in that is left out: its name, and what to do about it."""

    plugin: str
    message: str

    def events(self) -> Iterator[Event]:
        """The problem as the feed tells it: a failed run on no call."""
        return Run(self.plugin, "", "", error=self.message).finished(announced=False)


@dataclass(frozen=True, slots=True)
class _PlugIn:
    """An observer from elsewhere, under the name it had when it was loaded."""

    name: str
    made: Any

    def wants(self, call: ToolCall) -> bool | Interest:
        """Ask the observer."""
        answer: bool | Interest = self.made.wants(call)
        return answer

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Have the observer look at a result."""
        outcome: Outcome = self.made.observe(result, context)
        return outcome


def load_plugins(
    taken: Sequence[str], report: Callable[[Problem], object], *, seconds: float = LOAD_SECONDS
) -> list[Observer]:
    """Make the observers of every plug-in, in the order of their entry points' names.

    Takes as long as the plug-ins take to import, each at most `seconds`: not for the event loop. One that asks
    for a name that is `taken`, or that an earlier plug-in has, is left out.
    """
    found: list[Observer] = []
    names = set(taken)
    for point in _entry_points(report):
        try:
            made = _within(seconds, lambda point=point: _make(point))  # type: ignore[misc]  # mypy on lambdas
            name = _checked_name(made)
            if name in names:
                owner = "an observer of the program" if name in taken else "another plug-in"
                raise ObserverError(f"the name {name} belongs to {owner}; give it another name")
        except ObserverError as error:
            label = clean_line(point.name, 60) or "a plug-in"
            problem = Problem(label, f"{_origin(point)} is left out: {clean_line(str(error), 400)}")
            _log.warning("observer plug-in %s: %s", label, problem.message, exc_info=error.__cause__)
            report(problem)
        else:
            names.add(name)
            found.append(_PlugIn(name, made))
    return found


def _entry_points(report: Callable[[Problem], object]) -> list[EntryPoint]:
    from importlib.metadata import entry_points

    try:
        return sorted(entry_points(group=GROUP), key=lambda point: (point.name, _origin(point)))
    except Exception as error:
        # A damaged package of any kind can be in the way.
        reason = clean_line(f"{type(error).__name__}: {error}", 300)
        _log.warning("observer plug-ins cannot be listed: %s", reason, exc_info=error)
        report(Problem("plug-ins", f"the installed packages cannot be listed ({reason}); none was loaded"))
        return []


def _make(point: EntryPoint) -> Any:
    try:
        target = point.load()
    except BaseException as error:
        raise ObserverError(
            f"it cannot be imported ({_said(error)}); mend or uninstall it, or start with --no-plugins"
        ) from error
    if not callable(target):
        return target
    try:
        return target()
    except BaseException as error:
        raise ObserverError(f"making the observer without arguments failed ({_said(error)})") from error


def _checked_name(made: Any) -> str:
    """The name of an observer that has all it needs.

    Raises:
        ObserverError: something is missing or of the wrong kind.
    """
    try:
        name: object = made.name
        methods = {method: getattr(made, method, None) for method in ("wants", "observe")}
    except Exception as error:
        raise ObserverError(f"it has no name ({_said(error)}); give it one") from error
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = clean_line(repr(name), 60)
        raise ObserverError(f"its name {shown} will not do: take up to 40 small letters, digits, _ and -")
    for method, found in methods.items():
        if not callable(found):
            raise ObserverError(
                f"it has no method {method}; see docs/observers.md for what an observer needs"
            )
        if inspect.iscoroutinefunction(found):
            raise ObserverError(f"its method {method} is async; make it a plain one")
    return name


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """Do work in a thread of its own; one that never ends is left behind."""
    done: SimpleQueue[tuple[Any, ObserverError | None]] = SimpleQueue()

    def run() -> None:
        try:
            done.put((work(), None))
        except ObserverError as error:
            done.put((None, error))

    threading.Thread(target=run, name="observer-plug-in", daemon=True).start()
    try:
        made, error = done.get(timeout=seconds)
    except Empty:
        raise ObserverError(f"it did not load within {seconds:g} seconds; mend or uninstall it") from None
    if error is not None:
        raise error
    return made


def _said(error: BaseException) -> str:
    return clean_line(f"{type(error).__name__}: {error}", 240)


def _origin(point: EntryPoint) -> str:
    try:
        package = point.dist.name if point.dist is not None else "an unknown package"
    except Exception:
        package = "an unknown package"
    return clean_line(f"{point.value} of {package}", 160)
