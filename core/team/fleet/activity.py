"""What a session of this machine does now, from the end of its journal, which is read on as it grows."""

from __future__ import annotations

import os
from pathlib import Path

from ua_tui.core.events.codec import decode_event
from ua_tui.core.storage.regular_file import open_regular
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.team.fleet.rows import FleetState
from ua_tui.core.view.activity import Activity

_TAIL = 256 << 10
_MOST = 1 << 20
"""Bytes that are read at a time."""


class JournalActivity:
    """Follows the journal of one session; `read` blocks, so call it in a thread."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL
        self._place = -1
        self._activity = Activity()

    @property
    def state(self) -> FleetState:
        """Whether it needs a person, works, or rests."""
        # What is not known yet began before the end of the journal that was read.
        works = self._activity.state in ("", "running")
        return "needs_you" if self._activity.needs_person else "running" if works else "idle"

    @property
    def text(self) -> str:
        """What it does, in one line."""
        return self._activity.text()

    def read(self) -> None:
        """Read what was written since the last time; what cannot be read changes nothing."""
        try:
            size = os.stat(self._path, follow_symlinks=False).st_size
            if size == self._place:
                return
            file = open_regular(self._path)
        except OSError:
            return
        try:
            cut = self._place < 0 < size - _TAIL
            place = max(0, size - _TAIL) if self._place < 0 or size < self._place else self._place
            while data := os.pread(file, _MOST, place):
                end = data.rfind(b"\n") + 1
                if not end and len(data) < _MOST:
                    break
                lines = data[: end or len(data)].split(b"\n")
                for line in lines[1:] if cut else lines:
                    self._add(line)
                cut, place = False, place + (end or len(data))
            self._place = place
        except OSError:
            return
        finally:
            os.close(file)

    def _add(self, line: bytes) -> None:
        try:
            self._activity = self._activity.after(decode_event(line))
        except ValueError:
            return
