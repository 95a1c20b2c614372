"""What an action can carry out of the session: whether it acts outside, and the places outside that it names.

Search engines see the words of a query; that is not counted. What a tool of an own MCP server does is not read from
its name: a person said where the server acts, and the server declares which tools only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from core.agent.permissions.actions import Action, is_open_ended, is_outbound, is_wrapper
from core.agent.permissions.arguments import is_plain_option
from core.agent.permissions.foreign_text import CRAWLER, LOCAL_TOOLKIT, texts_in
from core.agent.permissions.places import MAILBOX, is_local_file, places_in, starts_with_address
from core.agent.permissions.policy import PAGE_READERS, is_search
from core.events.codec import from_json

__all__ = ["carries_out", "has_text_beside_address", "places_of"]

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
    if (
        action.server != LOCAL_TOOLKIT
        and not action.is_own
        and (is_wrapper(action.name) or is_open_ended(action.name))
    ):
        return True
    if action.named:
        return False
    if action.server == LOCAL_TOOLKIT:
        return action.name == "workbench_upload"
    return not action.reads if action.is_own else is_outbound(action.name)


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
    parts = [part for value in given.values() for part in _parts_of(value)]
    others = [part for part in parts if not (isinstance(part, str) and starts_with_address(part))]
    has_address = len(others) < len(parts) and action.is_own
    return (is_page_reader or has_address) and not all(map(is_plain_option, others))


def _parts_of(value: Any) -> Iterator[Any]:
    """The elements of a list, also of one that is written as JSON, else the value."""
    decoded = from_json(value) if isinstance(value, str) and value.lstrip().startswith("[") else value
    yield from decoded if isinstance(decoded, list) else [value]


def _makes_requests(action: Action) -> bool:
    if action.server == LOCAL_TOOLKIT:
        return action.tool == CRAWLER
    return bool(action.server) or action.name in _BUILT_IN_REQUESTS


def _places_in(action: Action, field: str, text: str) -> Iterator[str]:
    if text.lstrip()[:1] in {"[", "{"} and isinstance(decoded := from_json(text), dict | list):
        # Servers decode such an argument.
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
