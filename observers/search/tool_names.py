"""Which tools may return search results, judged by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from ua_tui.core.events import tool_names
from ua_tui.core.json_values import JsonMapping, table_of
from ua_tui.core.observation import ToolCall
from ua_tui.core.text import words_of
from ua_tui.observers.search.keys import by_name
from ua_tui.observers.search.privacy import is_engine, is_private_name, is_public_search

Policy = Literal["search", "unknown", "never"]
"""What a tool's name says about its results."""

_DATA: Mapping[str, Mapping[str, str]] = table_of(__file__, "tool_names.toml")
_WORDS = {name: frozenset(words.split()) for name, words in _DATA["words"].items()}
_KINDS = by_name(_DATA["kinds"])
_LISTED = frozenset(word for word, kind in _KINDS.items() if kind != "scholar") | _WORDS["feeds"]
_SANDBOX_TOOLS = ("REMOTE_WORKBENCH", "REMOTE_BASH")
_MOST_INNER = 64
_COMPOSIO_SEARCH = re.compile(r"COMPOSIO_SEARCH_(?!TOOLS\b)(?=[A-Z])", re.IGNORECASE)


def short_name(name: str) -> str:
    """The tool's own name, without the server it belongs to."""
    return name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name


def is_multi_execute(name: str) -> bool:
    """Whether the tool runs other tools and brings back all of their results."""
    return "MULTI_EXECUTE" in name.upper()


def inner_tools(call: ToolCall) -> Iterator[tuple[str, JsonMapping]]:
    """The tools that a call of several tools requests, each with its name, which may be empty, and its arguments."""
    return tool_names.inner_tools(call.input if is_multi_execute(call.name) else {})


def answers_in(whole: Any) -> Iterator[tuple[int, JsonMapping]]:
    """The answers in a result, each with the place of its tool in the call: its number, else its position."""
    match whole:
        case {"data": {"results": [*items]}} | {"results": [*items]}:
            for position, item in enumerate(items):
                if isinstance(item, dict):
                    index = item.get("index")
                    yield index if isinstance(index, int) and index >= 0 else position, item
        case _:
            pass


def answer_of(whole: Any, place: int) -> JsonMapping | None:
    """The answer of the tool at this place of the call; None if there is none."""
    item = next((item for at, item in answers_in(whole) if at == place), None)
    response = item.get("response") if item else None
    return response if isinstance(response, dict) else item


def runs_of(call: ToolCall) -> list[tuple[str, JsonMapping]]:
    """The tools that a call runs, itself or those that it requests, each with its arguments."""
    if is_multi_execute(call.name):
        return list(inner_tools(call))
    return [(short_name(call.name), call.input)]


def is_sandbox(name: str) -> bool:
    """Whether a tool runs code in Composio's remote sandbox."""
    return any(tool in name.upper() for tool in _SANDBOX_TOOLS)


@lru_cache(maxsize=1024)
def policy_of(name: str) -> Policy:
    """Judge a tool by its name: a search, something that is never one, or to be judged by its result.

    A tool that is named for a search of the web is one on whatever server.
    """
    if is_multi_execute(name):
        return "unknown"
    server = _server_words(name)
    if server >= _WORDS["own_toolkit"] or reads_pages(name):
        return "never"
    own = frozenset(words_of(short_name(name)))
    is_private = is_private_name(
        short_name(name) if own & _WORDS["searches"] and own & _WORDS["web"] else name
    )
    is_known = is_public_search(name)
    if is_private or (
        own & (_WORDS["setup"] if is_known else _WORDS["setup"] | {"tool"}) and not own & _KINDS.keys()
    ):
        return "never"
    if own & _WORDS["searches"] or name in ("WebSearch",):
        return "search"
    if not _is_remote(name) or own & (_WORDS["machines"] | _WORDS["moves"] | _WORDS["maps_a_site"]):
        return "never"
    if own & _WORDS["reads"] and not own & (_KINDS.keys() | _LISTED):
        return "never"
    if server & _WORDS["machines"] and not is_known:
        return "never"
    if own & _WORDS["manages"]:
        return "unknown"
    is_asked = bool(
        own & _WORDS["asks"] and (own | server) & (_WORDS["web"] | _WORDS["companies"] | _KINDS.keys())
    )
    is_company = bool(own & _WORDS["companies"]) and own <= _WORDS["companies"] | _KINDS.keys()
    is_search = is_asked or is_company or bool(server & _WORDS["searches"]) or is_engine(name)
    return "search" if is_search else "unknown"


@lru_cache(maxsize=1024)
def reads_pages(name: str) -> bool:
    """Whether a tool reads web pages by its name: its results may have their text, and are not those of a search."""
    if not _is_remote(name):
        return False
    own = frozenset(words_of(_COMPOSIO_SEARCH.sub("", short_name(name), count=1)))
    server = _server_words(name)
    if server >= _WORDS["own_toolkit"] and not own & _WORDS["crawls"]:
        return False
    if (
        own & (_WORDS["searches"] | _WORDS["setup"] | _WORDS["machines"])
        or server & _WORDS["machines"]
        or is_private_name(name)
    ):
        return False
    return (
        own >= {"rag", "browser"}
        or bool(own & _WORDS["reads"] and not own & _LISTED)
        or bool(own & _WORDS["opens"] and own & _WORDS["pages"])
    )


def _is_remote(name: str) -> bool:
    """Whether a tool is one of a server, or of a toolkit of Composio, and not the agent's own."""
    return name.startswith("mcp__") or name.isupper()


def _server_words(name: str) -> frozenset[str]:
    return frozenset(words_of(name[: -len(short_name(name))])) if name.startswith("mcp__") else frozenset()


def inner_policy_of(slug: str) -> Policy:
    """Judge a tool that ran inside another tool's call: it is remote, whatever it is called."""
    return policy_of(f"mcp__inner__{slug}")


def policy_of_call(call: ToolCall) -> Policy:
    """Judge a call by its tool's name, and one that runs other tools by the most promising of their names."""
    slugs = [slug for slug, _ in islice(inner_tools(call), _MOST_INNER + 1)]
    if not slugs:
        return policy_of(call.name)
    inner = {inner_policy_of(slug) if slug else "unknown" for slug in slugs[:_MOST_INNER]}
    if "search" in inner:
        return "search"
    return "never" if inner == {"never"} and len(slugs) <= _MOST_INNER else "unknown"


@lru_cache(maxsize=1024)
def kind_of_server(name: str) -> str:
    """The kind of results that all tools of a server have by its name; `web` when it says nothing or several."""
    words = _server_words(name)
    kinds = {_KINDS[word] for word in words & _KINDS.keys()} & _WORDS["of_servers"]
    return kinds.pop() if len(kinds) == 1 else "web"


@lru_cache(maxsize=1024)
def kind_of_name(name: str) -> str:
    """The kind of results a search tool's name promises; `web` when it says nothing."""
    words = words_of(short_name(name))
    return next((kind for word, kind in _KINDS.items() if word in words), "web")
