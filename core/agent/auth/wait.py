"""The wait for an account that a person must connect: its link, and when the agent continues."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

import msgspec

from ua_tui.core.agent.bounds import DEEPEST
from ua_tui.core.concurrency.spawn import Handle, Spawn
from ua_tui.core.events.codec import from_json
from ua_tui.core.events.types import AuthFinished, AuthRequired, Event, QueryFinished, ToolCallStarted
from ua_tui.core.json_values import JsonObject, text_in
from ua_tui.core.log import log

IsConnected = Callable[[str], Awaitable[bool]]
"""Asks the service whether the account of a toolkit is active."""


AuthOutcome = Literal["completed", "cancelled", "expired", "unattended"]
"""How the wait for an account ended."""


class AuthWait(msgspec.Struct, eq=False):
    """Waits for one account at a time, from its link to its end.

    Attributes:
        pending: the link a person has yet to open.

    Args:
        spawn: starts background work.
        service: returns the function that asks whether an account is active, once there is one.
        publish: publishes the end of a wait.
        runs: whether a query runs.
        continue_query: lets the agent continue, because the account is connected.
        polls: whether to poll for the account.
        sleep: waits for some seconds.
    """

    spawn: Spawn
    service: Callable[[], IsConnected | None]
    publish: Callable[[Event], object]
    runs: Callable[[], bool]
    continue_query: Callable[[], None]
    polls: bool
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    pending: AuthRequired | None = None
    _handle: Handle | None = None
    _continue_after_query: bool = False

    def handle_event(self, event: Event) -> None:
        """Start or end a wait when an event of the session calls for it."""
        match event:
            case AuthRequired(toolkit=toolkit):
                self.pending = event
                self.stop_polling()
                if self.polls and toolkit and (is_connected := self.service()) is not None:
                    self._handle = self.spawn(partial(self._poll, toolkit, is_connected), "account", "auth")
            case ToolCallStarted():
                self._continue_after_query = False
            case QueryFinished(status=status) if self._continue_after_query:
                self._continue_after_query = False
                if status == "success":
                    self.continue_query()

    def finish(self, outcome: AuthOutcome) -> None:
        """Report how the wait ended; when it is complete the agent continues."""
        self.stop_polling()
        if self._finish_wait(outcome) and outcome == "completed":
            self.continue_query()

    def stop_polling(self) -> None:
        """Stop polling."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel()

    async def _poll(self, toolkit: str, is_connected: IsConnected) -> None:
        # An account that is already active is not the one that the link is for.
        was_active: bool | None = None
        while was_active is not True:
            try:
                active = await is_connected(toolkit)
            except Exception as error:
                log.info("could not ask whether %s is connected: %s", toolkit, error)
            else:
                if active and was_active is False:
                    self._handle = None
                    if not self.runs():
                        self.finish("completed")
                    elif self.pending is not None:
                        # The query may be waiting for the account itself, and is continued only if it made no call.
                        self._continue_after_query = True
                        self._finish_wait("completed")
                    return
                was_active = active
            await self.sleep(5.0)

    def _finish_wait(self, outcome: AuthOutcome) -> bool:
        waiting, self.pending = self.pending, None
        if waiting is not None:
            self.publish(AuthFinished(toolkit=waiting.toolkit, outcome=outcome))
        return waiting is not None


_LINK = re.compile(
    r"https://(?:connect\.composio\.dev/link|app\.composio\.dev/link|backend\.composio\.dev/s)/[\w\-]+"
)


def find_auth_link(text: str, *, from_connections: bool = False) -> AuthRequired | None:
    """Find the first link that waits for a person, and what it is for; None when there is none.

    Only a result of the connection service itself (`from_connections`) may name a link on any host; elsewhere
    a page could pass one off as wanted, and only the service's own links count.
    """
    if "http" not in text:
        return None
    if from_connections and "redirect_url" in text and (found := _in_json(text)):
        return found
    match = _LINK.search(text)
    return AuthRequired(toolkit="", url=match.group(0)) if match else None


def _in_json(text: str) -> AuthRequired | None:
    for name, item in _objects(from_json(text[text.find("{") :]), "", 0):
        url = item.get("redirect_url")
        if isinstance(url, str) and url.startswith("https://") and item.get("status") != "active":
            toolkit = text_in(item.get("toolkit") or name)
            return AuthRequired(url=url, toolkit=toolkit, expires_at=_expiry(item))
    return None


def _objects(value: Any, name: str, depth: int) -> Iterator[tuple[str, JsonObject]]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        yield name, value
        for key, item in value.items():
            yield from _objects(item, str(key), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, name, depth + 1)


def _expiry(item: JsonObject) -> datetime | None:
    stamp = item.get("expires_at")
    if isinstance(stamp, str):
        try:
            return datetime.fromisoformat(stamp).astimezone(UTC)
        except ValueError:
            return None
    text = str(item.get("instruction") or item.get("message") or "")
    if found := re.search(r"expires? in (\d+) minutes?", text, re.IGNORECASE):
        return datetime.now(UTC) + timedelta(minutes=int(found.group(1)))
    return None
