"""A program of its own that indexes all sessions below a folder, and prints a line after each piece."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.observers.knowledge.recorded import database_of
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.catch_up import catch_up

if __name__ == "__main__":
    base = Path(sys.argv[1])
    with open_store(database_of(base)) as store:
        for piece in catch_up(store, base, Redactor()):
            print(piece, flush=True)
