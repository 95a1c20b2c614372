from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.bench.driven import Driven, Taken, probes, reported
from tests.bench.processes import resident_mb, running_seconds
from tests.bench.table import Row, Section, median, quantile
from tests.e2e.running import environment

FRAME_BOUND = 30.0
STALL_BOUND = 100.0
PREVIEW_BOUND = 200.0
IDLE_BOUND = 0.5
SECONDS = 120.0
FRAMES = 40
FILES = 5_000
GIGABYTE = 1_000_000_000
IDLE_SECONDS = 6.0
KEY_EVERY = 0.04
PAUSE = 0.06
WORD = "survey"
ROOT = Path(__file__).parents[2]
CHILD = "tests.bench.scale_child"
LINE = "2026-11-21T14:02:10.{0:03d}Z INFO fetched page {0} of the survey in 812 ms, 48 kB\n"
TRACE, WORKSPACE, TALK = "\x1bOR", "\x1b[15~", "\x1bOQ"
PAGE_UP, UP, DOWN, HOME, END, ENTER, ESCAPE = "\x1b[5~", "\x1b[A", "\x1b[B", "\x1b[H", "\x1b[F", "\r", "\x1b"
WRITER = """
import os, sys
for number in range(int(sys.argv[2])):
    with open(os.path.join(sys.argv[1], f"found_{number:05d}.json"), "w") as file:
        file.write("{}")
"""


def scale(base: Path, _runs: int) -> Section:
    """Ten thousand calls, thousands of files at once and a file of a gigabyte, as a person at the keys sees them."""
    command = [sys.executable, "-m", CHILD, str(base)]
    with Driven(
        command, cwd=base, env=environment(base, PYTHONPATH=str(ROOT), COLORTERM="truecolor")
    ) as driven:
        driven.until("10,000 calls", SECONDS)
        driven.rest(SECONDS)
        rows = [*_scrolling(driven), *_files(driven, base / "session"), *_gigabyte(driven, base / "session")]
        worked = running_seconds(driven.pid)
        driven.watch(IDLE_SECONDS)
        idle = (running_seconds(driven.pid) - worked) / IDLE_SECONDS * 100
        memory = resident_mb(driven.pid)
    rows.append(Row("idle with all that open", idle, "% CPU", IDLE_BOUND, f"over {IDLE_SECONDS:.0f} s"))
    rows.append(Row("memory with all that open", memory, "MB", None, "resident, this process alone"))
    return Section(rows)


def _scrolling(driven: Driven) -> list[Row]:
    """Page by page up through the trace: from the key to the last byte of what is painted."""
    driven.send(TRACE)
    driven.rest(SECONDS)
    frames: list[Taken] = []
    for _ in range(FRAMES):
        driven.watch(PAUSE)
        driven.forget()
        began = driven.send(PAGE_UP)
        frames.append(driven.taken(began, driven.painted(SECONDS)))
    took = [frame.took for frame in frames]
    how = f"{FRAMES} pages up, key to painted; p95 {quantile(took, 0.95):.0f} ms, longest {reported([max(frames)])}"
    return [Row("scroll a trace of 10,000 calls, a frame", median(took), "ms", FRAME_BOUND, how)]


def _files(driven: Driven, folder: Path) -> list[Row]:
    """Type while another process writes thousands of files into a folder that is in sight: the longest echo."""
    driven.send(WORKSPACE)
    driven.rest(SECONDS)
    driven.send(TALK)
    driven.rest(SECONDS)
    driven.send(ESCAPE)
    driven.rest(SECONDS)
    driven.forget()
    typed: dict[str, float] = {}
    began = time.perf_counter()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(FILES)])
    for letter in probes():
        if driven.came(f"{FILES:,} new") is not None:
            break
        typed[letter] = driven.send(letter)
        driven.watch(KEY_EVERY)
    seen = driven.until(f"{FILES:,} new", SECONDS)
    writer.wait()
    keys = [driven.taken(at, driven.until(letter, SECONDS)) for letter, at in typed.items()]
    driven.rest(SECONDS)
    how = f"all counted after {seen - began:.1f} s; {len(keys)} keys, longest {reported([max(keys)])}"
    return [
        Row(f"{FILES:,} files at once: a key waits", max(key.took for key in keys), "ms", STALL_BOUND, how)
    ]


def _gigabyte(driven: Driven, folder: Path) -> list[Row]:
    """The cursor comes to a file of a gigabyte, and Enter opens it: from the key to its text."""
    with (folder / "0.log").open("wb") as file:
        file.write("".join(LINE.format(number) for number in range(50_000)).encode())
        file.truncate(GIGABYTE)
    driven.send(WORKSPACE)
    driven.rest(SECONDS)
    driven.send(END)
    driven.rest(SECONDS)
    rows = []
    for what, key in (("the preview of a file of 1 GB", HOME), ("the viewer of a file of 1 GB", ENTER)):
        driven.forget()
        began = driven.send(key)
        taken = driven.taken(began, driven.until(WORD, SECONDS))
        rows.append(Row(what, taken.took, "ms", PREVIEW_BOUND, f"key to text; {reported([taken])}"))
        driven.rest(SECONDS)
    driven.send(ESCAPE)
    driven.rest(SECONDS)
    return rows
