"""What Textual gives ready-made, without anything of ours: `URL markdown|log`.

A line of input in which Enter asks the scripted server, whose answer streams into the stock Markdown widget, or into
a plain Log. The requests are made by hand: no library of a client is part of what is compared.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import ClassVar
from urllib.parse import urlsplit

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Log, Markdown
from textual.worker import Worker

LOG = "log"


class BareApp(App[None]):
    """An input and one widget above it that shows the answers one after the other."""

    CSS: ClassVar[str] = "VerticalScroll, Log { height: 1fr; } Markdown { height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+t", "change_theme", show=False, priority=True)]

    def __init__(self, url: str, kind: str) -> None:
        super().__init__()
        self._url = url
        self._kind = kind

    def compose(self) -> ComposeResult:
        if self._kind == LOG:
            yield Log()
        else:
            yield VerticalScroll()
        yield Input(placeholder="Ask anything")

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.cursor_blink = False
        line.focus()
        if self._kind != LOG:
            self.query_one(VerticalScroll).anchor()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.input.clear()
        _: Worker[None] = self.run_worker(partial(self._answer, event.value))

    async def _answer(self, query: str) -> None:
        if self._kind == LOG:
            log = self.query_one(Log)
            async for text in _pieces(self._url, query):
                log.write(text)
            return
        message = Markdown()
        await self.query_one(VerticalScroll).mount(message)
        stream = Markdown.get_stream(message)
        async for text in _pieces(self._url, query):
            await stream.write(text)
        await stream.stop()


async def _pieces(url: str, query: str) -> AsyncIterator[str]:
    """Ask the server; the pieces of its answer as they come."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    messages = [{"role": "user", "content": query}]
    body = json.dumps({"model": "scripted", "stream": True, "tools": [], "messages": messages}).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: {address.netloc}\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    while line := await reader.readline():
        if line.startswith(b"data: "):
            event = json.loads(line.removeprefix(b"data: "))
            if event["type"] == "content_block_delta":
                yield event["delta"]["text"]
            elif event["type"] == "message_stop":
                break
    writer.close()


if __name__ == "__main__":
    BareApp(sys.argv[1], sys.argv[2]).run()
