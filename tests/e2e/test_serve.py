"""The full screen served to browsers: what the server lets in, and what becomes of its sessions."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image
from textual.color import Color

from tests.e2e.chromium import BROWSER
from tests.e2e.live import of
from tests.e2e.running import command
from tests.e2e.scripted_model import Block, Text, scripted_model
from tests.e2e.served import browsing, drawn, kept_open, serving
from tests.waiting import PATIENCE, until
from ua_tui.core.events.types import Event, QueryFinished, QueryReceived, SessionFinished, SessionStarted
from ua_tui.tui.theme.themes import ABOUT, THEMES

TOKEN = "a-token-that-nobody-guesses"
QUERY = "What is the capital of France?"
SECRET = "sk-ant-api03-canary-9f8e7d6c5b4a"


async def refused(client: aiohttp.ClientSession, url: str, **headers: str) -> bool:
    try:
        async with client.ws_connect(url, headers=headers):
            return False
    except aiohttp.WSServerHandshakeError as error:
        return error.status == 403


def answers(_body: dict[str, Any], _results: int) -> Sequence[Block]:
    return [Text("It is Paris.")]


async def test_each_tab_has_a_session_with_the_options_that_ends_with_it_or_with_the_server(
    tmp_path: Path,
) -> None:
    options = (
        "--no-token",
        "--keep-minutes",
        "0",
        "--theme",
        "ua-light",
        "--permission-mode",
        "plan",
        "--max-turns=7",
        QUERY,
    )
    with scripted_model(answers) as model, serving(tmp_path, *options, model=model) as served:
        assert served.url == served.origin + "/"
        url = f"{served.origin}/ws?width=140&height=40"
        own = {"Origin": served.origin}
        async with aiohttp.ClientSession() as client:
            assert await refused(client, url)
            assert await refused(client, url, Origin="http://evil.example")
            assert await refused(client, url, Origin="http://evil.example", Host="evil.example")
            async with client.get(served.origin, headers={"Host": "evil.example"}) as answer:
                assert answer.status == 403
            assert served.sessions == []

            first = await client.ws_connect(url, headers=own)
            second = await client.ws_connect(url, headers=own)
            for noise in ("no json", "[]", '["resize", {"width": 1e99}]', '["stdin", 7]', "[" * 100_000):
                await first.send_str(noise)
            # The background of the light theme, in cells and beside them.
            light = ("Paris", "48;2;251;251;250", "\x1b]11;#FBFBFA\x07")
            for seen in await asyncio.gather(drawn(first, *light), drawn(second, *light)):
                assert "48;2;17;19;24" not in seen
            # A theme in the colours of the terminal restores the terminal's background.
            async with kept_open(second):
                await first.send_str(json.dumps(["stdin", "/theme\r"]))
                await drawn(first, ABOUT["ansi"])
                await first.send_str(json.dumps(["stdin", "\x1b[B\x1b[B\r"]))
                await drawn(first, "\x1b]111\x07")
            async with kept_open(first), kept_open(second):
                await first.send_str(json.dumps(["stdin", "And of Spain?\r"]))
                await until(
                    lambda: sorted(map(asked, served.sessions)) == [[QUERY], [QUERY, "And of Spain?"]]
                )
            assert len(served.children) == 2

            # The tab is closed.
            await first.close()
            await until(lambda: len(served.children) == 1)
            (closed,) = [events for events in served.sessions if len(asked(events)) == 2]
            assert isinstance(closed[-1], SessionFinished)

            served.process.terminate()
            code = await asyncio.to_thread(served.process.wait, PATIENCE)
            assert code == 0
            assert served.children == []
    for events in served.sessions:
        assert isinstance(events[-1], SessionFinished)
        (begun,) = [event for event in events if isinstance(event, SessionStarted)]
        assert begun.permission_mode == "plan"


@pytest.mark.smoke
async def test_not_even_a_killed_server_leaves_a_session_behind(tmp_path: Path) -> None:
    with scripted_model(answers) as model, serving(tmp_path, "--no-token", model=model) as served:
        url, own = f"{served.origin}/ws", {"Origin": served.origin}
        async with aiohttp.ClientSession() as client:
            left = await client.ws_connect(url, headers=own)
            await drawn(left, "ready")
            assert [type(events[0]) for events in served.sessions] == [SessionStarted]
            served.process.kill()
            await until(lambda: served.children == [])
            # It ended in order: nothing was asked, so its folder is gone.
            assert served.sessions == []
            await left.close()


BROKEN = {
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "no Host, HTTP/1.0": b"GET / HTTP/1.0\r\n\r\n",
    "two Hosts": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    "half an address": b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
    "no text": b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    "bad Origin": b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://[\r\n\r\n",
    "huge header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "20,000 headers": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: a\r\n" * 20_000 + b"\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\n\n\n",
    "bad target": b"GET http://[/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "long name": b"GET /static/" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    "bad chunk": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


def _status(port: int, request: bytes) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        answer = b""
        # Who answers before all was sent closes the connection.
        with suppress(ConnectionError):
            connection.sendall(request)
        while b"\r\n" not in answer and (piece := connection.recv(4096)):
            answer += piece
    return int(answer.split()[1])


async def test_nothing_is_served_without_the_token_nor_a_tab_too_many_and_broken_requests_cause_no_traceback(
    tmp_path: Path,
) -> None:
    options = ("--host", "0.0.0.0", "--token", TOKEN, "--max-tabs", "1", "--keep-minutes", "0")
    with serving(tmp_path, *options) as served:
        assert TOKEN not in served.url
        own, url = {"Origin": served.origin}, f"{served.origin}/ws"
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(served.origin, cookie_jar=jar) as client:
            for path in ("/", "/?token=wrong", "/page.js", "/static/js/textual.js", "/nowhere"):
                async with client.get(path) as answer:
                    assert answer.status == 403
                    page = await answer.text()
                for text in ("<h1>Not allowed</h1>", "needs the token", "background: #111318"):
                    assert text in page
                assert TOKEN not in page
                # The style stands in it: without the token nothing else is given.
                assert re.findall(r"(?:src|href|url)\W+([^\"')]+)", page) == ["data:,"]
            assert await refused(client, url, **own)
            assert await refused(client, f"{url}?token=wrong", **own)
            assert await refused(client, f"{url}?token={TOKEN}", Origin="http://evil.example")
            async with client.get(f"/?token={TOKEN}", allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/")
                assert "HttpOnly" in answer.headers["Set-Cookie"]
                assert "SameSite=Lax" in answer.headers["Set-Cookie"]
            async with client.get("/") as answer:
                assert answer.status == 200
                assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            async with client.get("/static/js/textual.js") as answer:
                assert answer.status == 200

            first = await client.ws_connect("/ws", headers=own)
            await drawn(first, "DEMO")
            second = await client.ws_connect("/ws", headers=own)
            kind, why = json.loads((await second.receive()).data)
            assert (kind, why["how"]) == ("ended", "was not started")
            assert "Only one tab can be open" in why["said"]
            assert len(served.children) == 1
            await second.close()

            port = int(served.origin.rpartition(":")[2])
            (cookie,) = jar
            values = {b"{host}": f"127.0.0.1:{port}".encode(), b"{cookie}": f"{cookie.key}={TOKEN}".encode()}
            statuses = {}
            for name, request in BROKEN.items():
                filled = request
                for place, value in values.items():
                    filled = filled.replace(place, value)
                statuses[name] = await asyncio.to_thread(_status, port, filled)
            assert set(statuses.values()) <= {400, 403, 404}, statuses
            # It quits by itself.
            await first.send_str(json.dumps(["stdin", "\x11"]))
            async with asyncio.timeout(PATIENCE):
                while not first.closed:
                    await first.receive()
            await until(lambda: served.children == [])
            async with client.get("/") as answer:
                assert answer.status == 200
        served.process.terminate()
        rest = await asyncio.to_thread(served.process.communicate, timeout=PATIENCE)
    assert all(isinstance(events[-1], SessionFinished) for events in served.sessions)
    # The first lines were read when it began.
    assert rest[0].replace("Ctrl+C ends it and its sessions.\n", "") == ""


def test_a_port_that_is_taken_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = command(tmp_path, "serve", "--demo", "--port", str(taken.getsockname()[1]))
    assert (done.code, done.stderr.count("\n")) == (2, 1)
    assert "--port" in done.stderr


def asked(events: list[Event]) -> list[str]:
    return [event.text for event in of(events, QueryReceived)]


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which .ci/run installs where it can")
async def test_the_page_shows_why_a_session_cannot_start(tmp_path: Path) -> None:
    with serving(tmp_path, ANTHROPIC_API_KEY=SECRET) as served:
        # The printed address has the token, also on loopback.
        assert len(served.url.partition("?token=")[2]) >= 32
        # No session can read its settings any more; what it says of that has a secret in it.
        (served.base / "ua-tui.toml").write_text(f'max_turns = "{SECRET}"\n')
        reported: list[str] = []
        async with aiohttp.ClientSession() as client, asyncio.timeout(PATIENCE):
            opened = await client.ws_connect(
                served.url.replace("?", "ws?"), headers={"Origin": served.origin}
            )
            async for message in opened:
                if message.type is aiohttp.WSMsgType.TEXT:
                    reported.append(message.data)
        (kind, why) = json.loads(reported[-1])
        assert (kind, why["how"], "max_turns" in why["said"]) == ("ended", "ended with code 2", True)
        assert SECRET not in reported[-1]
        async with browsing(tmp_path / "profile") as page:
            await page.call("Page.navigate", url=served.url)
            await page.until("document.body.classList.contains('-closed')")
            shown = str(await page.value("document.body.innerText"))
            for text in ("The session ended with code 2.", "max_turns", "Start another one"):
                assert text in shown
            assert "starts" not in shown
            assert page.failures == []
        assert served.sessions == []


def is_whole(picture: Image.Image) -> bool:
    """Whether a picture of the page shows a screen that fills it."""
    # Borders, text and marks of many shades, on a screen that is mostly empty.
    colours = sorted(picture.getcolors(1 << 24) or [], reverse=True)
    # What is left of the window beside the last column and below the last row belongs to the screen.
    edges = {picture.getpixel((x, picture.height - 1)) for x in range(picture.width)}
    edges |= {picture.getpixel((picture.width - 1, y)) for y in range(picture.height)}
    return (
        len(colours) > 100
        and colours[0][0] > picture.width * picture.height / 2
        and edges == {Color.parse(THEMES[0].background).rgb}
    )


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which .ci/run installs where it can")
async def test_a_real_browser_shows_the_screen_and_types_into_it(tmp_path: Path) -> None:
    with scripted_model(answers) as model, serving(tmp_path, "--token", TOKEN, model=model) as served:
        async with browsing(tmp_path / "profile") as page:
            await page.call("Page.navigate", url=f"{served.origin}/")
            await page.until("document.title === 'ua-tui: not allowed'")
            page.failures.clear()
            await page.call("Page.navigate", url=f"{served.origin}/?token={TOKEN}")
            await page.until("document.body.classList.contains('-first-byte')")
            assert await page.value("location.href") == f"{served.origin}/"
            await page.enter(QUERY)
            await until(lambda: [each for events in served.sessions for each in of(events, QueryFinished)])
            async with asyncio.timeout(PATIENCE):
                # The browser draws in its own time.
                while not is_whole(Image.open(io.BytesIO(await page.picture())).convert("RGB")):
                    pass
            # All of it came from the server itself, and the browser had nothing to complain of.
            hosts = {url.split("/")[2] for url in page.asked_for if not url.startswith("data:")}
            assert hosts == {served.origin.removeprefix("http://")}
            assert page.failures == []
    (events,) = served.sessions
    assert asked(events) == [QUERY]
    assert isinstance(events[-1], SessionFinished)


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium, which .ci/run installs where it can")
async def test_a_session_is_joined_again_after_a_reload_a_lost_connection_and_in_another_tab(
    tmp_path: Path,
) -> None:
    is_closed = "document.body.classList.contains('-closed')"
    with scripted_model(answers) as model, serving(tmp_path, model=model) as served:
        async with browsing(tmp_path / "profile") as page:
            await page.loading("Ask anything", url=served.url)
            await page.enter(QUERY)
            await page.drawing("Paris")
            # All of the screen, with its background and the mouse.
            await page.loading("Paris", QUERY, "\x1b]11;#", "\x1b[?1003h", "\x1b[?2004h")
            await page.enter("And of Spain?")
            await until(lambda: [asked(each) for each in served.sessions] == [[QUERY, "And of Spain?"]])
            # In one step: it joins again after a while.
            said = str(await page.value("lose(), document.body.innerText"))
            assert "The connection was lost." in said
            await page.until("document.body.classList.contains('-first-byte') && !isOver")

            async with page.beside() as second:
                # The session has a tab: the next one gets another session.
                await second.loading("Ask anything", url=served.origin)
                await until(lambda: len(served.children) == 2)
                # A copy of the first tab has what that one remembers.
                own = await page.value("sessionStorage.getItem('session')")
                await second.value(f"sessionStorage.setItem('session', '{own}')")
                await second.loading("Paris", "And of Spain?")
                await page.until(is_closed)
                assert "The session is shown in another tab now." in await page.value(
                    "document.body.innerText"
                )
                await page.value("document.getElementById('next').click()")
                await second.until(is_closed)
                await page.until("document.body.classList.contains('-first-byte')")
            await page.call("Page.navigate", url="about:blank")

            async with page.beside() as third:
                await third.loading("\x1b[?1049h", url=served.origin)
                while await third.value("sessionStorage.getItem('session')") != own:
                    # The server has not noticed yet that its tab is gone, and gave another one.
                    await third.value(f"sessionStorage.clear(), localStorage.setItem('sessions', '{own}')")
                    await third.loading("\x1b[?1049h")
                await third.drawing("Paris")
                before = len(served.children)
                # One that is asked for is new, and the other one waits.
                await third.loading("Ask anything", url=f"{served.origin}/?new")
                assert await third.value("location.search") == ""
                await until(lambda: len(served.sessions) == len(served.children) == before + 1)
                await page.loading("Paris", url=served.origin)
                await page.type("\x11")
                await page.until(is_closed)
                assert "The session has ended; its files are kept." in await page.value(
                    "document.body.innerText"
                )
                served.process.terminate()
                await third.until(is_closed)
                assert "ended with its server" in await third.value("document.body.innerText")
    assert all(isinstance(events[-1], SessionFinished) for events in served.sessions)
