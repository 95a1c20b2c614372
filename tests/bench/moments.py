"""How soon a replay shows any moment of a session, and how fast it plays: `FOLDER RESULT_FILE` measures one."""

from __future__ import annotations

import asyncio
import json
import math
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.bench.apart import ROOT, report_of
from tests.bench.forks import fork_row
from tests.bench.large_journal import write_large_journal
from tests.bench.table import Row, Section, median, spread
from tests.waiting import is_settled, until
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.replay.player import Player
from ua_tui.tui.replay.replay_source import ReplaySource

SEEK, FASTEST = 200.0, 20_000.0
QUERIES, SEEKS, RUNS = 34, 20, 3
SIZE = (160, 45)
SECONDS = 300.0
CHECKED = {
    "panes at 50 moments": "tests/tui/replay/test_replay.py::"
    "test_at_fifty_moments_the_panes_are_those_of_the_running_session",
    "broken journals": "tests/tui/replay/test_broken_journals.py",
    "30 kills of a rewind": "tests/core/session/test_rewinding.py::"
    "test_nothing_is_lost_in_30_kills_at_random_moments",
}
"""What holds or does not, and the tests that say so."""
SOURCE = (
    "tui/replay",
    "tui/comparison",
    "core/history/kept_versions.py",
    "core/session/fork.py",
    "core/session/rewinding.py",
    "core/history/recording.py",
    "core/history/past_files.py",
)
LINES = 6_000.0


def moments(base: Path, _runs: int) -> Section:
    """What it takes to go to any moment of 10,000 events, and to play all of them as fast as possible."""
    folder = base / "AGENT_RUN_WORKSPACES" / "session_20261121_060000"
    write_large_journal(folder, queries=QUERIES)
    found = report_of("tests.bench.moments", str(folder), base, seconds=SECONDS)
    events = f"{found['events']:,} events"
    seeks, whole, played = found["seeks"], found["whole"], found["played"]
    rate = found["events"] / median(played)
    cpu = f"{found['events'] / median(found['cpu']):,.0f} a second of processor time"
    return Section(
        [
            Row(
                "seek in a replay",
                max(seeks) * 1_000,
                "ms",
                SEEK,
                f"the slowest of {spread(seeks)}, {events}",
            ),
            Row("seek until everything before it is there", median(whole) * 1_000, "ms", None, spread(whole)),
            Row(
                "replay at max, per event",
                1e6 / rate,
                "µs",
                1e6 / FASTEST,
                f"{rate:,.0f} events a second; {cpu}",
            ),
            fork_row(base / "fork"),
            *(checked_row(name, tests, base) for name, tests in CHECKED.items()),
            source_row(),
        ]
    )


def checked_row(name: str, tests: str, base: Path) -> Row:
    """How many of the tests of something fail."""
    result = base / "result.xml"
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "0", f"--junitxml={result}", tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    suite = ElementTree.parse(result).find("testsuite") if result.exists() else None
    if suite is None or suite.get("tests") == "0":
        raise RuntimeError(f"{tests} cannot be run:\n{done.stdout}{done.stderr}")
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    return Row(name, failed, "failed", 0, f"of {suite.get('tests')} tests")


def source_row() -> Row:
    """How large the parts for replay, fork, rewind and comparison are."""
    files = [
        file for path in map(ROOT.joinpath, SOURCE) for file in (path, *path.rglob("*.py")) if file.is_file()
    ]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    return Row("source", lines, "lines", LINES, f"{len(files)} modules")


async def measured(folder: Path) -> dict[str, Any]:
    """Seek and play; times in seconds."""
    source = ReplaySource(folder, speed=math.inf)
    app = UaTuiApp(load_settings({"workspace_base": folder.parent.parent}), source)
    seeks: list[float] = []
    whole: list[float] = []
    played: list[float] = []
    cpu: list[float] = []
    chance = random.Random(4)
    async with app.run_test(size=SIZE):
        async with asyncio.timeout(SECONDS):
            await source.opened.wait()
            player = source.player
            assert player is not None
            for _ in range(RUNS):
                await _settle(player)
                player.seek(0)
                await _settle(player)
                began, processor = time.perf_counter(), time.process_time()
                player.play(playing=True)
                await until(lambda: player.is_at_end and not player.is_playing, SECONDS)
                played.append(time.perf_counter() - began)
                cpu.append(time.process_time() - processor)
            for _ in range(SEEKS):
                position = chance.randrange(len(player.recording))
                began = time.perf_counter()
                player.seek(position)
                await until(partial(_is_at, player, position), SECONDS)
                seeks.append(time.perf_counter() - began)
                await _settle(player)
                whole.append(time.perf_counter() - began)
    return {"events": len(player.recording), "seeks": seeks, "whole": whole, "played": played, "cpu": cpu}


def _is_at(player: Player, position: int) -> bool:
    return player.position == position


async def _settle(player: Player) -> None:
    await until(lambda: is_settled(player), SECONDS)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(asyncio.run(measured(Path(sys.argv[1])))), encoding="utf-8")
