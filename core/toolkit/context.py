"""What every tool gets: the workspace, the client to fetch with, the remote sandbox, and the knowledge base."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.telemetry.http import CURRENT_CALL, CallScope, OnRequest

if TYPE_CHECKING:
    from ua_tui.core.concurrency.conversions import Conversions
    from ua_tui.core.knowledge.search.search import KnowledgeSearch
    from ua_tui.core.net.client import Fetcher
    from ua_tui.core.storage.workspace import Workspace
    from ua_tui.core.toolkit.remote import RemoteFiles
    from ua_tui.core.web_reader.blacklist import Blacklist

_REPORTS = 20


class ToolContext:
    """The workspace, the clock, the blacklist, the remote sandbox, the client and the conversions of one toolkit.

    The client is made on the first fetch, because its libraries are slow to import. All calls share it, so that its
    limits and its cache of robots.txt apply to the whole session. `learn_secrets` tells the redactor of the workspace
    the session's secrets. `send_progress` gets the id of a call, how many pieces of it are done and how many there
    are, and what they are called; `on_request` gets the HTTP requests of calls. `open_knowledge` is None if the
    settings turn the knowledge base off. A page is not fetched again if it was read at most `page_age` seconds ago.
    """

    def __init__(
        self,
        workspace: Workspace,
        open_fetcher: Callable[[], Fetcher],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        blacklist: Blacklist | None = None,
        open_remote: Callable[[], RemoteFiles] | None = None,
        learn_secrets: Callable[[], object] | None = None,
        send_progress: Callable[[str, int, int, str], None] | None = None,
        on_request: OnRequest | None = None,
        open_knowledge: Callable[[], KnowledgeSearch] | None = None,
        page_age: int = 0,
    ) -> None:
        self.workspace = workspace
        self._learn_secrets = learn_secrets
        self._send_progress = send_progress
        self._on_request = on_request
        self.blacklist = blacklist
        self.open_remote = open_remote
        self.open_knowledge = open_knowledge
        self.page_age = page_age
        self.now = now
        self._open_fetcher = open_fetcher
        self._fetcher: Fetcher | None = None
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def begin_call(self, tool_use_id: str = "") -> None:
        """Begin a call in this task: learn the secrets that the session knows by now, before a tool writes anything."""
        CURRENT_CALL.set(CallScope(tool_use_id, self._on_request if tool_use_id else None))
        if self._learn_secrets is not None:
            await asyncio.to_thread(self._learn_secrets)

    def report_progress(self, done: int, total: int, unit: str) -> None:
        """Report how many pieces of the call of this task are done; `unit` is the plural of their name.

        Of many pieces each twentieth part is reported.
        """
        is_new = done * _REPORTS // total > (done - 1) * _REPORTS // total
        if is_new and self._send_progress is not None and (call := CURRENT_CALL.get().tool_use_id):
            self._send_progress(call, done, total, unit)

    async def fetcher(self) -> Fetcher:
        """The shared client, opened on first use."""
        async with self._opening:
            if self._fetcher is None:
                fetcher = await asyncio.to_thread(self._open_fetcher)
                self._fetcher = await self._stack.enter_async_context(fetcher)
            return self._fetcher

    @cached_property
    def conversions(self) -> Conversions:
        """The worker processes in which pages are converted; they start with the first page."""
        from ua_tui.core.concurrency.conversions import Conversions

        conversions = Conversions()
        self._stack.push_async_callback(asyncio.to_thread, conversions.close)
        return conversions

    @cached_property
    def knowledge(self) -> KnowledgeSearch:
        """What earlier sessions found; only threads may ask for it and use it."""
        assert self.open_knowledge is not None
        return self.open_knowledge()

    async def remote(self) -> RemoteFiles:
        """The files of the remote sandbox.

        Raises:
            ConnectionFailed: there is no sandbox.
        """
        if self.open_remote is None:
            raise ConnectionFailed("there is no remote sandbox: set COMPOSIO_API_KEY to have one")
        return await asyncio.to_thread(self.open_remote)

    async def aclose(self) -> None:
        """Close the client and the knowledge base if they were opened, and end the conversions."""
        self._fetcher = None
        if "knowledge" in vars(self):
            await asyncio.to_thread(self.knowledge.close)
        await self._stack.aclose()
