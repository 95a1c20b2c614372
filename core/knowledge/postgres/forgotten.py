"""The list of what was forgotten, in the database, so that no machine of the team brings it back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ua_tui.core.knowledge.postgres.connection import Link
from ua_tui.core.knowledge.removal.forgotten import Entry, ForgottenList

_NEW = (
    "SELECT id, entry, owner = current_user OR is_worker() FROM k_forgotten"
    " WHERE id > %s AND (everyone OR owner = coalesce(%s, current_user)) ORDER BY id"
)


class ForgottenRows(ForgottenList):
    """The hashes that hold for what is a role's: those of what it forgot itself, and of what workers did.

    A worker, which sees what all forgot, must not apply that to what is another's: `owner` is the role whose documents
    it stores, by default its own.
    """

    def __init__(self, link: Link, owner: str | None = None) -> None:
        super().__init__(Path("k_forgotten"))
        self._link = link
        self._owner = owner
        self._last = 0
        self._own: set[str] = set()

    @property
    def pending(self) -> list[Entry]:
        """What this role may remove, and what may still be there."""
        return [entry for entry in super().pending if entry.id in self._own]

    def refresh(self) -> bool:
        """Read what was added; returns whether there was anything."""
        last, before = self._last, len(self)
        rows = self._link.db.execute(_NEW, (last, self._owner)).fetchall()
        for number, entry, is_own in rows:
            self._last = number
            self._add(entry.encode())
            if is_own:
                self._own.add(msgspec.json.decode(entry, type=Entry).id)
        return self._last > last or len(self) > before

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._link.db.execute(
            "INSERT INTO k_forgotten (entry) VALUES (%s)", (msgspec.json.encode(entry).decode(),)
        )
        self.refresh()
