"""The guarded HTTP client: fetches public pages, and nothing else.

Names are resolved once, every address they resolve to is checked, and the checked address is dialled, so
that neither a redirect nor a second answer of a name server leads into a private network.

The robots.txt of a site says which pages programs may read; it is requested once a day.
"""

from __future__ import annotations

import asyncio
import errno
import math
import time
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext
from functools import partial

import httpx
import msgspec
from protego import Protego

from ua_tui.core.errors import ConnectionFailed, FetchRefused, advice_code, advise, chain_of
from ua_tui.core.events import units
from ua_tui.core.log import log
from ua_tui.core.net.addresses import Routes, parse_endpoint
from ua_tui.core.net.bodies import (
    Inflater,
    check_type,
    content_type,
    declared_encoding,
    is_html,
    is_unspecific,
    recognised_type,
)
from ua_tui.core.net.dialer import GuardedBackend, Resolver, guarded_transport, resolve_host
from ua_tui.core.net.retries import Retryable, retry_after, with_retries
from ua_tui.core.net.urls import DEFAULT_PORTS
from ua_tui.core.text import clean_line, is_unsafe


class _Site(msgspec.Struct):
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    rules: Protego | None = None
    until: float = -math.inf


class RobotsCache(msgspec.Struct, eq=False):
    """A cache of rules by site, for a day; the least recently used sites are dropped."""

    _sites: OrderedDict[str, _Site] = msgspec.field(default_factory=OrderedDict)

    async def check(
        self,
        origin: str,
        url: str,
        read: Callable[[], Awaitable[str]],
        waiting: Callable[[], AbstractContextManager[object]],
    ) -> None:
        """Check that the site of `origin` allows `url`, which is below it.

        `read` fetches the text of its robots.txt, empty when there is none; what it raises passes through,
        and the next one to ask reads again. `waiting` is entered while another one reads for the same site.

        Raises:
            FetchRefused: the rules forbid the page.
        """
        site = self._sites.setdefault(origin, _Site())
        self._sites.move_to_end(origin)
        while len(self._sites) > 1000:
            self._sites.popitem(last=False)
        with waiting():
            await site.lock.acquire()
        try:
            if site.rules is None or site.until <= time.monotonic():
                site.rules = _parse(await read(), origin)
                site.until = time.monotonic() + 24 * 3600.0
            rules = site.rules
        finally:
            site.lock.release()
        if not rules.can_fetch(url, USER_AGENT):
            raise FetchRefused("the site's robots.txt forbids it; choose another source", code="robots")


def _parse(text: str, origin: str) -> Protego:
    try:
        return Protego.parse(text)
    except Exception:
        log.warning("robots.txt of %s cannot be understood", clean_line(origin), exc_info=True)
        return Protego.parse("")


# What the services in front of sites send when they test whether a person visits.
_CHALLENGES = (
    ("cf-mitigated", {"challenge"}, "Cloudflare"),
    ("x-amzn-waf-action", {"challenge", "captcha"}, "AWS"),
    ("x-vercel-mitigated", {"challenge"}, "Vercel"),
)
# It is sent with pages, too.
_DATADOME = "x-datadome"


def bot_check(status: int, headers: httpx.Headers) -> ConnectionFailed | None:
    """Return the error of an answer that only checks whether a person visits; None if it is something else."""
    services = [
        name for header, values, name in _CHALLENGES if headers.get(header, "").strip().lower() in values
    ]
    if status in {403, 429} and _DATADOME in headers:
        services.append("DataDome")
    if services:
        return ConnectionFailed(
            advise("site.bot_check", status=status, service=services[0]),
            code=f"http_{status}" if status >= 300 else "not_readable",
            reason="bot_check",
        )
    return None


