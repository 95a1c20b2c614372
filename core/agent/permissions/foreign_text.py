"""Which tool calls bring text of others into the conversation, and which addresses in that text may be opened.

Files that the session writes hold no more than was read before, so writing them or listing their names brings nothing
in; reading one does, unless the agent wrote it before it had read anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ua_tui.core.agent.bounds import DEEPEST
from ua_tui.core.agent.permissions.actions import TOOLS, actions_of, server_of
from ua_tui.core.agent.permissions.addresses import addresses_in_text, shown_host
from ua_tui.core.agent.permissions.arguments import Arguments
from ua_tui.core.agent.permissions.policy import HOUSEKEEPING, KNOWLEDGE_TOOLS, PAGE_READERS, is_search
from ua_tui.core.events.codec import from_json
from ua_tui.core.events.types import LIST_RESOURCES, READ_RESOURCE
from ua_tui.core.text import clean_line

LOCAL_TOOLKIT = "local_toolkit"
CRAWLER = f"mcp__{LOCAL_TOOLKIT}__crawl_parallel"
_FILE_READERS: Mapping[str, str] = TOOLS["file_readers"]
_READS_PAGES = PAGE_READERS | {"WebFetch"}
_ADDRESS_FIELD = re.compile(r"url|link|href|uri|website|citation|^id$|^sources?$", re.IGNORECASE)
# The agent's own search lists its results in one line, below which a model sums them up in its own words.
_LISTED = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
LARGEST_READ = 4 << 20
"""Larger results are not searched for addresses."""


class ForeignSource(msgspec.Struct, frozen=True):
    """Something the agent read: one and several of its kind, and where it came from."""

    one: str
    several: str
    origin: str = ""


PAGE = ForeignSource("page", "pages")
SEARCH = ForeignSource("search result", "search results")
FILE = ForeignSource("file", "files")
ATTACHED = ForeignSource("attached file", "attached files")
KNOWLEDGE = ForeignSource("result", "results", "the knowledge base")
REPORT = ForeignSource("report of a sub-agent", "reports of sub-agents")
_BRINGS = {
    **dict.fromkeys(KNOWLEDGE_TOOLS, KNOWLEDGE),
    **dict.fromkeys(_FILE_READERS, FILE),
    **dict.fromkeys(("Agent", "Task"), REPORT),
    "WebSearch": SEARCH,
}


def sources_of(tool_name: str, tool_input: Arguments, *, failed: bool = False) -> list[ForeignSource]:
    """What the result of a call brings that is not the user's; empty if it brings nothing.

    If it `failed`, it brings an error, which is only the tool's own if the tool runs here.
    """
    server = server_of(tool_name)
    if failed and (server == LOCAL_TOOLKIT or tool_name in _FILE_READERS):
        return []
    if tool_name == CRAWLER or tool_name in _READS_PAGES:
        found = opened_by(tool_name, tool_input)
        return [_page(url) for url in (found if tool_name == CRAWLER else found or [""])]
    if tool_name in _BRINGS:
        return [_BRINGS[tool_name]]
    if server == LOCAL_TOOLKIT:
        return []
    if server == "composio":
        names = [action.name for action in actions_of(tool_name, tool_input)]
        return [SEARCH if is_search(name) else _result(name) for name in names if name not in HOUSEKEEPING]
    if server:
        return [_result(server)]
    if tool_name in (LIST_RESOURCES, READ_RESOURCE):
        return [_result(str(tool_input.get("server") or "MCP servers"))]
    return [] if tool_name in TOOLS["bring_nothing"] else [_result(tool_name)]


def _page(url: str) -> ForeignSource:
    return ForeignSource(PAGE.one, PAGE.several, clean_line(shown_host(url), 60))


def _result(name: str) -> ForeignSource:
    return ForeignSource("result", "results", clean_line(name, 60))


def opened_by(tool_name: str, tool_input: Arguments) -> list[str]:
    """The addresses of the pages that a call opens, if it reads pages."""
    if tool_name == CRAWLER:
        urls = tool_input.get("urls")
        return [url for url in urls if isinstance(url, str)] if isinstance(urls, list) else []
    url = tool_input.get("url")
    return [url] if isinstance(url, str) and tool_name in _READS_PAGES else []


def file_read_by(tool_name: str, tool_input: Arguments) -> str | None:
    """The path that a call reads the text of; None if it reads no single file."""
    return _path(_FILE_READERS, tool_name, tool_input)


def file_written_by(tool_name: str, tool_input: Arguments) -> str | None:
    """The path that a call of the agent writes; None if it writes no file."""
    return _path(TOOLS["file_writers"], tool_name, tool_input)


def _path(table: Mapping[str, str], tool_name: str, tool_input: Arguments) -> str | None:
    path = tool_input.get(table.get(tool_name, ""))
    return path if isinstance(path, str) else None


def has_addresses(tool_name: str, tool_input: Arguments) -> bool:
    """Whether the addresses in the result of a call count: it reads pages or only searches."""
    if tool_name in {"WebSearch", CRAWLER, *PAGE_READERS, *KNOWLEDGE_TOOLS}:
        return True
    return server_of(tool_name) == "composio" and all(
        is_search(each.name) and each.name not in HOUSEKEEPING for each in actions_of(tool_name, tool_input)
    )


def learned_from(tool_name: str, tool_input: Arguments, output: str) -> list[str]:
    """The addresses in the text of a result that `has_addresses`; reading a long one takes time: call it in a thread.

    Of a search only the addresses of its rows count, not those in its texts, which may repeat what was searched for.
    Of the knowledge base only pages that were read count.
    """
    if len(output) > LARGEST_READ or tool_name == CRAWLER:
        return []
    if tool_name in KNOWLEDGE_TOOLS:
        return _found_before(from_json(output))
    if tool_name in PAGE_READERS:
        (page,) = opened_by(tool_name, tool_input) or [""]
        return addresses_in_text(output, base=page)
    if tool_name == "WebSearch":
        listed = _LISTED.search(output)
        value = from_json(listed[1]) if listed else from_json(output)
    else:
        value = from_json(output)
    # What the call itself had is no finding.
    given = "\n".join(text for _, text in texts_in(tool_input)[0]).lower()
    return [
        each
        for field, each in texts_in(value)[0]
        if _ADDRESS_FIELD.search(field)
        and each.lower().startswith(("http://", "https://"))
        and each.lower().partition("://")[2].removeprefix("www.").rstrip("/") not in given
    ]


def _found_before(value: Any) -> list[str]:
    """The addresses in an answer of the knowledge base: those of pages that were read, and those in their text.

    A search result may repeat what an agent searched for, and a report what it wrote.
    """
    if not isinstance(value, dict):
        return []
    hits = value.get("hits")
    found: list[str] = []
    for each in hits if isinstance(hits, list) else [value]:
        match each:
            case {"trust": "web", "kind": "article", "url": str(url), **rest}:
                found.append(url)
                if isinstance(text := rest.get("text"), str):
                    found += addresses_in_text(text, base=url)
    return found


def article_paths(output: str) -> list[str]:
    """The files in which the crawler saved what it read."""
    value = from_json(output) if len(output) <= LARGEST_READ else None
    articles = value.get("articles") if isinstance(value, dict) else None
    if not isinstance(articles, list):
        return []
    return [each["path"] for each in articles if isinstance(each, dict) and isinstance(each.get("path"), str)]


def texts_in(value: Any) -> tuple[list[tuple[str, str]], bool]:
    """Every text in a JSON value with the name of its field, and each of these names; and whether there are more."""
    found: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    for _ in range(50_000):
        if not waiting:
            return found, True
        field, item, depth = waiting.pop()
        if depth > DEEPEST:
            return found, False
        match item:
            case str():
                found.append((field, item))
            case dict():
                found += [("", str(name)) for name in item]
                waiting += [(str(name), each, depth + 1) for name, each in reversed(item.items())]
            case list() | tuple():
                waiting += [(field, each, depth + 1) for each in reversed(item)]
    return found, False
