"""What other installed packages bring, found by the entry points of a group.

Nothing a plug-in does wrong ends the session: what cannot be loaded is left out, and said.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from core.errors import PipelineError, PluginError, UniversalAgentError
from core.pipelines import Pipelines
from core.text import clean_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "LOAD_SECONDS",
    "PIPELINE_GROUP",
    "PluginProblem",
    "describe_exception",
    "load_entry_point",
    "load_entry_points",
    "register_plugins",
]

LOAD_SECONDS = 10.0

_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginProblem:
    """A plug-in that is left out: its group, its name, and what to do about it."""

    group: str
    plugin: str
    message: str


def load_entry_points(
    group: str,
    make: Callable[[EntryPoint], T],
    report: Callable[[PluginProblem], object],
    *,
    seconds: float = LOAD_SECONDS,
) -> Iterator[T]:
    """Make what each entry point of a group names, one after the other by their names; what fails is left out.

    Takes as long as the plug-ins take to import, each at most `seconds`: not for the event loop. `make` is called in a
    thread, may raise any UniversalAgentError, and is best without effects: whoever takes too long goes on all the same.
    """
    for point in _entry_points(group, report):
        try:
            made = _within(seconds, partial(make, point))
        except UniversalAgentError as error:
            label = clean_line(point.name, 60) or "a plug-in"
            message = f"{_origin(point)} is left out: {clean_line(str(error), 400)}"
            _log.warning("plug-in %s: %s", label, message, exc_info=error.__cause__)
            report(PluginProblem(group, label, message))
        else:
            yield made


def load_entry_point(point: EntryPoint) -> object:
    """Import what an entry point names.

    Raises:
        PluginError: that cannot be done.
    """
    try:
        return point.load()
    except BaseException as error:
        raise PluginError(
            f"it cannot be imported ({describe_exception(error)}); mend or uninstall it, or start with --no-plugins"
        ) from error


def describe_exception(error: BaseException) -> str:
    """An error of a plug-in in a line."""
    return clean_line(f"{type(error).__name__}: {error}", 240)


def _entry_points(group: str, report: Callable[[PluginProblem], object]) -> list[EntryPoint]:
    from importlib.metadata import entry_points

    try:
        return sorted(entry_points(group=group), key=lambda point: (point.name, _origin(point)))
    except Exception as error:
        # A damaged package of any kind can be in the way.
        reason = clean_line(f"{type(error).__name__}: {error}", 300)
        _log.warning("plug-ins cannot be listed: %s", reason, exc_info=error)
        message = f"the installed packages cannot be listed ({reason}); none was loaded"
        report(PluginProblem(group, "plug-ins", message))
        return []


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Do work in a thread of its own; one that never ends is left behind."""
    done: SimpleQueue[T | UniversalAgentError] = SimpleQueue()

    def run() -> None:
        try:
            done.put(work())
        except UniversalAgentError as error:
            done.put(error)

    threading.Thread(target=run, name="plug-in", daemon=True).start()
    try:
        made = done.get(timeout=seconds)
    except Empty:
        raise PluginError(f"it did not load within {seconds:g} seconds; mend or uninstall it") from None
    if isinstance(made, UniversalAgentError):
        raise made
    return made


def _origin(point: EntryPoint) -> str:
    try:
        package = point.dist.name if point.dist is not None else "an unknown package"
    except Exception:
        package = "an unknown package"
    return clean_line(f"{point.value} of {package}", 160)


PIPELINE_GROUP = "ua_tui.pipelines"

Register = Callable[[Pipelines], object]


def register_plugins(
    pipelines: Pipelines, report: Callable[[PluginProblem], object], *, seconds: float = LOAD_SECONDS
) -> Pipelines:
    """Return pipelines with the handlers of every plug-in as well.

    An entry point names a function that is given the pipelines and registers on them. What one that fails has
    registered until then does not count.
    """
    whole = pipelines

    def make(point: EntryPoint) -> Pipelines:
        return _registered(point, whole)

    for made in load_entry_points(PIPELINE_GROUP, make, report, seconds=seconds):
        whole = made
    return whole


def _registered(point: EntryPoint, pipelines: Pipelines) -> Pipelines:
    register = load_entry_point(point)
    if not callable(register) or inspect.iscoroutinefunction(register):
        raise PipelineError("it names no plain function; see docs/pipelines.md for what it needs")
    attempt = pipelines.copy()
    try:
        register(attempt)
    except PipelineError:
        raise
    except BaseException as error:
        raise PipelineError(f"registering its handlers failed ({describe_exception(error)})") from error
    return attempt
