"""Trust in whatever is in a folder, for tests of what its files do once they are trusted."""

from __future__ import annotations

from ua_tui.core.trust import FolderTrust

TRUSTED = FolderTrust(state="trusted", once=True)
