"""Reads the journals that the program wrote, as strictly as a test needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import Event


@dataclass(frozen=True, kw_only=True)
class JournalReading:
    """The content of a journal: its events in order, and how many of its lines were not events."""

    events: list[Event] = field(default_factory=list)
    skipped: int = 0


def read_journal(path: Path) -> JournalReading:
    """Read a journal; lines that are not events are counted and skipped."""
    events: list[Event] = []
    skipped = 0
    for line in path.read_bytes().split(b"\n"):
        if line.strip(b" \t\r\0"):
            try:
                events.append(decode_event(line))
            except ValueError:
                skipped += 1
    return JournalReading(events=events, skipped=skipped)
