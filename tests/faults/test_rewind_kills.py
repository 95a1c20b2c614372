"""`kill -9` of the whole program while a session goes back with its files, and what the next start makes of it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.running import NOWHERE, model_environment, run
from tests.e2e.scripted_model import Text, last_query, scripted_model
from tests.e2e.terminal import Terminal, terminal
from tests.faults.conftest import Report
from tests.faults.evidence import Left, processes_in
from tests.waiting import wait_until
from ua_tui.core.events.types import SessionRewound, SessionStarted
from ua_tui.core.history.kept_versions import PENDING
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL

FIRST, SECOND, OTHER = "Make the files", "Change the files", "Do something else"
FILES = 40
"""Of each kind: changed, deleted and added by the second query."""
LATEST = 0.03
"""Seconds after a step of the change at which the program is killed at the latest."""
STEPS = ("the folder of the fork", "the fork", "the plan", "the event", "the first file", "the last file")
SAID = b'{"event":"session_rewound"'


def then() -> dict[str, str]:
    """The files before the second query, and what is in them."""
    return {
        f"{kind}/{number}.txt": f"{kind} {number}"
        for kind in ("changed", "deleted")
        for number in range(FILES)
    }


def now() -> dict[str, str]:
    """The files after it, with one that a person wrote later."""
    changed = {path: f"{text}, again" for path, text in then().items() if path.startswith("changed")}
    added = {f"added/{number}.txt": f"added {number}" for number in range(FILES)}
    return {**changed, **added, "mine.txt": "by hand"}


def write(folder: Path, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)


def texts_of(folder: Path) -> dict[str, str]:
    files = (path for each in ("changed", "deleted", "added") for path in folder.glob(f"{each}/*.txt"))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in (*files, folder / "mine.txt")}


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Sessions(NamedTuple):
    """Two sessions of a folder, of which one is to go back, and a copy of everything."""

    base: Path
    folder: Path
    other: Path
    copy: Path

    def has_come(self, step: int) -> bool:
        """Whether going back has done a step, or a later one."""
        sessions = self.folder.parent
        names = set(os.listdir(sessions)) - {self.folder.name, self.other.name}
        match STEPS[step]:
            case "the folder of the fork":
                return any(name.lstrip(".").startswith("session_") for name in names)
            case "the fork":
                return any(
                    (sessions / name / JOURNAL).exists() for name in names if name.startswith("session_")
                )
            case "the plan":
                return (self.folder / PENDING).exists() or self._is_said()
            case "the event":
                return self._is_said()
            case "the first file":
                return not all((self.folder / path).exists() for path in now())
            case _:
                return all((self.folder / path).exists() for path in then())

    def _is_said(self) -> bool:
        return SAID in (self.folder / JOURNAL).read_bytes()


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Sessions:
    """The sessions, made by the program; the model writes the files, as a command would."""
    base = tmp_path_factory.mktemp("rewind") / "base"

    def newest() -> Path:
        return max((base / WORKSPACES).glob("session_*"), key=lambda each: each.stat().st_ctime_ns)

    def answer(body: dict[str, Any], _results: int) -> tuple[Text]:
        query, _ = last_query(body, FIRST, SECOND, OTHER)
        if query == SECOND:
            shutil.rmtree(newest() / "deleted")
            write(newest(), {path: text for path, text in now().items() if path != "mine.txt"})
        else:
            write(newest(), then())
        return (Text("Done."),)

    with scripted_model(answer) as url:
        env = model_environment(base, url)
        for query in (OTHER, FIRST):
            assert run(base, "run", query, env=env).code == 0
        folder = newest()
        (other,) = {*folder.parent.glob("session_*")} - {folder}
        assert run(base, "run", "--resume", str(folder), SECOND, env=env).code == 0
    write(folder, {"mine.txt": "by hand"})
    copy = shutil.copytree(base, base.with_name("copy"), symlinks=True)
    return Sessions(base, folder, other, copy)


@pytest.mark.slow
@pytest.mark.parametrize("step", range(len(STEPS)))
def test_a_kill_while_a_session_goes_back(sessions: Sessions, report: Report, step: int) -> None:
    base, folder = sessions.base, sessions.folder
    shutil.rmtree(base)
    shutil.copytree(sessions.copy, base, symlinks=True)
    other, journal = content_of(sessions.other), (folder / JOURNAL).read_bytes()
    delay = random.Random(f"rewind {step}").uniform(0, LATEST)
    env = model_environment(base, NOWHERE)

    with terminal(base, "resume", str(folder), env=env) as screen:
        screen.wait_for("ready")
        screen.press_until("\x1bz", lambda text: "Rewind to which" in text)
        screen.wait_for("show what would change")
        screen.type("\r")
        screen.wait_for(f"Conversation and {3 * FILES} files")
        assert texts_of(folder) == now()
        answer_until(screen, lambda: sessions.has_come(step))
        # Real time, for a real race.
        time.sleep(delay)
        with suppress(ProcessLookupError):
            os.kill(int(screen.child.pid or 0), signal.SIGKILL)
        screen.end()
    wait_until(lambda: not processes_in(base), reported=lambda: processes_in(base))
    left = (folder / JOURNAL).read_bytes()
    assert left.startswith(journal)
    is_cut_off = (folder / PENDING).exists()

    with terminal(base, "resume", str(folder), env=env) as screen:
        screen.wait_for("ready")
        back = [each for each in Left(folder).events if isinstance(each, SessionRewound)]
        assert texts_of(folder) == (then() | {"mine.txt": "by hand"} if back else now())
        assert not (folder / PENDING).exists()
        screen.quit()

    assert len(back) == left.count(SAID)
    assert sum(isinstance(each, SessionStarted) for each in Left(folder).events) == 4
    if back:
        assert texts_of(folder.with_name(back[0].kept_as)) == now()
    assert content_of(sessions.other) == other
    end = f"{'completed' if back else 'undone'}{' by the next start' if is_cut_off else ''}"
    report(f"kill -9 of a rewind, after {STEPS[step]}", end)


def answer_until(screen: Terminal, holds: Callable[[], bool]) -> None:
    """Answer that the files go back, too, until something holds: a dialog takes no key in its first moments."""

    def answer_and_look() -> bool:
        screen.type("f")
        until = time.monotonic() + 3.0
        while time.monotonic() < until:
            if holds():
                return True
            assert screen.read(0.005)
        return False

    wait_until(answer_and_look, reported=lambda: screen.text)
