"""The state of the knowledge base: its size, what is in it, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Lag", "Status", "read_status"]


@dataclass(frozen=True, slots=True)
class Lag:
    """A session whose journal has `missing` bytes that are not in the knowledge base."""

    session: str
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What `ua-tui knowledge` shows; without a file everything is empty.

    Attributes:
        size: bytes, with those of the files beside it that belong to it.
        documents: how many of each kind, in the order of `KINDS`.
        updated: the time of the last change, in seconds since the epoch.
        journal_mode: `wal`, or `delete` on a file system without shared memory.
        forgotten: how many times something was forgotten.
        lagging: the sessions that are not complete, those that miss most first.
        set_aside: damaged files beside it.
        problems: sentences for a person.
    """

    path: Path
    exists: bool = False
    size: int = 0
    version: int = 0
    sessions: int = 0
    documents: Mapping[str, int] = field(default_factory=dict)
    passages: int = 0
    sources: int = 0
    updated: float | None = None
    journal_mode: str = ""
    forgotten: int = 0
    lagging: tuple[Lag, ...] = ()
    set_aside: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def read_status(database: Path, base: Path | None = None) -> Status:
    """Read the state of the knowledge base, and compare it with the journals of the sessions below `base`; blocks.

    It raises nothing: what cannot be read is among the problems.
    """
    return Status(path=database)
