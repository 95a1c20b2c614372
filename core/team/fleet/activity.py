"""What a session of this machine does now, from the end of its journal, which is read on as it grows."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path

from ua_tui.core.errors import JournalError
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.team.fleet.rows import FleetState
from ua_tui.core.view.activity import Activity

_TAIL = 256 << 10


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
        with suppress(JournalError, OSError):
            if os.stat(self._path, follow_symlinks=False).st_size == self._place:
                return
            with closing(PastJournal(self._path)) as journal:
                if not 0 <= self._place <= journal.size:
                    self._place = journal.tail_place(_TAIL)
                place = -1
                while place != self._place:
                    place = self._place
                    self._place, events = journal.more(place)
                    for event in events:
                        self._activity = self._activity.after(event)
