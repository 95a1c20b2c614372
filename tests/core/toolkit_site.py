"""A small web site on loopback, for the toolkit's tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

SENTENCE = (
    "The new accelerator doubles memory bandwidth while keeping its power budget flat, the maker said. "
)

ROBOTS = b"User-agent: *\nDisallow: /private/\n"


def article_html(number: int) -> str:
    """A page with navigation, metadata, and an article with a table and links."""
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<title>Chip story {number} - Chip Daily</title><meta name="author" content="Ada Example">
<meta property="og:site_name" content="Chip Daily">
<meta property="article:published_time" content="2026-03-1{number % 10}T10:00:00Z"></head>
<body><nav><a href="/">Front page</a> <a href="/login">Subscribe today</a></nav>
<article><h1>Chip story {number}</h1><p>{SENTENCE * 3}</p>
<p>{SENTENCE * 2}Read <a href="/details/{number}">the details</a> as well.</p>
<table><tr><th>Part</th><th>Watts</th></tr><tr><td>Core</td><td>{number}00</td></tr></table>
</article><footer>All rights reserved by nobody in particular.</footer></body></html>"""


PAGES: dict[str, tuple[int, str, bytes]] = {
    "/robots.txt": (200, "text/plain", ROBOTS),
    "/shell": (200, "text/html", b"<html><body><div id=root></div><script>start()</script></body></html>"),
    "/paper.pdf": (200, "application/pdf", b"%PDF-1.7\n%binary"),
    "/picture": (200, "image/png", b"\x89PNG\r\n\x1a\n"),
    "/notes.txt": (200, "text/plain; charset=utf-8", "Plain notes, 中文 included.".encode()),
    "/data": (200, "application/json", b'{"watts": 300}'),
    "/private/memo": (200, "text/html", article_html(9).encode()),
    "/refused": (403, "text/html", b"<h1>No</h1>"),
    "/huge": (200, "text/html", b"<p>" + b"x" * (6 << 20) + b"</p>"),
}


@dataclass
class Site:
    """The running site: its address, what was asked of it (the heads of requests in small letters), and its pages."""

    address: str
    hits: Counter[str] = field(default_factory=Counter)
    heads: list[str] = field(default_factory=list)
    open_now: int = 0
    most_open: int = 0
    pages: dict[str, tuple[int, str, bytes]] = field(default_factory=lambda: dict(PAGES))
    headers: dict[str, str] = field(default_factory=dict)


def _answer(site: Site, path: str) -> tuple[int, str, bytes, str]:
    if path in site.pages:
        return (*site.pages[path], site.headers.get(path, ""))
    if path.startswith("/story/"):
        return 200, "text/html; charset=utf-8", article_html(int(path.rpartition("/")[2])).encode(), ""
    if path == "/inward":
        return 302, "text/html", b"", "Location: http://169.254.169.254/latest\r\n"
    return 404, "text/html", b"<h1>Not found</h1>", ""


@asynccontextmanager
async def running_site() -> AsyncIterator[Site]:
    """Serve the site on a free port of 127.0.0.1."""
    site = Site("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            target = head.split(b" ", 2)[1].decode()
            path = target.partition("?")[0]
            site.hits[path] += 1
            site.heads.append(head.decode().lower())
            site.open_now += path != "/robots.txt"
            site.most_open = max(site.most_open, site.open_now)
            status, kind, body, extra = _answer(site, path)
            writer.write(
                f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                f"{extra}Connection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
            site.open_now -= path != "/robots.txt"
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    site.address = f"{host}:{port}"
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()
