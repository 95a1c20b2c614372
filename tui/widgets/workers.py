"""Background work of a widget: never takes the application down, and replaces what it makes needless."""

from __future__ import annotations

from collections.abc import Callable, Coroutine

from textual.widget import Widget
from textual.worker import Worker

__all__ = ["start_job"]

Job = Callable[[], Coroutine[None, None, None]]


def start_job(owner: Widget, job: Job, group: str, *, replacing: bool = True) -> Worker[None]:
    """Run a coroutine function as a worker of `owner`; by default it replaces what runs in its group.

    It takes the function, not its coroutine: one that is cancelled before it began must not be left behind.
    """
    return owner.run_worker(job, name=group, group=group, exclusive=replacing, exit_on_error=False)
