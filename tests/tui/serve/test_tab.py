"""The end of the process behind a browser tab, whoever waits for it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.waiting import run_ready, until
from ua_tui.tui.serve import tab as tab_module
from ua_tui.tui.serve.tab import BrowserTab

CHILD = """
import pathlib, signal, sys
ended = pathlib.Path(sys.argv[1])
def end(*_):
    ended.write_text("in good order")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
sys.stdout.write("__GANGLION__\\n")
sys.stdout.flush()
ended.with_name("ready").touch()
signal.pause()
"""


async def test_all_who_end_a_tab_wait_for_its_process_and_none_who_gives_up_cuts_it_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab_module, "CHILD", (sys.executable, "-c", CHILD))

    async def nothing(_: object = None) -> None:
        return None

    ended = tmp_path / "ended"
    tab = BrowserTab([str(ended)], write_bytes=nothing, write_str=nothing, close=nothing, here=True)
    await tab.start(80, 24)
    await until((tmp_path / "ready").exists)
    first = asyncio.create_task(tab.stop())
    await run_ready(1)
    first.cancel()
    await tab.stop()
    assert ended.read_text() == "in good order"
    assert first.cancelled()
    left = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
    assert not any(name.startswith(("BrowserTab.", "_drain")) for name in left)
