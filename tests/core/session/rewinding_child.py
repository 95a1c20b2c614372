"""Goes back in sessions, each in a process of its own that is killed at a random moment: `test_rewinding.py` runs it.

The arguments are folders that have each a session, another beside it, and the agent's files. What the first one needs
is counted, in lines of Python; it is not killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from ua_tui.core.bus import Bus
from ua_tui.core.history.kept_versions import KeptVersions
from ua_tui.core.records.journal import Journal
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.session.rewinding import Rewinding
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL, Workspace
from ua_tui.core.view.session import fold


def go_back(base: Path) -> None:
    """Go back to before the second query, with the files, as a session does."""
    # The other one, which is as old, has a number.
    folder = min((base / WORKSPACES).iterdir())
    workspace = Workspace.claim(folder)
    rewinding = Rewinding(workspace, KeptVersions(workspace.root), base, base / "agent")
    view = fold(read_events(folder))
    plan = rewinding.look("q2", view).plan
    assert plan is not None
    prepared = rewinding.prepare("q2", plan.changes)
    bus, journal = Bus(view.seq), Journal(folder / JOURNAL, workspace.redactor)
    bus.subscribe(journal.append)
    bus.publish(prepared.event)
    assert rewinding.change_files(prepared) == {}


def main() -> None:
    """Count the lines of the first, and kill the others somewhere."""
    first, *others = map(Path, sys.argv[1:])
    lines, last = 0, 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return count

    sys.settrace(count)
    go_back(first)
    sys.settrace(None)
    chance, needed = random.Random(40), lines
    for base in others:
        last = chance.randrange(1, needed)
        if (pid := os.fork()) == 0:
            lines = 0
            sys.settrace(count)
            go_back(base)
            os._exit(0)
        os.waitpid(pid, 0)


main()
