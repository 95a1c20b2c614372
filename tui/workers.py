"""Background work of the screen: the only place that starts Textual's workers."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVarTuple

from textual.dom import DOMNode
from textual.worker import Worker

Arguments = TypeVarTuple("Arguments")


def start_job(
    owner: DOMNode,
    job: Callable[[*Arguments], Coroutine[Any, Any, Any]],
    group: str,
    *arguments: *Arguments,
    name: str | None = None,
    replacing: bool = True,
) -> Worker[Any]:
    """Run a coroutine function with these arguments as a worker of `owner`, whose failure never ends the application.

    By default it cancels what runs in its group. What is cancelled before it begins is never called: therefore the
    argument is a function and not a coroutine, which would have to be awaited.
    """
    work = partial(job, *arguments)
    return owner.run_worker(work, name=name or group, group=group, exclusive=replacing, exit_on_error=False)
