"""Programs that index the same folder: several at once, and such as are killed."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded, database_of, passages

KILLS = 6


def start(base: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.observers.knowledge.indexer", str(base)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=pipe, stderr=pipe, text=True)


@pytest.fixture
def undisturbed(tmp_path: Path) -> list[tuple[str, str, str]]:
    """Record sessions, and give the passages that one program indexes of them."""
    for day in range(1, 5):
        recorded = Recorded(tmp_path, f"session_202603{day:02}_120000")
        for number in range(40):
            words = " ".join(f"word{number * each % 997}" for each in range(400))
            recorded.write_report(f"report{number}", f"Report {number} of day {day}.\n\n{words}")
        recorded.answer(f"The reports of day {day} are written.")
    _, errors = start(tmp_path).communicate()
    assert not errors
    found = passages(database_of(tmp_path))
    for file in database_of(tmp_path).parent.glob("knowledge.db*"):
        file.unlink()
    return found


def test_four_programs_at_once(tmp_path: Path, undisturbed: list[tuple[str, str, str]]) -> None:
    programs = [start(tmp_path) for _ in range(4)]
    for program in programs:
        _, errors = program.communicate()
        assert not errors
        assert program.returncode == 0
    assert len(undisturbed) > 4 * 40 * 2
    assert passages(database_of(tmp_path)) == undisturbed


@pytest.mark.slow
def test_programs_that_are_killed(tmp_path: Path, undisturbed: list[tuple[str, str, str]]) -> None:
    generator = random.Random(17)
    for _ in range(KILLS):
        program = start(tmp_path)
        assert program.stdout is not None
        # It is killed in the middle of a piece.
        for _ in range(generator.randint(1, 4)):
            program.stdout.readline()
        program.kill()
        program.communicate()
    _, errors = start(tmp_path).communicate()
    assert not errors
    assert passages(database_of(tmp_path)) == undisturbed


def test_the_folder_disappears_while_it_is_indexed(
    tmp_path: Path, undisturbed: list[tuple[str, str, str]]
) -> None:
    program = start(tmp_path)
    assert program.stdout is not None
    program.stdout.readline()
    # All at once: otherwise each could be read while it is deleted.
    program.send_signal(signal.SIGSTOP)
    for folder in database_of(tmp_path).parent.glob("session_*"):
        shutil.rmtree(folder)
    program.send_signal(signal.SIGCONT)
    _, errors = program.communicate()
    assert not errors
    found = passages(database_of(tmp_path))
    # What was indexed before its folder was gone is whole; at most one was deleted while its last part was read.
    in_part = {folder for folder, _, _ in found} & {folder for folder, _, _ in {*undisturbed} - {*found}}
    assert len(in_part) <= 1
