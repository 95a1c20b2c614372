"""What an action can carry out of the session: whether it acts outside, and the addresses that it would request.

Search engines see the words of a query; that is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.agent.permissions.actions import Action, is_outbound, is_wrapper
from core.agent.permissions.foreign_text import CRAWLER, LOCAL_TOOLKIT, texts_in
from core.agent.permissions.policy import is_search
from core.events.codec import from_json
from core.events.types import READ_RESOURCE

__all__ = ["addresses_of", "carries_out"]

_OPEN_ENDED = ("BASH", "REMOTE_", "PROXY_EXECUTE")
_BUILT_IN_REQUESTS = frozenset({"WebFetch", "WebSearch"})
_WHOLE = re.compile(r"\s*(?:(?:[a-z][a-z0-9+.-]{0,20}:)?//|https?:)", re.IGNORECASE)
_EMBEDDED = re.compile(r"(?:https?|wss?|ftp):/[^\s<>\"'`]+", re.IGNORECASE)
_WEB = re.compile(r"\s*(?:https?|wss?|ftp):", re.IGNORECASE)
_BARE = re.compile(r"\s*(?:[\w-]+\.)+[\w-]+(?:[:/?#].*)?", re.DOTALL)
_TARGET = re.compile(r"url|uri|link|href|host|endpoint|webhook|website", re.IGNORECASE)
_TARGET_OR_DOMAIN = re.compile(rf"{_TARGET.pattern}|domain|server|site", re.IGNORECASE)


def carries_out(action: Action) -> bool:
    """Whether an action sends, posts, uploads, creates or changes something outside, or can do anything."""
    if action.server == LOCAL_TOOLKIT:
        return action.name == "workbench_upload"
    if not action.server:
        return action.name == "Bash"
    name = action.name.upper()
    return is_outbound(name) or is_wrapper(name) or any(word in name for word in _OPEN_ENDED)


def addresses_of(action: Action) -> list[str] | None:
    """The addresses in the arguments of an action that makes requests; None if the arguments cannot be read.

    One that fills an argument is returned as it is, with whatever follows it.
    """
    if not _makes_requests(action):
        return []
    texts, complete = texts_in(action.arguments)
    if action.name == READ_RESOURCE:
        # In other schemes it is a name on the server, not the address of a request.
        texts = [(field, text) for field, text in texts if _WEB.match(text)]
    if action.arguments is None or not complete:
        return None
    return list(dict.fromkeys(each for field, text in texts for each in _addresses_in(action, field, text)))


def _makes_requests(action: Action) -> bool:
    if action.server == LOCAL_TOOLKIT:
        return action.tool == CRAWLER
    return bool(action.server) or action.name in _BUILT_IN_REQUESTS


def _addresses_in(action: Action, field: str, text: str) -> Iterator[str]:
    if text.lstrip()[:1] in {"[", "{"} and isinstance(decoded := from_json(text), dict | list):
        # Servers decode such an argument.
        nested, complete = texts_in(decoded)
        if not complete:
            yield text
        for name, each in nested:
            yield from _addresses_in(action, name or field, each)
    elif _WHOLE.match(text):
        yield text
    elif _names_target(action, field) and _BARE.fullmatch(text):
        yield f"https://{text}"
    else:
        for found in _EMBEDDED.findall(text.replace("\\/", "/")):
            yield found.rstrip(".,;:!?)")


def _names_target(action: Action, field: str) -> bool:
    """Whether a field has an address also without a scheme; searches have fields for the domains of their results."""
    if not action.server:
        return False
    searches = action.server == "composio" and is_search(action.name)
    return (_TARGET if searches else _TARGET_OR_DOMAIN).search(field) is not None
