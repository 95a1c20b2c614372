"""Connections that say nothing, and what becomes of the session of a tab that is gone."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.waiting import PATIENCE, PAUSE, until
from ua_tui.tui.serve import server
from ua_tui.tui.serve import session as session_module
from ua_tui.tui.serve.guard import Guard
from ua_tui.tui.serve.session import ServedSession, Tab

DRAWING = """
import os, pathlib, signal, sys, time
def end(*_):
    pathlib.Path(sys.argv[1]).write_text("in good order")
    while pathlib.Path(sys.argv[1] + "-late").exists():
        time.sleep(0.01)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
os.write(1, b"__GANGLION__\\n")
drawn = b"D" + (100_000).to_bytes(4, "big") + b"x" * 100_000
while True:
    os.write(1, drawn)
"""


@asynccontextmanager
async def drawing(
    folder: Path, keep_seconds: float, most_tabs: int = 1
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A server whose session draws all the time, and one of its clients with the address of its websocket."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_module, "CHILD", (sys.executable, "-c", DRAWING))
        serving = server.Server(
            (str(folder / "ended"),),
            Guard(None, None),
            here=True,
            most_tabs=most_tabs,
            keep_seconds=keep_seconds,
        )
        origin = f"http://127.0.0.1:{await serving.start('127.0.0.1', 0)}"
        try:
            async with aiohttp.ClientSession(headers={"Origin": origin}) as client:
                yield client, f"{origin}/ws"
        finally:
            await serving.close()


async def first(websocket: aiohttp.ClientWebSocketResponse) -> Any:
    """The first message of the server to the page."""
    return json.loads(await asyncio.wait_for(websocket.receive_str(), PATIENCE))


async def test_a_connection_without_a_complete_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.05)
    serving = server.Server((), Guard(None, None), here=True, most_tabs=1, keep_seconds=0)
    port = await serving.start("127.0.0.1", 0)
    try:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: "):
            connection = socket.create_connection(("127.0.0.1", port))
            # Before the server knows of the connection: it may have closed it when this task runs again.
            connection.sendall(sent)
            reader, writer = await asyncio.open_connection(sock=connection)
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()
    finally:
        await serving.close()


async def test_a_session_that_no_tab_joins_in_time_ends_in_good_order(tmp_path: Path) -> None:
    async with drawing(tmp_path, keep_seconds=0.05) as (client, url):
        tab = await client.ws_connect(url)
        kind, session = await first(tab)
        assert kind == "session"
        # Once it draws, it handles the signal, too.
        await asyncio.wait_for(tab.receive_bytes(), PATIENCE)
        await tab.close()
        await until((tmp_path / "ended").exists)
        late = await client.ws_connect(url, params={"session": session})
        kind, why = await first(late)
        assert (kind, why["how"]) == ("ended", "has ended; its files are kept")
        # It takes nobody's place.
        new = await client.ws_connect(url, params={"waiting": f"{session},unknown"})
        kind, another = await first(new)
        assert kind == "session"
        assert another not in (session, "unknown")


async def test_a_new_tab_waits_for_the_place_of_a_session_that_ends(tmp_path: Path) -> None:
    late = tmp_path / "ended-late"
    late.touch()
    async with drawing(tmp_path, keep_seconds=0.05) as (client, url):
        tab = await client.ws_connect(url)
        _, session = await first(tab)
        await asyncio.wait_for(tab.receive_bytes(), PATIENCE)
        await tab.close()
        await until((tmp_path / "ended").exists)
        new = await client.ws_connect(url)
        late.unlink()
        kind, another = await first(new)
        assert kind == "session"
        assert another != session


async def test_a_new_tab_joins_the_session_whose_tab_was_closed_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 0
    leave = ServedSession.leave

    async def noting(self: ServedSession, tab: Tab) -> None:
        nonlocal left
        await leave(self, tab)
        left += 1

    def has_left(before: int) -> bool:
        return left > before

    monkeypatch.setattr(ServedSession, "leave", noting)
    async with drawing(tmp_path, keep_seconds=1000, most_tabs=2) as (client, url):
        tabs = [await client.ws_connect(url) for _ in range(2)]
        opened = [(await first(tab))[1] for tab in tabs]
        for tab in reversed(tabs):
            await asyncio.wait_for(tab.receive_bytes(), PATIENCE)
            before = left
            await tab.close()
            await until(partial(has_left, before))
        # The browser names the one first that was opened last.
        waiting = {"waiting": ",".join(reversed(opened))}
        joined = [await client.ws_connect(url, params=waiting) for _ in opened]
        assert [(await first(tab))[1] for tab in joined] == opened


@pytest.mark.parametrize("is_noticed", [True, False])
async def test_a_tab_that_does_not_answer_any_more_does_not_hold_up_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_noticed: bool
) -> None:
    """Whether or not the server notices it before another tab joins the session."""
    monkeypatch.setattr(server, "HEARTBEAT", 1.0 if is_noticed else 1000.0)
    monkeypatch.setattr(session_module, "CLOSE_SECONDS", 0.1)
    shown: list[Tab] = []
    show = ServedSession.show

    async def noting(self: ServedSession, tab: Tab, width: int, height: int) -> None:
        shown.append(tab)
        await show(self, tab, width, height)

    monkeypatch.setattr(ServedSession, "show", noting)
    async with drawing(tmp_path, keep_seconds=1000) as (client, url):
        asleep = await client.ws_connect(url)
        _, session = await first(asleep)
        waiting: list[int] = []
        # Nobody reads what is drawn: it piles up until nothing more is taken, or the server has noticed.
        while not shown[0].websocket.closed and (
            len(waiting) < 30 or len({*waiting[-30:]}) > 1 or not waiting[-1]
        ):
            waiting.append(shown[0].transport.get_write_buffer_size())
            await asyncio.sleep(PAUSE)
        if is_noticed:
            await until(lambda: shown[0].websocket.closed)
            # The other tab has time to answer, also on a busy machine.
            monkeypatch.setattr(server, "HEARTBEAT", 1000.0)
        joined = await client.ws_connect(url, params={"session": session})
        assert await first(joined) == ["session", session]
        drawn = 0
        async with asyncio.timeout(PATIENCE):
            while drawn < 2_000_000:
                drawn += len(await joined.receive_bytes())
        await joined.close()
    assert (tmp_path / "ended").read_text() == "in good order"
