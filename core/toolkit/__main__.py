"""Starts the local toolkit: `python -I -m ua_tui.core.toolkit START`, a `ToolkitStart` as JSON."""

from __future__ import annotations

from ua_tui.core.concurrency.garbage_collection import deferred, pause_collection

if __name__ == "__main__":
    # The imports below make hardly any garbage.
    pause_collection()

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.core.connections.toolkit_tools import PROGRAM, SERVER, toolkit_tools
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.mcp_server import ToolServer

if TYPE_CHECKING:
    from ua_tui.core.toolkit.calls import ToolCalls

INSTRUCTIONS = "Reads web pages in parallel and keeps files in the workspace of the session."
_LOOK_EVERY, _GRACE = 1.0, 2.0


def _open_calls(given: str) -> ToolCalls:
    with deferred():
        from ua_tui.core.toolkit.server import open_calls

    return open_calls(given)


def _end_with(parent: int) -> None:
    """End this process soon after its parent ends, even if its input stays open or a request is running."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    time.sleep(_GRACE)
    os._exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input closes; exit code 0, or 2 for a wrong start."""
    try:
        (given,) = sys.argv[1:] if arguments is None else arguments
        start = json.loads(given)
        if not (isinstance(start, dict) and isinstance(start.get("workspace"), str)):
            raise ValueError("its one argument is an object with a workspace")
    except ValueError as error:
        sys.stderr.write(f"{PROGRAM} is started by ua-tui: {clean_line(str(error), 200)}\n")
        return 2
    # Reading standard input blocks, and a KeyboardInterrupt would end in a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    has = {"always": True, "knowledge": start.get("knowledge"), "sandbox": start.get("session_file")}
    listed = [tool for group, tools in toolkit_tools().items() if has[group] for tool in tools]
    ToolServer(SERVER, "1", INSTRUCTIONS, listed, partial(_open_calls, given)).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
