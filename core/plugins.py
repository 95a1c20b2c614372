"""Plug-ins: what other installed packages provide, found by the entry points of a group.

No error of a plug-in ends the session: a plug-in that cannot be loaded is skipped and reported.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ua_tui.core.concurrency.threads import begin_apart
from ua_tui.core.errors import PipelineError, PluginError, UniversalAgentError
from ua_tui.core.log import log
from ua_tui.core.pipelines import Pipelines
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LOAD_SECONDS = 10.0
GROUPS = {
    "ua_tui.observers": "observers",
    "ua_tui.pipelines": "pipeline handlers",
    "ua_tui.viewers": "viewers",
    "ua_tui.panes": "panes",
}
"""The groups of entry points, and what is in each."""

T = TypeVar("T")


class PluginProblem(msgspec.Struct, frozen=True):
    """A plug-in that is skipped: its group, its name, and what to do about it."""

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
    """Make an object of each entry point of a group, in the order of their names; a plug-in that fails is skipped.

    Takes as long as the imports of the plug-ins, each at most `seconds`: do not call it on the event loop. `make` runs
    in a thread and may raise any UniversalAgentError. It should have no side effects, as it is not stopped when it
    takes too long.
    """
    for point in entry_points_of(group, report):
        try:
            made = _within(seconds, partial(make, point))
        except UniversalAgentError as error:
            label = clean_line(point.name, 60) or "a plug-in"
            message = f"{_origin(point)} is skipped: {clean_line(str(error), 400)}"
            log.warning("plug-in %s: %s", label, message, exc_info=error.__cause__)
            report(PluginProblem(group, label, message))
        else:
            yield made


def load_objects(group: str, kind: type[T], report: Callable[[PluginProblem], object]) -> list[T]:
    """Load the objects of a class that the entry points of a group name; not for the event loop."""

    def make(point: EntryPoint) -> T:
        found = load_entry_point(point)
        if not isinstance(found, kind):
            raise PluginError(f"it does not name a {kind.__name__}; see docs/plugins.md")
        return found

    return list(load_entry_points(group, make, report))


def list_plugins(report: Callable[[PluginProblem], object]) -> list[str]:
    """What each package adds, in a line for each group; those that cannot be imported are reported."""

    def name_of(point: EntryPoint) -> str:
        load_entry_point(point)
        return clean_line(point.name, 60)

    lines = []
    for group, title in GROUPS.items():
        if names := list(load_entry_points(group, name_of, report)):
            lines.append(f"{title}: {', '.join(names)}")
    return lines


def load_entry_point(point: EntryPoint) -> object:
    """Import the object that an entry point names.

    Raises:
        PluginError: it cannot be imported.
    """
    try:
        return point.load()
    except BaseException as error:
        raise PluginError(
            f"it cannot be imported ({describe_exception(error)}); fix or uninstall it, or start with --no-plugins"
        ) from error


def describe_exception(error: BaseException) -> str:
    """An error of a plug-in, in one line."""
    return clean_line(f"{type(error).__name__}: {error}", 240)


def entry_points_of(group: str, report: Callable[[PluginProblem], object]) -> list[EntryPoint]:
    """The plug-ins of a group, by name; takes milliseconds."""
    try:
        found = (point for point in _installed(tuple(sys.path)) if point.group == group)
        return sorted(found, key=lambda point: (point.name, _origin(point)))
    except Exception as error:
        # Any damaged package can cause this.
        reason = clean_line(f"{type(error).__name__}: {error}", 300)
        log.warning("plug-ins cannot be listed: %s", reason, exc_info=error)
        message = f"the installed packages cannot be listed ({reason}); none was loaded"
        report(PluginProblem(group, "plug-ins", message))
        return []


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of all our groups, read once, as that takes milliseconds; most packages have none of them."""
    from importlib.metadata import distributions

    with_ours = [each for each in distributions() if "ua_tui." in (each.read_text("entry_points.txt") or "")]
    # Of a package that is installed twice, the first one on the path is imported.
    packages = {each.name: each for each in reversed(with_ours)}
    return tuple(point for each in packages.values() for point in each.entry_points)


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Run work in a thread of its own; a thread that never ends is abandoned."""
    try:
        return begin_apart(work).result(seconds)
    except UniversalAgentError:
        raise
    except TimeoutError:
        raise PluginError(f"it did not load within {seconds:g} seconds; fix or uninstall it") from None
    except Exception as error:
        raise PluginError(f"it failed ({type(error).__name__}); fix or uninstall it") from error


def _origin(point: EntryPoint) -> str:
    try:
        package = point.dist.name if point.dist is not None else "an unknown package"
    except Exception:
        package = "an unknown package"
    return clean_line(f"{point.value} of {package}", 160)


PIPELINE_GROUP = "ua_tui.pipelines"


def register_plugins(
    pipelines: Pipelines, report: Callable[[PluginProblem], object], *, seconds: float = LOAD_SECONDS
) -> Pipelines:
    """Return the pipelines with the handlers of every plug-in added.

    An entry point names a function that is called with the pipelines and registers handlers. If it fails, none of its
    handlers is registered.
    """
    whole = pipelines

    def make(point: EntryPoint) -> Pipelines:
        register = load_entry_point(point)
        if not callable(register) or inspect.iscoroutinefunction(register):
            raise PipelineError("it does not name a plain function; see docs/pipelines.md")
        attempt = whole.copy()
        try:
            register(attempt)
        except PipelineError:
            raise
        except BaseException as error:
            raise PipelineError(f"registering its handlers failed ({describe_exception(error)})") from error
        return attempt

    for made in load_entry_points(PIPELINE_GROUP, make, report, seconds=seconds):
        whole = made
    return whole
