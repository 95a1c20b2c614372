"""Programs on the terminal, which is lent by doing nothing: the application goes on, and ends them at its own end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from textual import events
from textual.app import ComposeResult
from textual.widgets import Input

from tests.waiting import PATIENCE, until
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.terminal import foreground
from ua_tui.tui.terminal.foreground import run_suspended, start_in_front

WAITS = 'touch began; n=0; while [ ! -e "$1" ] && [ $n -lt 6000 ]; do n=$((n+1)); sleep 0.02; done; '
"""A script that waits, in some minutes at most, for a file."""


class Lender(BaseApp):
    """Runs scripts in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Settings())
        self.folder = folder
        self.codes: list[int] = []

    def compose(self) -> ComposeResult:
        yield Input()

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.app_suspend_signal.publish(self)
        yield
        self.app_resume_signal.publish(self)

    def start(self, script: str) -> None:
        start_in_front(self, partial(self._run, script))

    async def _run(self, script: str) -> None:
        command = ["sh", "-c", f'cd "$0"; {script}', str(self.folder), "done"]
        self.codes.append(await run_suspended(self, command, "The script"))


async def test_the_application_goes_on_and_what_is_typed_is_not_for_it(tmp_path: Path) -> None:
    app = Lender(tmp_path)
    async with app.run_test() as pilot:
        app.start(f"{WAITS} exit 3")
        await until((tmp_path / "began").exists)
        assert app.is_suspended
        app.start("exit 4")
        app.post_message(events.Key("a", "a"))
        app.post_message(events.Paste("b"))
        app.call_later((tmp_path / "done").touch)
        await until(lambda: app.codes)
        assert not app.is_suspended
        await pilot.press("c")
        assert app.query_one(Input).value == "c"
        app.start("kill -TTIN $$; kill -TTOU $$; exit 5")
        await until(lambda: len(app.codes) > 1)
    assert app.codes == [3, 5]


async def test_the_end_of_the_application_ends_the_program_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreground, "_LAST_SECONDS", PATIENCE)
    app = Lender(tmp_path)
    async with app.run_test():
        app.start(f"trap 'touch hung; exit' HUP; {WAITS}")
        await until((tmp_path / "began").exists)
        app.exit()
        await until(lambda: not app.is_suspended)
        assert (tmp_path / "hung").exists()
    assert app.codes == []


async def test_a_program_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreground, "KILLED_AFTER", 0.0)
    monkeypatch.setattr(foreground, "_LAST_SECONDS", 0.5)
    app = Lender(tmp_path)
    async with app.run_test():
        app.start(f"trap '' HUP; echo $$ >number; {WAITS}")
        await until((tmp_path / "began").exists)
        app.exit()
        await until(lambda: not app.is_suspended)
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "number").read_text()), 0)


async def test_what_is_started_meanwhile_blocks_no_signal(tmp_path: Path) -> None:
    async def blocked() -> bytes:
        reader = await asyncio.create_subprocess_exec(
            "grep", "SigBlk", "/proc/self/status", stdout=asyncio.subprocess.PIPE
        )
        return (await reader.communicate())[0]

    before = await blocked()
    app = Lender(tmp_path)
    async with app.run_test():
        app.start(WAITS)
        await until((tmp_path / "began").exists)
        assert await blocked() == before
        (tmp_path / "done").touch()
        await until(lambda: app.codes)
