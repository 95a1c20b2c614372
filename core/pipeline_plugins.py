"""Pipeline handlers that other installed packages bring: entry points of the group `ua_tui.pipelines`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from core.errors import PipelineError
from core.pipelines import Pipelines
from core.plugins import LOAD_SECONDS, Problem, imported, load_points, said

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "with_plugins"]

GROUP = "ua_tui.pipelines"

Register = Callable[[Pipelines], object]


def with_plugins(
    pipelines: Pipelines, report: Callable[[Problem], object], *, seconds: float = LOAD_SECONDS
) -> Pipelines:
    """Return pipelines with the handlers of every plug-in as well.

    An entry point names a function that is given the pipelines and registers on them. What one that fails has
    registered until then does not count.
    """
    whole = pipelines

    def make(point: EntryPoint) -> Pipelines:
        return _registered(point, whole)

    for made in load_points(GROUP, make, report, seconds=seconds):
        whole = made
    return whole


def _registered(point: EntryPoint, pipelines: Pipelines) -> Pipelines:
    register = imported(point)
    if not callable(register) or inspect.iscoroutinefunction(register):
        raise PipelineError("it names no plain function; see docs/pipelines.md for what it needs")
    attempt = pipelines.copy()
    try:
        register(attempt)
    except PipelineError:
        raise
    except BaseException as error:
        raise PipelineError(f"registering its handlers failed ({said(error)})") from error
    return attempt