def status_error(status: int, headers: httpx.Headers) -> ConnectionFailed:
    """Return the error of an answer with a status other than 2xx."""
    found = bot_check(status, headers)
    if found is not None:
        return found
    code = advice_code("site", str(status)) or "site.other"
    phrase = httpx.codes.get_reason_phrase(status) or "no page"
    reason = code.removeprefix("site.") if code in ("site.login", "site.paywall") else ""
    return ConnectionFailed(advise(code, status=f"{status} {phrase}"), code=f"http_{status}", reason=reason)


USER_AGENT = "ua-tui/0.1"
MAX_REDIRECTS = 5
RETRY_AFTER_CAP = 8.0
_RECOGNISED_FROM = 1024
_REDIRECTS = {301, 302, 303, 307, 308}
_RETRIED = {429, 502, 503, 504}


class Page(msgspec.Struct, frozen=True):
    """A fetched page; `body` is decompressed, and `encoding` is that of its text, empty if it must be guessed."""

    url: str
    final_url: str
    status: int
    media_type: str
    encoding: str
    body: bytes

    @property
    def text(self) -> str:
        """The decoded body, with U+FFFD for invalid bytes; empty for a PDF."""
        if self.media_type == "application/pdf":
            return ""
        return self.body.decode(self.encoding or "windows-1252", "replace")


class _Target(msgspec.Struct, frozen=True):
    """One request: the URL as people know it, and the URL that is requested."""

    url: httpx.URL
    wire: httpx.URL

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.url.scheme}://{self.url.netloc.decode('ascii')}"


class _Answer(msgspec.Struct, frozen=True):
    status: int
    headers: httpx.Headers
    media_type: str = ""
    charset: str = ""
    body: bytes = b""


