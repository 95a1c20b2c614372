"""Work that is given up when something else comes first: nothing continues behind it, and no failure is lost."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tui.fakes import FakeSession, make_session
from tests.waiting import PATIENCE, run_ready
from ua_tui.core.events.types import QueryFinished
from ua_tui.core.settings.model import Settings
from ua_tui.core.tasks import until
from ua_tui.tui import compose
from ua_tui.tui.plain.one_query import OneQuery, run_headless
from ua_tui.tui.plain.session import run_plain


class Work:
    """Work that continues until it is asked to end, and needs a while to stop."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.ended = False
        self._fails = fails

    async def __call__(self) -> str:
        self.began.set()
        try:
            await self.may_end.wait()
        finally:
            await run_ready(3)
            self.ended = True
            if self._fails is not None:
                raise self._fails
        return "made"


async def test_what_comes_first_counts_and_the_other_has_ended_by_then() -> None:
    work, end = Work(), Work()
    work.may_end.set()
    assert await until(work(), end()) == "made"
    assert end.ended
    work = Work()
    end.may_end.set()
    assert await until(work(), end()) is None
    assert work.ended
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    work.may_end.set()
    assert await until(work(), asyncio.shield(future)) == "made"
    assert not future.done(), "what is shielded stays what it is"


async def test_a_failure_of_either_is_reported_and_stops_the_other() -> None:
    end = Work()
    end.may_end.set()
    with pytest.raises(OSError, match="disk"):
        await until(Work(OSError("disk"))(), end())
    work, end = Work(), Work(OSError("disk"))
    end.may_end.set()
    with pytest.raises(OSError, match="disk"):
        await until(work(), end())
    assert work.ended


async def test_both_have_ended_when_whoever_waits_is_cancelled() -> None:
    work, end = Work(), Work()
    task = asyncio.ensure_future(until(work(), end()))
    await work.began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.ended
    assert end.ended


class Waited(FakeSession):
    """A session whose queries are waited for as `idle` says."""

    idle: Work
    last: QueryFinished | None = None
    auth = SimpleNamespace(pending=None)
    ended_before_close = False

    async def wait_idle(self) -> None:
        await self.idle()

    async def close(self, reason: str) -> None:
        self.ended_before_close = self.idle.ended
        if self.last is not None:
            self.bus.publish(self.last)
        await super().close(reason)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Waited:
    made = Waited(make_session(tmp_path).workspace)

    async def composed(*_: object, subscribers: Any = (), **__: object) -> Waited:
        for each in subscribers:
            made.bus.subscribe(each)
        return made

    monkeypatch.setattr(compose, "compose_session", composed)
    return made


@pytest.fixture
def nothing_typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    reading, writing = os.pipe()
    with open(reading) as piped, open(writing, "wb"):
        monkeypatch.setattr(sys, "stdin", piped)
        yield


async def test_a_headless_query_ends_before_its_session_closes(session: Waited, tmp_path: Path) -> None:
    session.idle = Work()
    running = asyncio.ensure_future(run_headless(Settings(workspace_base=tmp_path), OneQuery(text="Hello")))
    await session.idle.began.wait()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert session.closed == ["finished"]
    assert session.ended_before_close


async def test_a_query_that_takes_too_long_is_stopped_and_what_there_is_is_printed(
    session: Waited, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session.idle = Work()
    session.last = QueryFinished(query_id="q1", status="interrupted", text="Half an ans")
    settings = Settings(workspace_base=tmp_path)
    assert await run_headless(settings, OneQuery(text="Hello", timeout=0.05)) == 124
    assert session.closed == ["timeout"]
    assert session.ended_before_close
    out, err = capsys.readouterr()
    assert out == "Half an ans\n"
    assert err.endswith("ua-tui: the query was stopped after 0.05 s (--timeout)\n")


@pytest.mark.usefixtures("nothing_typed")
async def test_a_plain_session_reports_the_failure_of_its_query(session: Waited, tmp_path: Path) -> None:
    session.idle = Work(RuntimeError("the runner is gone"))
    session.idle.may_end.set()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(RuntimeError, match="the runner is gone"):
            await run_plain(Settings(workspace_base=tmp_path), "Hello")
    assert session.closed == ["finished"]
