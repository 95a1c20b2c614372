"""Opens the journal of a long session in the application, with a heartbeat beside it: `FOLDER RESULT_FILE`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from tests.bench.heartbeat import Heartbeat
from tests.bench.processes import resident_mb
from ua_tui.core.history.session import PastSession
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.replay.past_source import PastSource

SIZE = (160, 45)
SECONDS = 300.0
SETTLE = 0.5
OPENING, READING = "opening", "reading"


async def opened(folder: Path) -> dict[str, object]:
    """Open it, wait until the whole is on the screen, and tell what the heart felt; seconds and MB."""
    source = PastSource(PastSession(folder))
    app = UaTuiApp(load_settings({"workspace_base": folder.parent.parent}), source)
    heart = Heartbeat()
    heart.phase = OPENING
    began = time.perf_counter()
    async with app.run_test(size=SIZE):
        heart.start()
        async with asyncio.timeout(SECONDS):
            await source.end_shown.wait()
            heart.phase = READING
            await source.all_shown.wait()
        whole = time.perf_counter() - began
        await asyncio.sleep(SETTLE)
        heart.stop()
        memory = resident_mb(os.getpid())
    return heart.report() | {"whole": whole, "memory": memory}


def main(folder: str, result: str) -> None:
    """Measure, and write what was found to the file `result`."""
    Path(result).write_text(json.dumps(asyncio.run(opened(Path(folder)))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
