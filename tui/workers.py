"""Background work of the screen: the only place that starts Textual's workers."""

from __future__ import annotations

from typing import Any

from textual.dom import DOMNode
from textual.worker import Worker

from ua_tui.core.concurrency.spawn import Work


def start_job(
    owner: DOMNode, job: Work, group: str, *, name: str | None = None, replacing: bool = True
) -> Worker[Any]:
    """Run a coroutine function as a worker of `owner`, whose failure never ends the application.

    By default it cancels what runs in its group. What is cancelled before it begins is never called: therefore the
    argument is a function, with its arguments in a `partial`, and not a coroutine, which would have to be awaited.
    """
    return owner.run_worker(job, name=name or group, group=group, exclusive=replacing, exit_on_error=False)
