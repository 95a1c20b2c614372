"""Which pages sites allow programs to read: their robots.txt, requested once a day per site."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

import msgspec
from protego import Protego

from ua_tui.core.errors import FetchRefused
from ua_tui.core.text import clean_line

logger = logging.getLogger(__name__)


class _Site(msgspec.Struct):
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    rules: Protego | None = None
    until: float = -math.inf


class RobotsCache(msgspec.Struct, eq=False):
    """A cache of rules by site, for a day; the least recently used sites are dropped.

    `user_agent` is the name that rules are looked up for.
    """

    user_agent: str
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
        if not rules.can_fetch(url, self.user_agent):
            raise FetchRefused("the site's robots.txt forbids it; choose another source", code="robots")


def _parse(text: str, origin: str) -> Protego:
    try:
        return Protego.parse(text)
    except Exception:
        logger.warning("robots.txt of %s cannot be understood", clean_line(origin), exc_info=True)
        return Protego.parse("")
