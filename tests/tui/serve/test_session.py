"""The end of the process of a served session, whoever waits for it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from tests.waiting import run_ready, until
from ua_tui.tui.serve import session as session_module
from ua_tui.tui.serve.session import ServedSession, Tab

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


async def test_all_who_end_a_session_wait_for_its_process_and_none_who_gives_up_cuts_it_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "CHILD", (sys.executable, "-c", CHILD))

    ended = tmp_path / "ended"
    session = ServedSession([str(ended)], here=True)
    await session.start(80, 24)
    await until((tmp_path / "ready").exists)
    first = asyncio.create_task(session.stop())
    await run_ready(1)
    first.cancel()
    await session.stop()
    assert ended.read_text() == "in good order"
    assert first.cancelled()
    left = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
    assert not any(name.startswith(("ServedSession.", "_drain")) for name in left)


class StillPage:
    """A tab that takes what is sent."""

    async def send(self, data: bytes | str) -> None:
        await asyncio.sleep(0)

    async def close(self, last: str) -> None:
        await asyncio.sleep(0)


async def test_a_page_that_joins_while_the_process_starts_does_not_start_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "CHILD", (sys.executable, "-c", CHILD))
    begun: list[object] = []
    begin = asyncio.create_subprocess_exec

    async def counted(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        begun.append(args)
        return await begin(*args, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    session = ServedSession([str(tmp_path / "ended")], here=True)
    first, second = (cast(Tab, StillPage()) for _ in "12")
    await asyncio.gather(session.show(first, 80, 24), session.show(second, 100, 30))
    await until((tmp_path / "ready").exists)
    assert len(begun) == 1
    await session.stop()
    assert session.is_over
