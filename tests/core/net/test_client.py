from __future__ import annotations

import asyncio
import gzip
import pickle
import resource
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import httpcore
import pytest
import stamina
import stamina.instrumentation
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from ua_tui.core.errors import ConnectionFailed, FetchRefused
from ua_tui.core.net.addresses import Routes, is_public, parse_endpoint
from ua_tui.core.net.bodies import Inflater, check_type, content_type, declared_encoding
from ua_tui.core.net.client import RETRY_AFTER_CAP, Fetcher
from ua_tui.core.net.dialer import GuardedBackend
from ua_tui.core.toolkit.sources.web_page import guess_encoding

CASES = cases_of(__file__)

ARTICLE = b"<html><body><p>Hello</p></body></html>"


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    writer: asyncio.StreamWriter

    async def answer(self, body: bytes = ARTICLE, status: str = "200 OK", **headers: str) -> None:
        lines = {"content-type": "text/html", "content-length": str(len(body))}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        self.writer.write(f"HTTP/1.1 {status}\r\n{head}connection: close\r\n\r\n".encode() + body)
        await self.writer.drain()


Handler = Callable[[Request], Awaitable[None]]


@dataclass
class Site:
    """A web server on loopback that answers by path and remembers what it was asked."""

    port: int = 0
    pages: dict[str, Handler] = field(default_factory=dict)
    seen: list[Request] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def hits(self) -> Counter[str]:
        return Counter(request.path for request in self.seen)

    def fetcher(self, **options: object) -> Fetcher:
        defaults: dict[str, object] = {"routes": {".example": self.place}}
        return Fetcher(**{**defaults, **options})  # type: ignore[arg-type]  # options of one test

    def page(self, path: str, body: bytes = ARTICLE, status: str = "200 OK", **headers: str) -> None:
        async def answer(request: Request) -> None:
            await request.answer(body, status, **headers)

        self.pages[path] = answer

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
            }
            request = Request(head[0].split()[1], headers, writer)
            if request.path != "/robots.txt" or request.path in self.pages:
                self.seen.append(request)
            if request.path in self.pages:
                await self.pages[request.path](request)
            else:
                await request.answer(b"", "404 Not Found")
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    site = Site()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(site.handle(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def without_waiting() -> Iterator[None]:
    hooks = stamina.instrumentation.get_on_retry_hooks()
    stamina.instrumentation.set_on_retry_hooks([])
    with stamina.set_testing(True, attempts=3):
        yield
    stamina.instrumentation.set_on_retry_hooks(hooks)


async def test_a_page_comes_back_whole(site: Site) -> None:
    site.page("/a?b=1", "<p>Grüße</p>".encode("latin-1"), content_type="text/html; charset=ISO-8859-1")
    async with site.fetcher() as fetcher:
        page = await fetcher.get("https://news.example/a?b=1#part")
    assert (page.url, page.final_url) == ("https://news.example/a?b=1#part", "https://news.example/a?b=1")
    assert (page.status, page.media_type, page.text) == (200, "text/html", "<p>Grüße</p>")
    headers = site.seen[0].headers
    assert headers["host"] == "news.example"
    assert headers["accept-encoding"] == "gzip, deflate"


async def test_an_allowed_private_place_is_dialled_by_name_and_port_only(site: Site) -> None:
    site.page("/")
    async with site.fetcher(allow=[f"LOCALHOST:{site.port}"], routes={}) as fetcher:
        assert (await fetcher.get(f"http://localhost:{site.port}/")).body == ARTICLE
        for other in (f"http://127.0.0.1:{site.port}/", "http://localhost/", "http://localhost:1/"):
            with pytest.raises(FetchRefused):
                await fetcher.get(other)
    assert len(site.seen) == 1


async def test_refused_before_any_connection(site: Site) -> None:
    refused = CASES["refused_before_any_connection.refused"]
    refused["well-formed"].append("http://" + "a" * 5000)
    async with site.fetcher() as fetcher:
        for reason, urls in refused.items():
            for url in urls:
                with pytest.raises(FetchRefused, match=reason) as caught:
                    await fetcher.get(url)
                assert "\x1b" not in str(caught.value)
    assert site.seen == []


class Recorder(httpcore.AsyncNetworkBackend):
    """Notes what is dialled, and reaches nothing."""

    def __init__(self) -> None:
        self.dialled: list[tuple[str, int]] = []

    async def connect_tcp(self, host: str, port: int, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        self.dialled.append((host, port))
        raise httpcore.ConnectError("recorded")


@pytest.mark.parametrize(
    ("answers", "refused", "dialled"),
    [
        # The address that was checked is the one that is dialled: the name is asked for once.
        ([["93.184.216.34"], ["127.0.0.1"]], None, ["93.184.216.34"]),
        ([["127.0.0.1"]], r"127\.0\.0\.1", []),
        # One private answer among public ones refuses the name.
        ([["93.184.216.34", "2606:4700::1111", "192.168.1.1"]], r"192\.168\.1\.1", []),
        # The next address is tried when one does not answer.
        ([["93.184.216.34", "93.184.216.35"]], None, ["93.184.216.34", "93.184.216.35"]),
    ],
)
async def test_dialled_was_checked(answers: list[list[str]], refused: str | None, dialled: list[str]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return answers.pop(0)

    recorder = Recorder()
    backend = GuardedBackend(resolve=resolve, backend=recorder)
    asked = len(answers)
    with pytest.raises(FetchRefused if refused else httpcore.ConnectError, match=refused):
        await backend.connect_tcp("several.example", 443)
    assert recorder.dialled == [(address, 443) for address in dialled]
    assert len(answers) == asked - 1


async def test_redirects_are_followed_and_every_hop_is_judged(site: Site) -> None:
    site.page("/start", b"", "302 Found", location="/next")
    site.page("/next", b"", "308 Permanent Redirect", location="https://other.example/end")
    site.page("/end")
    for path, location in (
        ("/meta", "http://169.254.169.254/latest"),
        ("/home", f"http://127.0.0.1:{site.port}/end"),
        ("/file", "file:///etc/passwd"),
        ("/user", "https://a:b@news.example/end"),
        ("/bad", "http://0177.0.0.1/"),
    ):
        site.page(path, b"", "302 Found", location=location)
    async with site.fetcher() as fetcher:
        page = await fetcher.get("https://news.example/start")
        assert page.final_url == "https://other.example/end"
        assert [request.headers["host"] for request in site.seen] == [
            "news.example",
            "news.example",
            "other.example",
        ]
        for path in ("/meta", "/home", "/file", "/user", "/bad"):
            with pytest.raises(FetchRefused):
                await fetcher.get(f"https://news.example{path}")
    assert site.hits["/end"] == 1


async def test_a_sixth_redirect_is_refused(site: Site) -> None:
    for number in range(10):
        site.page(f"/{number}", b"", "302 Found", location=f"/{number + 1}")
    site.page("/10")
    async with site.fetcher() as fetcher:
        assert (await fetcher.get("https://news.example/5")).final_url.endswith("/10")
        with pytest.raises(FetchRefused, match="more than 5 times"):
            await fetcher.get("https://news.example/4")
        site.page("/round", b"", "302 Found", location="/trip")
        site.page("/trip", b"", "302 Found", location="/round")
        with pytest.raises(FetchRefused, match="in a circle"):
            await fetcher.get("https://news.example/round")


async def test_compressed_bodies_are_unpacked(site: Site) -> None:
    body = b"".join(b"line %d\n" % number for number in range(20_000))
    packers: list[tuple[str, Callable[[bytes], bytes]]] = [
        ("", bytes), ("identity", bytes), ("gzip", gzip.compress), ("X-GZip", gzip.compress),
        ("deflate", zlib.compress), ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("zstd", zstandard.compress),
    ]  # fmt: skip
    async with site.fetcher() as fetcher:
        for encoding, pack in packers:
            site.page("/", pack(body), content_encoding=encoding)
            assert (await fetcher.get("http://news.example/")).body == body, encoding


async def test_bodies_beyond_the_limits_are_given_up(site: Site) -> None:
    async def endless(request: Request) -> None:
        request.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
        while not request.writer.is_closing():
            request.writer.write(b"x" * 65536)
            await request.writer.drain()

    site.pages["/endless"] = endless
    site.page("/declared", b"x", content_length=str(10**12))
    site.page("/bomb", gzip.compress(b"\0" * (64 << 20), 9), content_encoding="gzip")
    site.page("/zstd", zstandard.compress(b"\0" * (64 << 20)), content_encoding="zstd")
    site.page("/swollen", gzip.compress(bytes(range(256)) * 4096), content_encoding="gzip")
    async with site.fetcher(max_bytes=300_000, max_decoded=1_000_000) as fetcher:
        for path in ("/endless", "/declared", "/bomb", "/zstd", "/swollen"):
            with pytest.raises(FetchRefused, match=r"larger than|expands"):
                await fetcher.get(f"https://news.example{path}")


async def test_a_page_that_never_ends_runs_into_the_deadline(site: Site) -> None:
    async def silent(request: Request) -> None:
        await asyncio.Event().wait()

    async def drip(request: Request) -> None:
        request.writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
        while not request.writer.is_closing():
            request.writer.write(b"x")
            await request.writer.drain()
            # A site that is slow and never silent: the limit for one byte does not end it.
            await asyncio.sleep(0.01)

    site.pages |= {"/silent": silent, "/drip": drip}
    async with site.fetcher(timeout=0.2) as fetcher:
        for path in ("/silent", "/drip"):
            with pytest.raises(ConnectionFailed, match=r"longer than 0\.2 seconds|does not answer") as caught:
                await fetcher.get(f"https://news.example{path}")
            assert caught.value.code == "timeout"


async def test_only_pages_texts_and_pdfs_are_read(site: Site) -> None:
    site.page("/none-html", b" <!doctype html><p>x", content_type="")
    site.page("/none-text", b"PKI is plain words", content_type="")
    site.page("/pdf", b"%PDF-1.7 \xff", content_type="application/pdf")
    site.page("/json", b"{}", content_type="Application/JSON; charset=utf-8")
    site.page("/zip", b"PK\x03\x04", content_type="application/octet-stream")
    async with site.fetcher() as fetcher:
        paths = ("/none-html", "/none-text", "/pdf", "/json")
        kinds = [(await fetcher.get(f"https://news.example{path}")).media_type for path in paths]
        assert kinds == ["text/html", "text/plain", "application/pdf", "application/json"]
        # What a file really is decides.
        site.page("/plain", b"<!DOCTYPE html><p>x", content_type="text/plain")
        assert (await fetcher.get("https://news.example/plain")).media_type == "text/html"
        site.page("/picture", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", content_type="text/html")
        with pytest.raises(FetchRefused, match="a picture"):
            await fetcher.get("https://news.example/picture")
        assert (await fetcher.get("https://news.example/pdf")).text == ""
        with pytest.raises(FetchRefused, match="type"):
            await fetcher.get("https://news.example/zip")


async def test_what_may_pass_is_tried_again(site: Site) -> None:
    async def recovering(request: Request) -> None:
        if site.hits[request.path] < 3:
            await request.answer(b"", f"{request.path[1:]} X", retry_after="0")
        else:
            await request.answer()

    async with site.fetcher() as fetcher:
        for path in ("/429", "/502", "/503", "/504"):
            site.pages[path] = recovering
            assert (await fetcher.get(f"https://news.example{path}")).body == ARTICLE
            assert site.hits[path] == 3
        # A nonsense wait is no error, and a site that does not recover is left alone.
        nonsense = "whenever \N{SNOWMAN}".encode().decode("latin-1")
        site.page("/", b"", "503 Unavailable", retry_after=nonsense)
        with pytest.raises(ConnectionFailed, match="answers with 503"):
            await fetcher.get("https://news.example/")
    assert site.hits["/"] == 3


@pytest.mark.parametrize(
    ("header", "wait"),
    [("3", 3.0), ("86400", RETRY_AFTER_CAP), ("Thu, 01 Jan 2099 00:00:00 GMT", RETRY_AFTER_CAP)],
)
async def test_the_wait_a_site_asks_for_is_kept_up_to_a_cap(site: Site, header: str, wait: float) -> None:
    waits: list[float] = []
    waiting = asyncio.Event()

    def remember(details: stamina.instrumentation.RetryDetails) -> None:
        waits.append(details.wait_for)
        waiting.set()

    stamina.instrumentation.set_on_retry_hooks([remember])
    site.page("/", b"", "503 Unavailable", retry_after=header)
    with stamina.set_testing(False):
        async with site.fetcher() as fetcher:
            fetching = asyncio.create_task(fetcher.get("https://news.example/"))
            await waiting.wait()
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)
    assert waits == [pytest.approx(wait)]


async def test_robots_are_asked_once_for_a_site_and_obeyed(site: Site) -> None:
    site.page("/robots.txt", b"User-agent: *\nDisallow: /private/*.html$\n", content_type="text/plain")
    site.page("/a")
    site.page("/b")
    site.page("/private/x.html")
    async with site.fetcher() as fetcher:
        await asyncio.gather(*(fetcher.get(f"https://news.example/{name}") for name in "abab"))
        with pytest.raises(FetchRefused, match=r"robots\.txt"):
            await fetcher.get("https://news.example/private/x.html")
        assert site.hits["/robots.txt"] == 1
        await fetcher.get("https://other.example/a")
        assert site.hits["/robots.txt"] == 2
    assert site.hits["/private/x.html"] == 0


async def test_robots_can_name_this_program(site: Site) -> None:
    site.page("/robots.txt", b"User-agent: ua-tui\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    site.page("/a")
    async with site.fetcher() as fetcher:
        with pytest.raises(FetchRefused, match=r"robots\.txt"):
            await fetcher.get("https://news.example/a")
    site.page("/robots.txt", b"User-agent: writer\nDisallow: /\n\nUser-agent: *\nAllow: /\n")
    async with site.fetcher() as fetcher:
        await fetcher.get("https://news.example/a")
    # A site without any forbids nothing.
    for status in ("404 Not Found", "403 Forbidden"):
        site.page("/robots.txt", b"User-agent: *\nDisallow: /\n", status)
        async with site.fetcher() as fetcher:
            await fetcher.get("https://news.example/a")


async def test_the_target_of_a_redirect_is_asked_for_its_own_robots(site: Site) -> None:
    async def robots(request: Request) -> None:
        closed = request.headers["host"] == "closed.example"
        await request.answer(b"User-agent: *\nDisallow: /\n" if closed else b"")

    site.pages["/robots.txt"] = robots
    site.page("/a", b"", "302 Found", location="https://closed.example/b")
    site.page("/b")
    async with site.fetcher() as fetcher:
        with pytest.raises(FetchRefused, match=r"robots\.txt"):
            await fetcher.get("https://open.example/a")
    assert site.hits["/b"] == 0


async def test_a_site_whose_robots_cannot_be_read_is_not_read(site: Site) -> None:
    site.page("/robots.txt", b"", "500 Error")
    site.page("/a")
    async with site.fetcher() as fetcher:
        with pytest.raises(ConnectionFailed, match=r"robots\.txt answers with 500"):
            await fetcher.get("https://news.example/a")
        site.page("/robots.txt", b"\xff\xfe\0 nonsense" * 100_000, content_type="image/png")
        await fetcher.get("https://news.example/a")
    assert site.hits["/a"] == 1


@pytest.mark.parametrize(("concurrency", "per_host", "most"), [(10, 2, 2), (3, 10, 3)])
async def test_a_few_requests_run_at_once(site: Site, concurrency: int, per_host: int, most: int) -> None:
    running: set[int] = set()
    peak = 0
    arrived, released = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def slow(request: Request) -> None:
        nonlocal peak
        running.add(id(request))
        peak = max(peak, len(running))
        arrived.release()
        await released.acquire()
        running.discard(id(request))
        await request.answer()

    urls = [f"https://news.example/{number}" for number in range(8)]
    site.pages = {f"/{number}": slow for number in range(8)}
    async with site.fetcher(concurrency=concurrency, per_host=per_host) as fetcher:
        fetching = [asyncio.create_task(fetcher.get(url)) for url in urls]
        for _ in urls:
            await arrived.acquire()
            released.release()
        pages = await asyncio.gather(*fetching)
    assert [page.url for page in pages] == urls
    assert peak <= most


async def test_nothing_is_carried_to_the_next_request(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    site.page("/", set_cookie="id=1; Path=/")
    async with site.fetcher() as fetcher:
        await fetcher.get("https://news.example/")
        await fetcher.get("https://news.example/")
    assert not any({"cookie", "authorization", "referer"} & request.headers.keys() for request in site.seen)


async def test_without_file_handles_the_limit_is_named_and_not_the_site(site: Site) -> None:
    site.page("/a", b"<p>text", content_type="text/html")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with site.fetcher() as fetcher:
        await fetcher.get("https://news.example/a")
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            with pytest.raises(ConnectionFailed, match=r"too many files are open.*ulimit -n") as caught:
                await fetcher.get("https://other.example/a")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert caught.value.code == "failed"
        assert (await fetcher.get("https://other.example/a")).status == 200


async def test_every_failure_has_a_code_and_a_reason_and_loses_no_sibling(site: Site) -> None:
    async def hang_up(request: Request) -> None:
        request.writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ncontent-type: text/html\r\n\r\nx")

    async def nonsense(request: Request) -> None:
        request.writer.write(b"\x00\x01 not http\r\n\r\n")

    async def resolve(host: str, port: int) -> list[str]:
        if host == "nowhere.invalid":
            raise OSError("Name or service not known")
        return [host]

    async def robots(request: Request) -> None:
        broken = request.headers["host"] == "broken.example"
        await request.answer(b"User-agent: *\nDisallow: /closed", "500 Error" if broken else "200 OK")

    statuses = ("400 Bad", "401 No", "403 Forbidden", "404 Not Found", "410 Gone", "500 Error", "304 Same")
    site.pages |= {"/robots.txt": robots, "/hang-up": hang_up, "/nonsense": nonsense}
    for status in statuses:
        site.page(f"/{status[:3]}", b"sorry", status)
    site.page("/inward", b"", "302 Found", location="http://169.254.169.254/")
    site.page("/declared", b"x", content_length=str(10**12))
    site.page("/bomb", gzip.compress(bytes(1 << 22)), content_encoding="gzip")
    site.page("/cut", gzip.compress(ARTICLE)[:-9], content_encoding="gzip")
    site.page("/damaged", b"\x1f\x8b\x08\0" + b"\xff" * 50, content_encoding="gzip")
    site.page("/br", b"x", content_encoding="br")
    site.page("/twice", b"x", content_encoding="gzip, gzip")
    site.page("/png", b"x", content_type="image/png")
    site.page("/binary", b"\0", content_type="")
    site.page("/good")
    expected = CASES["every_failure_has_a_code_and_a_reason"]
    urls = [*expected, "https://news.example/good"]
    async with site.fetcher(resolve=resolve, allow=["127.0.0.1:1"]) as fetcher:
        results = await asyncio.gather(*(fetcher.get(url) for url in urls), return_exceptions=True)
    *failed, good = results
    assert not isinstance(good, BaseException)
    for (url, (code, reason)), error in zip(expected.items(), failed, strict=True):
        assert getattr(error, "code", error) == code, url
        assert reason in str(error), url
    # What failed for good is not asked for twice.
    assert {site.hits[f"/{each[:3]}"] for each in statuses} == {1}


def test_an_error_keeps_its_code_when_it_is_copied() -> None:
    for error in (FetchRefused("no", code="robots"), ConnectionFailed("no", code="http_404")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.code) == (type(error), "no", error.code)


PRIVATE = """
127.0.0.1 0.0.0.0 10.1.2.3 172.16.0.1 192.168.0.1 169.254.169.254 100.127.255.255 192.0.0.8 192.88.99.1 198.18.0.1
224.0.0.1 240.0.0.1 255.255.255.255 168.63.129.16 :: ::1 ::ffff:10.0.0.1 64:ff9b::a00:1 fc00::1 fe80::1 fe80::1%eth0
fec0::1 ff02::1 2001:db8::1 2001::1 2002:a00:1:: 3fff::1 100::1 4000::1 x 1.2.3 0x7f.1
"""


def test_private_and_public_addresses_are_known() -> None:
    assert [address for address in ("", *PRIVATE.split()) if is_public(address)] == []
    public = ("8.8.8.8", "93.184.216.34", "::ffff:8.8.8.8", "2606:4700:4700::1111")
    assert [address for address in public if not is_public(address)] == []


@given(st.ip_addresses())
def test_no_public_address_is_one_the_standard_calls_private(address: IPv4Address | IPv6Address) -> None:
    if is_public(str(address)):
        plain = (isinstance(address, IPv6Address) and address.ipv4_mapped) or address
        assert plain.is_global
        assert not plain.is_multicast


def test_routes_take_names_below_their_suffix_to_endpoints_that_are_checked() -> None:
    routes = Routes.parse({".example": "127.0.0.1:80", "one.test": "[::1]:81", "": "127.0.0.1:82"})
    assert routes.place_of("News.Example.") == ("127.0.0.1", 80)
    assert routes.place_of("example") == ("127.0.0.1", 80)
    assert routes.place_of("a.one.test") == ("::1", 81)
    assert routes.place_of("badexample") is None
    assert routes.place_of("two.test") is None
    for text in ("", "host", "host:", ":80", "host:x", "host:0", "host:70000", "host:\N{SUPERSCRIPT TWO}"):
        with pytest.raises(ValueError, match="HOST:PORT"):
            parse_endpoint(text)


def test_the_encoding_is_chosen_as_browsers_do() -> None:
    wide = [
        ("<p>Grüße aus Köln".encode(each), "text/html", each[:6], each) for each in ("utf-16-le", "utf-32-le")
    ]
    narrow = ("<p>Grüße aus Köln".encode(), "text/html", "utf-16", "utf-8")
    rows = [(text.encode("latin-1"), *rest) for text, *rest in CASES["the_encoding_is_chosen_as_browsers_do"]]
    for body, media_type, charset, expected in (*rows, *wide, narrow):
        encoding = declared_encoding(body, media_type, charset)
        assert encoding == expected, (body, charset)
        body.decode(encoding or guess_encoding(body), "replace")


def test_content_types_are_split() -> None:
    assert content_type("Text/HTML; Charset=UTF-8") == ("text/html", "UTF-8")
    assert content_type("text/html\r\nx: y") == content_type("text/html  x: y")
    assert content_type("") == ("", "")


@given(
    st.binary(max_size=5000),
    st.integers(min_value=1, max_value=700),
    st.sampled_from([("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstandard.compress)]),
)
def test_a_body_unpacks_the_same_in_whatever_pieces_it_comes(
    data: bytes, step: int, packer: tuple[str, Callable[[bytes], bytes]]
) -> None:
    encoding, pack = packer
    packed = pack(data)
    inflater = Inflater(encoding, 10_000)
    pieces = [inflater.feed(packed[at : at + step]) for at in range(0, len(packed), step)]
    inflater.finish()
    assert b"".join(pieces) == data


def test_a_zlib_body_of_which_a_byte_comes_alone_is_not_taken_for_a_raw_one() -> None:
    # Without its first byte, this is a raw body.
    raw = zlib.compress(b"hello")[2:-4]
    inflater = Inflater("deflate", 10_000)
    inflater.feed(b"x")
    with pytest.raises(ConnectionFailed, match="damaged"):
        inflater.feed(b"\xff" + raw)
    inflater = Inflater("deflate", 10_000)
    inflater.feed(b"x")
    with pytest.raises(ConnectionFailed, match="damaged"):
        inflater.feed(raw)


def test_a_type_without_its_second_half_is_a_text() -> None:
    check_type("text")