class _Deadline:
    """A time limit that is paused while the request waits for its turn."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)

    @contextmanager
    def paused(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._end += time.monotonic() - started


Report = Callable[[str, str], AbstractContextManager[Callable[[int], None]]]


class Fetcher:
    """Fetches public pages within limits; an async context manager.

    `allow` names `host:port` that may be dialled although private. `routes` maps a host suffix to the
    `host:port` where names below it are dialled, over plain HTTP and with the Host header unchanged.
    `max_bytes` counts what comes over the wire, four times as much of a PDF, `max_decoded` what it decompresses to,
    `timeout` is the time in seconds for one page with its redirects and retries, not counting the wait for a turn.
    `resolve` finds the addresses of a host.

    Attributes:
        report: gives, for the method and the address of a request, a context in which it is made, with a function for
            the status of its answer.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        routes: Mapping[str, str] = {},
        max_bytes: int = 5 << 20,
        max_decoded: int = 20 << 20,
        timeout: float = 20.0,
        concurrency: int = 10,
        per_host: int = 4,
        resolve: Resolver = resolve_host,
    ) -> None:
        self._allow = frozenset(map(parse_endpoint, allow))
        self._routes = Routes.parse(routes)
        self._max_bytes = max_bytes
        self._max_decoded = max_decoded
        self._timeout = timeout
        self._per_host = per_host
        self._robots = RobotsCache()
        self.report: Report = lambda _method, _address: nullcontext(lambda _status: None)
        self._transport = guarded_transport(
            GuardedBackend(self._allow, self._routes, resolve),
            httpx.Limits(max_connections=concurrency, keepalive_expiry=5.0),
        )
        self._everywhere = asyncio.Semaphore(concurrency)
        self._hosts: weakref.WeakValueDictionary[str, asyncio.Semaphore] = weakref.WeakValueDictionary()

    async def __aenter__(self) -> Fetcher:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self._transport.aclose()

    async def get(self, url: str) -> Page:
        """Fetch a page, following at most five redirects.

        Raises:
            FetchRefused: the address, scheme, port, robots.txt, media type or size rules the page out.
            ConnectionFailed: the page cannot be reached, answers with an error or takes too long.
        """
        target, answer = await self._follow(self._target(url), _Deadline(self._timeout))
        if not 200 <= answer.status < 300:
            raise status_error(answer.status, answer.headers)
        return Page(
            url=url,
            final_url=str(target.url),
            status=answer.status,
            media_type=answer.media_type,
            encoding=declared_encoding(answer.body, answer.media_type, answer.charset),
            body=answer.body,
        )

    async def _follow(
        self, target: _Target, deadline: _Deadline, size: int | None = None
    ) -> tuple[_Target, _Answer]:
        """Make a request with its redirects; with `size`, one for the first bytes of a robots.txt."""
        passed: set[str] = set()
        for _ in range(MAX_REDIRECTS + 1):
            passed.add(str(target.url))
            if size is None:
                read = partial(self._read_robots, target, deadline)
                await self._robots.check(target.origin, str(target.url), read, deadline.paused)
            attempt = partial(self._attempt, target, deadline, size)
            answer = await with_retries(attempt, lambda seconds: seconds < deadline.left)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return target, answer
            try:
                target = self._target(str(target.url.join(location)))
            except (FetchRefused, httpx.InvalidURL, ValueError) as error:
                raise FetchRefused(f"it redirects to '{clean_line(location, 200)}': {error}") from error
            if str(target.url) in passed:
                raise FetchRefused(
                    "it redirects in a circle, perhaps because it needs cookies; "
                    "use a web reader if there is one, or choose another source"
                )
        raise FetchRefused(f"it redirects more than {MAX_REDIRECTS} times; use the final address")

    async def _attempt(self, target: _Target, deadline: _Deadline, size: int | None) -> _Answer:
        host = self._hosts.setdefault(target.url.host, asyncio.Semaphore(self._per_host))
        try:
            async with AsyncExitStack() as turns:
                with deadline.paused():
                    await turns.enter_async_context(host)
                    await turns.enter_async_context(self._everywhere)
                async with asyncio.timeout(deadline.left):
                    with self.report("GET", str(target.url)) as set_status:
                        return await self._send(target, size, set_status)
        except TimeoutError as error:
            raise ConnectionFailed(
                f"it took longer than {deadline.seconds:g} seconds; try again later", code="timeout"
            ) from error
        except httpx.TimeoutException as error:
            raise Retryable("the site does not answer; try again later", code="timeout") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # No file handle left, which is no fault of the site.
            if any(
                getattr(each, "errno", 0) in (errno.EMFILE, errno.ENFILE)
                for each in chain_of(error, hidden=True)
            ):
                raise ConnectionFailed(
                    "too many files are open: fetch fewer pages at once, or raise the limit (ulimit -n)"
                ) from error
            reason = clean_line(str(error) or type(error).__name__, 200)
            raise ConnectionFailed(
                f"{reason}; check the address or try again later", code="unreachable"
            ) from error

    async def _send(self, target: _Target, size: int | None, set_status: Callable[[int], None]) -> _Answer:
        request = httpx.Request(
            "GET",
            target.wire,
            headers={
                "user-agent": USER_AGENT,
                "accept": "text/html,application/xhtml+xml,text/plain,text/markdown,application/json;q=0.9,"
                "application/rss+xml;q=0.9,application/atom+xml;q=0.9,application/feed+json;q=0.9,"
                "application/xml;q=0.8,application/pdf;q=0.8,*/*;q=0.1",
                "accept-language": "en,*;q=0.5",
                "accept-encoding": "gzip, deflate",
            },
            extensions={"timeout": httpx.Timeout(self._timeout / 2, pool=self._timeout).as_dict()},
        )
        response = await self._transport.handle_async_request(request)
        try:
            status = response.status_code
            set_status(status)
            if status in _RETRIED:
                wait = retry_after(response.headers)
                wait = None if wait is None else min(wait, RETRY_AFTER_CAP)
                error = status_error(status, response.headers)
                if error.reason:
                    raise error
                raise Retryable(str(error), code=error.code, wait=wait)
            if not 200 <= status < 300:
                return _Answer(status, response.headers)
            if size is None and (challenge := bot_check(status, response.headers)) is not None:
                raise challenge
            return await self._read(response, size)
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response, size: int | None) -> _Answer:
        """Read a body within the limits; with `size`, the first bytes of a body of any type."""
        media_type, charset = content_type(response.headers.get("content-type", ""))
        if size is None:
            self._check(media_type, response.headers.get("content-length", ""))
        inflater = Inflater(response.headers.get("content-encoding", ""), self._max_decoded)
        body = bytearray()
        received = 0
        is_known = size is not None
        async for piece in response.aiter_raw():
            received += len(piece)
            body += inflater.feed(piece)
            if size is None:
                if not is_known and len(body) >= _RECOGNISED_FROM:
                    media_type, is_known = _true_type(media_type, body), True
                self._check(media_type, str(received))
            elif len(body) >= size:
                del body[size:]
                break
        else:
            inflater.finish()
        if not is_known:
            media_type = _true_type(media_type, body)
        return _Answer(response.status_code, response.headers, media_type, charset, bytes(body))

    def _check(self, media_type: str, length: str) -> None:
        """Check that a body of a type and of so many bytes may be read; PDF files may be larger than pages."""
        if not is_unspecific(media_type):
            check_type(media_type)
        may_be_pdf = is_unspecific(media_type) or media_type == "application/pdf"
        limit = self._max_bytes * (4 if may_be_pdf else 1)
        if length.isascii() and length.isdecimal() and int(length[:18]) > limit:
            raise FetchRefused(
                f"its body is larger than {units.size(limit)}; choose another source", code="too_large"
            )

    async def _read_robots(self, target: _Target, deadline: _Deadline) -> str:
        """Return the text of a site's robots.txt, empty if the site has none or refuses access to it."""
        where = self._target(f"{target.origin}/robots.txt")
        _, answer = await self._follow(where, deadline, 512 << 10)
        if answer.status >= 500:
            raise ConnectionFailed(
                f"the site's robots.txt answers with {answer.status}; try again later", code="robots"
            )
        return answer.body.decode("utf-8", "replace") if answer.status < 300 else ""

    def _target(self, url: str) -> _Target:
        if not url or len(url) > 4096 or is_unsafe(url) or any(mark in url for mark in "\n\t\\ "):
            raise FetchRefused("it is not a well-formed URL; check the address")
        try:
            parsed = httpx.URL(url).copy_with(fragment=None)
            host = parsed.host.rstrip(".").lower()
        except (httpx.InvalidURL, ValueError) as error:
            raise FetchRefused(f"it is not a well-formed URL ({error}); check the address") from error
        if parsed.scheme not in DEFAULT_PORTS:
            raise FetchRefused("only http and https URLs are fetched; check the address")
        if not host:
            raise FetchRefused("it names no host; check the address")
        if parsed.userinfo:
            raise FetchRefused("it has a user name or password; remove it")
        port = DEFAULT_PORTS[parsed.scheme] if parsed.port is None else parsed.port
        if port not in DEFAULT_PORTS.values() and (host, port) not in self._allow:
            raise FetchRefused(f"only the ports 80 and 443 are used, not {port}; check the address")
        routed = self._routes.place_of(host) is not None
        return _Target(parsed, parsed.copy_with(scheme="http", port=None) if routed else parsed)


def _true_type(media_type: str, body: bytes | bytearray) -> str:
    """The type of a body: that of its header, unless it is a PDF or a file without text, or the header says nothing."""
    start = bytes(body[:_RECOGNISED_FROM])
    # Such a declaration is wrong more often than a page or a text begins like this.
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    found = recognised_type(start)
    is_file = b"\0" in start and bool(found) and not found.startswith("text/")
    if not is_unspecific(media_type) and not is_file:
        if media_type == "text/plain" and is_html(start):
            return "text/html"
        return "application/pdf" if media_type == "application/x-pdf" else media_type
    if not start and media_type:
        return "text/plain"
    if not found:
        raise FetchRefused(
            "it has no type and does not look like text; choose another source",
            code="not_readable",
            reason="other",
        )
    check_type(found)
    return found
