"""Background work of a widget, which replaces earlier work of its group and never ends the application."""

from __future__ import annotations

from collections.abc import Callable, Coroutine

from textual.widget import Widget
from textual.worker import Worker

__all__ = ["start_job"]

Job = Callable[[], Coroutine[None, None, None]]


def start_job(owner: Widget, job: Job, group: str, *, replacing: bool = True) -> Worker[None]:
    """Run a coroutine function as a worker of `owner`; by default it cancels what runs in its group.

    The argument is the function and not a coroutine, because a coroutine that is never awaited causes a warning.
    """
    return owner.run_worker(job, name=group, group=group, exclusive=replacing, exit_on_error=False)
