"""The application's own pipeline handlers: a line for each, in the order in which equals run."""

from __future__ import annotations

from core.pipelines import Handler, Pipelines
from core.web_reader.retry_policy import ReaderPolicy

__all__ = ["HANDLERS", "default_pipelines"]

HANDLERS: tuple[tuple[str, Handler, int], ...] = ()
"""(pipeline, handler, priority); the highest priority runs first."""


def default_pipelines(reader: ReaderPolicy | None = None) -> Pipelines:
    """Make the pipelines of a session with every handler registered; `reader` is the session's own."""
    pipelines = Pipelines()
    if reader is not None:
        reader.register(pipelines)
    for name, handler, priority in HANDLERS:
        pipelines.register(name, handler, priority)
    return pipelines
