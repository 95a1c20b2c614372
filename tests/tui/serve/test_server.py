from __future__ import annotations

import asyncio

import pytest

from tests.waiting import PATIENCE
from ua_tui.tui.serve import server
from ua_tui.tui.serve.guard import Guard


async def test_a_connection_without_a_complete_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.05)
    serving = server.Server((), Guard(None, None), here=True, most_tabs=1)
    port = await serving.start("127.0.0.1", 0)
    try:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: "):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()
    finally:
        await serving.close()
