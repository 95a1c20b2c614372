"""Past sessions that are broken or laid as traps: they are listed, opened or refused in a line, and never changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from core.storage.workspace import WORKSPACES
from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Text, scripted_model
from tests.e2e.terminal import TRACE, WORKSPACE, terminal
from tests.e2e.test_hostile import ESCAPES, MARKUP
from tests.e2e.test_hostile_places import DOWN, END, ENTER, ESC, HOME, UP, assert_harmless, leave, press
from tests.e2e.test_past_sessions import state

HUGE = 2 << 30
QUESTION = "Who is the CEO of Northwind Silicon?"


def sparse(path: Path, size: int = HUGE) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def lay_traps(sessions: Path) -> None:
    """Put down what a session's folder must not be, and a folder with all that must not lie in one."""
    for name in ("01", "02", "03", "04", "05", "06", "07"):
        (sessions / f"session_20261001_0000{name}").mkdir(parents=True)
    os.mkfifo(sessions / "session_20261001_000008")
    (sessions / "session_20261001_000009").symlink_to("/etc")
    (sessions / "session_20261001_000010").symlink_to("session_20261001_000010")
    sparse(sessions / "session_20261001_000011", 1 << 20)
    one, two, three, four, five, six, seven = (sessions / f"session_20261001_00000{n}" for n in range(1, 8))
    (one / "trace.json").mkdir()
    (one / "trace.json" / "inside.txt").write_text("inside")
    os.mkfifo(one / "run.log")
    sparse(one / "report.html")
    (one / "up").symlink_to("..")
    (one / "loop.md").symlink_to("loop.md")
    (one / f"{MARKUP[:30].replace('/', '')}\x1b]0;PWNED\x07.json").write_text(ESCAPES)
    (one / "journal.jsonl").write_bytes(b"")
    (two / "trace.json").write_bytes(b"")
    (two / "journal.jsonl").write_bytes(os.urandom(1 << 20))
    sparse(three / "trace.json")
    sparse(three / "journal.jsonl")
    os.mkfifo(four / "journal.jsonl")
    (five / "journal.jsonl").mkdir()
    (six / "journal.jsonl").symlink_to("journal.jsonl")
    (seven / "journal.jsonl").symlink_to("/proc/self/mem")


def torn(sessions: Path) -> Path:
    """A session that really ran, its journal torn in the middle and at its end, with what steers a terminal in it."""
    # The one that ran just now is later than all that were laid.
    whole = max(path for path in sessions.iterdir() if path.is_dir() and path.name.startswith("session_"))
    folder = sessions / "session_20261001_000020"
    shutil.copytree(whole, folder)
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    lines[5:5] = [
        lines[5][: len(lines[5]) // 2] + b"\n",
        b"\x00\xff\xfe{[\n",
        ESCAPES.encode() + b"\n",
        b"[" * 90_000 + b"\n",
    ]
    (folder / "journal.jsonl").write_bytes(b"".join(lines) + lines[-1][:40])
    return folder


def test_the_others_tab_lists_and_shows_them_and_a_torn_journal_gives_what_is_readable(
    tmp_path: Path,
) -> None:
    sessions = tmp_path / WORKSPACES
    lay_traps(sessions)
    before = state(sessions)
    with (
        scripted_model(lambda _body, _results: [Text("It is Maretta.")]) as url,
        terminal(tmp_path, QUESTION, columns=160, rows=45, env=model_environment(tmp_path, url)) as screen,
    ):
        screen.wait_for("It is Maretta.", "run.log", "● ready")
        press(screen, WORKSPACE, "t", "t")
        screen.wait_for("session_20261001_000007", "session_20261001_000001")
        # Neither links nor pipes nor files are sessions.
        assert not any(f"session_20261001_0000{n}" in screen.text for n in ("08", "09", "10", "11"))
        press(screen, END, "\x1b[C")
        screen.wait_for("loop.md", "report.html", "trace.json")
        for _ in range(9):
            press(screen, DOWN, "p" + "o", ENTER)
            if "Esc close" in screen.text:
                press(screen, END + "m", ESC)
                screen.wait_for(lambda text: "Esc close" not in text)
        press(screen, HOME)
        for _ in range(7):
            press(screen, "\x1b[C" + DOWN + DOWN)
        assert_harmless(screen)
        # The program answers, and the traps are as they were laid.
        leave(screen)
        assert_harmless(screen)
    assert [each for each in state(sessions) if "session_20261001" in each[0]] == before[1:]

    folder = torn(sessions)
    before = state(folder)
    with terminal(tmp_path, "open", os.fspath(folder), columns=160, rows=50) as screen:
        screen.wait_for(
            "past session",
            QUESTION,
            "4 lines of its journal are damaged",
            "The last line of its journal was cut",
        )
        press(screen, TRACE, END + ENTER)
        assert_harmless(screen)
        press(screen, ESC)
        leave(screen)
        assert_harmless(screen)
    assert state(folder) == before


def test_what_is_no_journal_is_refused_in_a_line_and_what_holds_nothing_says_so(tmp_path: Path) -> None:
    sessions = tmp_path / WORKSPACES
    lay_traps(sessions)
    before = state(sessions)
    for number, reported in (
        (4, "not a regular file"),
        (5, "not a regular file"),
        (6, "its journal is a link"),
        (7, "its journal is a link"),
    ):
        done = run(tmp_path, "open", f"session_20261001_00000{number}")
        assert (done.code, done.stdout) == (2, "")
        assert reported in done.stderr
        assert done.stderr.count("\n") == 1
    for number in (8, 10, 11):
        done = run(tmp_path, "open", f"session_20261001_0000{number:02}")
        assert (done.code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    for number in (1, 2, 3):
        with terminal(tmp_path, "open", f"session_20261001_00000{number}", columns=120, rows=40) as screen:
            screen.wait_for("past session · crashed")
            press(screen, TRACE, END, WORKSPACE, END, UP, ENTER)
            press(screen, ESC)
            assert_harmless(screen)
            leave(screen)
            assert_harmless(screen)
    assert state(sessions) == before
