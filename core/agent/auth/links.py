"""Finds the links that a person must open to connect an account, in tool results and in the model's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from ua_tui.core.agent.bounds import DEEPEST
from ua_tui.core.events.codec import from_json

_LINK = re.compile(
    r"https://(?:connect\.composio\.dev/link|app\.composio\.dev/link|backend\.composio\.dev/s)/[\w\-]+"
)


class AuthLink(msgspec.Struct, frozen=True):
    """A link, the toolkit it connects (empty if unknown) and when it expires."""

    url: str
    toolkit: str = ""
    expires_at: datetime | None = None


def find_auth_link(text: str, *, from_connections: bool = False) -> AuthLink | None:
    """Find the first link that waits for a person; None when there is none.

    Only a result of the connection service itself (`from_connections`) may name a link on any host; elsewhere
    a page could pass one off as wanted, and only the service's own links count.
    """
    if "http" not in text:
        return None
    if from_connections and "redirect_url" in text and (found := _in_json(text)):
        return found
    match = _LINK.search(text)
    return AuthLink(match.group(0)) if match else None


def _in_json(text: str) -> AuthLink | None:
    start = text.find("{")
    if start < 0:
        return None
    for name, item in _objects(from_json(text[start:]), "", 0):
        url = item.get("redirect_url")
        if isinstance(url, str) and url.startswith("https://") and item.get("status") != "active":
            toolkit = item.get("toolkit") or name
            return AuthLink(url, toolkit if isinstance(toolkit, str) else "", _expiry(item))
    return None


def _objects(value: Any, name: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        yield name, value
        for key, item in value.items():
            yield from _objects(item, str(key), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item, name, depth + 1)


def _expiry(item: dict[str, Any]) -> datetime | None:
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
