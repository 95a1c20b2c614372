"""What an action can carry out of the session: whether it acts outside, and the places outside that it names.

Search engines see the words of a query; that is not counted. What a tool of an own MCP server does is not read from
its name: a person said where the server acts, and the server declares which tools only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ua_tui.core.agent.permissions.actions import Action, is_open_ended, is_outbound
from ua_tui.core.agent.permissions.addresses import MAILBOX, is_local_file, places_in, starts_with_address
from ua_tui.core.agent.permissions.arguments import is_plain_option, leaves
from ua_tui.core.agent.permissions.foreign_text import CRAWLER, LOCAL_TOOLKIT, texts_in
from ua_tui.core.agent.permissions.policy import PAGE_READERS, is_search
from ua_tui.core.events.codec import from_json

_BUILT_IN_REQUESTS = frozenset({"WebFetch", "WebSearch"})
_READER_ARGUMENTS = frozenset(
    {"url", "timeout", "no_cache", "return_format", "retain_images", "no_gfm", "keep_img_data_url",
     "with_images_summary", "with_links_summary"}
)  # fmt: skip
_OF_FILES = re.compile(r"file|path", re.IGNORECASE)
# What is searched for, and the hosts of the results.
_OF_SEARCHES = re.compile(r"^q$|quer|domain|site", re.IGNORECASE)


def carries_out(action: Action) -> bool:
    """Whether an action sends, posts, uploads, creates or changes something outside, or can do anything."""
    if not action.server:
        return action.name == "Bash"
    if action.is_own:
        return not (action.reads or action.named)
    if action.server == LOCAL_TOOLKIT:
        return action.name == "workbench_upload" and not action.named
    return is_open_ended(action.name) or (is_outbound(action.name) and not action.named)


def places_of(action: Action) -> list[str] | None:
    """The places in the arguments of an action that makes requests; None if the arguments cannot be read.

    An address that fills an argument is returned as it is, with whatever follows it.
    """
    if not _makes_requests(action):
        return []
    texts, complete = texts_in(action.arguments)
    if action.arguments is None or not complete:
        return None
    return list(dict.fromkeys(each for field, text in texts for each in _places_in(action, field, text)))


def has_text_beside_address(action: Action) -> bool:
    """Whether an action that reads sends more than an address and options that can stand for nothing."""
    given = action.arguments or {}
    is_page_reader = action.tool in PAGE_READERS
    if is_page_reader and not _READER_ARGUMENTS.issuperset(given):
        return True
    values = list(_values_in(given))
    others = [
        (path, each) for path, each in values if not (isinstance(each, str) and starts_with_address(each))
    ]
    has_address = len(others) < len(values) and action.is_own
    return (is_page_reader or has_address) and not all(is_plain_option(path, each) for path, each in others)


def _values_in(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values in arguments with the names that lead to them, also those in texts that are JSON."""
    for names, each in leaves(value, path):
        decoded = _decoded(each) if isinstance(each, str) else None
        yield from [(names, each)] if decoded is None else _values_in(decoded, names)


def _decoded(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list in a text that is JSON: servers decode such an argument."""
    decoded = from_json(text) if text.lstrip()[:1] in {"[", "{"} else None
    return decoded if isinstance(decoded, dict | list) else None


def _makes_requests(action: Action) -> bool:
    if action.server == LOCAL_TOOLKIT:
        return action.tool == CRAWLER
    return bool(action.server) or action.name in _BUILT_IN_REQUESTS


def _places_in(action: Action, field: str, text: str) -> Iterator[str]:
    if (decoded := _decoded(text)) is not None:
        nested, complete = texts_in(decoded)
        if not complete:
            yield text
        for name, each in nested:
            yield from _places_in(action, name or field, each)
    elif action.is_own:
        yield from [text] if is_local_file(text) else places_in(text, files=bool(_OF_FILES.search(field)))
    else:
        searches = not action.server or (action.server == "composio" and is_search(action.name))
        found = places_in(text, hosts="nowhere" if searches and _OF_SEARCHES.search(field) else "alone")
        # A mailbox in a search of mail receives nothing.
        yield from (each for each in found if not each.startswith(MAILBOX))
