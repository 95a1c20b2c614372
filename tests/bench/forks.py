"""How long a fork of a session with many files takes: `FOLDER RESULT_FILE` measures one."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from tests.bench.apart import report_of
from tests.bench.large_journal import write_large_journal
from tests.bench.table import Row, median, spread
from ua_tui.core.session.fork import fork_session
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import seal_session

FILES, SIZE, BOUND, RUNS = 500, 200_000, 1.0, 5
SECONDS = 300.0


def fork_row(base: Path) -> Row:
    """What a fork of a session with 500 files of 100 MB together takes."""
    folder = base / "AGENT_RUN_WORKSPACES" / "session_20261121_060000"
    write_large_journal(folder, queries=4)
    chance = random.Random(4)
    for number in range(FILES):
        (folder / f"{number}.bin").write_bytes(chance.randbytes(SIZE))
    found = report_of("tests.bench.forks", str(folder), base, seconds=SECONDS)
    took, cpu = found["took"], median(found["cpu"])
    compared = f"{spread(took)}, {cpu * 1_000:.0f} ms of processor time; {FILES} files of {FILES * SIZE / 1e6:.0f} MB"
    return Row("fork", median(took), "s", BOUND, compared)


def measured(folder: Path) -> dict[str, list[float]]:
    """Fork it several times; times in seconds."""
    seal_session(Root(folder))
    took: list[float] = []
    cpu: list[float] = []
    for _ in range(RUNS):
        began, processor = time.perf_counter(), time.process_time()
        fork = fork_session(folder, base=folder.parents[1], agent_home=folder.parents[1], before="q4")
        took.append(time.perf_counter() - began)
        cpu.append(time.process_time() - processor)
        assert len(list(fork.glob("*.bin"))) == FILES
    return {"took": took, "cpu": cpu}


if __name__ == "__main__":
    os.sync()
    Path(sys.argv[2]).write_text(json.dumps(measured(Path(sys.argv[1]))), encoding="utf-8")
