"""`ua-tui serve` as a process, its sessions, and a real browser that is driven over its DevTools."""

from __future__ import annotations

import asyncio
import base64
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.e2e.chromium import browser
from tests.e2e.running import environment, model_environment, program
from tests.journals import read_journal
from tests.waiting import PATIENCE, PAUSE
from ua_tui.core.events.types import Event


@dataclass
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    url: str
    base: Path

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"http://127.0.0.1:{parts.port}"

    @property
    def sessions(self) -> list[list[Event]]:
        """The events of every session that has begun its journal, oldest first."""
        journals = sorted((self.base / "AGENT_RUN_WORKSPACES").glob("session_*/journal.jsonl"))
        return [read_journal(journal).events for journal in journals]

    @property
    def children(self) -> list[str]:
        """The processes of the sessions that live."""
        reported = subprocess.run(
            ["ps", "-A", "-ww", "-o", "args"], capture_output=True, text=True, check=True
        )
        return [
            line
            for line in reported.stdout.splitlines()
            if "ua_tui.tui.cli.served_session" in line and str(self.base) in line
        ]


@contextmanager
def serving(base: Path, *args: str, model: str | None = None, **extra: str) -> Iterator[Served]:
    """Serve sessions of the demo, or with the model at an address, at a free port; `extra` is in the environment."""
    base.mkdir(parents=True, exist_ok=True)
    demo = () if model else ("--demo", "--demo-pace", "0")
    process = subprocess.Popen(
        [program(), "serve", *demo, "--trust-folder", "--workspace", str(base), "--port", "0", *args],
        cwd=base,
        env=model_environment(base, model, **extra) if model else environment(base, **extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.search(r"http://\S+", first)
        assert found is not None, first + process.stdout.read()
        yield Served(process, found[0], base)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


async def drawn(websocket: aiohttp.ClientWebSocketResponse, *wanted: str) -> str:
    """Read what is drawn until all of this was."""
    data = b""
    async with asyncio.timeout(PATIENCE):
        while not all(each.encode() in data for each in wanted):
            message = await websocket.receive()
            assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
            data += message.data if message.type is aiohttp.WSMsgType.BINARY else b""
    return data.decode("utf-8", "replace")


@asynccontextmanager
async def kept_open(websocket: aiohttp.ClientWebSocketResponse) -> AsyncIterator[None]:
    """Answer the server's pings while nobody reads what is drawn, as a browser does."""

    async def read() -> None:
        while not websocket.closed:
            await websocket.receive()

    reading = asyncio.create_task(read())
    try:
        yield
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading


class Page:
    """One page of a browser, at whose address its DevTools listen."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse, devtools: str) -> None:
        self._connection = connection
        self._devtools = devtools
        self._socket = ""
        self._drawn = b""
        self._number = 0
        self.asked_for: list[str] = []
        self.failures: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something, and return what it says of it."""
        self._number += 1
        await self._connection.send_json({"id": self._number, "method": method, "params": parameters})
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await self._connection.receive_json()
                reported = message.get("params", {})
                match message.get("method"):
                    case "Network.requestWillBeSent":
                        self.asked_for.append(reported["request"]["url"])
                    case "Network.webSocketCreated":
                        self.asked_for.append(reported["url"])
                        self._socket = reported["requestId"]
                    case "Network.webSocketFrameReceived" if reported["requestId"] == self._socket:
                        if reported["response"]["opcode"] == 2:
                            self._drawn += base64.b64decode(reported["response"]["payloadData"])
                    case "Runtime.exceptionThrown":
                        self.failures.append(str(reported))
                    case "Log.entryAdded" if reported["entry"]["level"] == "error":
                        self.failures.append(str(reported))
                if message.get("id") == self._number:
                    assert "error" not in message, message
                    result: dict[str, Any] = message["result"]
                    return result

    async def value(self, expression: str) -> Any:
        """Return what an expression of the page's language comes to."""
        return (await self.call("Runtime.evaluate", expression=expression))["result"].get("value")

    async def until(self, expression: str) -> None:
        """Wait until an expression holds in the page."""
        async with asyncio.timeout(PATIENCE):
            # The page is of another program, which tells nobody when it changes.
            while True:
                if await self.value(expression):
                    return
                await asyncio.sleep(PAUSE)

    async def loading(self, *wanted: str, **load: Any) -> None:
        """Load an address, or the page again, and wait until all of this is drawn."""
        self._socket, self._drawn = "", b""
        await self.call(*(("Page.navigate",) if load else ("Page.reload",)), **load)
        await self.drawing(*wanted)

    async def drawing(self, *wanted: str) -> None:
        """Wait until all of this has been drawn since the page was loaded."""
        async with asyncio.timeout(PATIENCE):
            while not all(each.encode() in self._drawn for each in wanted):
                await self.value("0")
                await asyncio.sleep(PAUSE)

    async def type(self, text: str) -> None:
        """Type a text, once the terminal of the page takes what is typed."""
        await self.until("document.activeElement.className === 'xterm-helper-textarea'")
        await self.call("Input.insertText", text=text)

    async def enter(self, text: str) -> None:
        """Type a text and Enter."""
        await self.type(text)
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **enter)

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[Page]:
        """Open another tab of the same browser, and close it afterwards."""
        async with aiohttp.ClientSession() as client:
            async with client.put(f"{self._devtools}/json/new?about:blank") as answer:
                opened = await answer.json()
            async with _connected(client, opened["webSocketDebuggerUrl"], self._devtools) as page:
                yield page
            async with client.get(f"{self._devtools}/json/close/{opened['id']}") as answer:
                assert answer.status == 200

    async def picture(self) -> bytes:
        """Return what the page looks like, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


@asynccontextmanager
async def _connected(client: aiohttp.ClientSession, address: str, devtools: str) -> AsyncIterator[Page]:
    async with client.ws_connect(address, max_msg_size=0) as connection:
        page = Page(connection, devtools)
        for domain in ("Network", "Runtime", "Log", "Page"):
            await page.call(f"{domain}.enable")
        yield page


@asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[Page]:
    """Start a browser without a window, with one empty page."""
    process = await asyncio.create_subprocess_exec(
        *browser(
            folder,
            "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            "--remote-debugging-port=0",
            "--remote-allow-origins=*",
            "--window-size=1300,800",
            "about:blank",
        ),
        env=environment(folder),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        found = None
        async with asyncio.timeout(PATIENCE):
            while found is None and (line := await process.stderr.readline()):
                found = re.search(rb"DevTools listening on ws://(\S+?)/", line)
        assert found is not None
        async with aiohttp.ClientSession() as client:
            devtools = f"http://{found[1].decode()}"
            address = None
            async with asyncio.timeout(PATIENCE):
                # The browser listens before it has opened its page.
                while address is None:
                    async with client.get(f"{devtools}/json") as answer:
                        pages = [each for each in await answer.json() if each["type"] == "page"]
                    address = next((each["webSocketDebuggerUrl"] for each in pages), None)
            async with _connected(client, address, devtools) as page:
                yield page
    finally:
        process.terminate()
        await process.communicate()
