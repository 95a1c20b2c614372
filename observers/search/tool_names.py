"""Which tools may return search results, judged by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

from ua_tui.core.observation import ToolCall
from ua_tui.core.text import words_of
from ua_tui.observers.search.keys import word_set
from ua_tui.observers.search.privacy import is_engine, is_private_name, is_public_search


class Policy(Enum):
    """What a tool's name says about its results."""

    SEARCH = "search"
    UNKNOWN = "unknown"
    NEVER = "never"


_COMPANIES = word_set("google bing baidu yandex naver yahoo")
"""Search engines that are as well the names of companies with many other tools."""
# Baidu's `AIsearch` is split before its last capital.
_SEARCHES = word_set("search searches searching serp websearch isearch")
_ASKS = word_set("query find lookup results")
_WEB = word_set("web internet online websearch www")
_SANDBOX_TOOLS = ("REMOTE_WORKBENCH", "REMOTE_BASH")
_NATIVE_SEARCH = frozenset({"WebSearch"})
_SETUP = word_set("connection connections schema schemas tools toolkit toolkits")
_MACHINES = word_set(
    "workbench bash sandbox shell terminal python playwright puppeteer stagehand browserbase devtools snapshot "
    "screenshot"
)
_READS = word_set(
    "fetch webfetch read reader webreader reading browse visit extract extractor scrape scraping scraper crawl "
    "crawling crawler contents"
)
_OPENS = word_set("get visit open load convert parse browse view retrieve to")
_PAGES = word_set("page webpage website url urls article markdown content")
_MOVES = word_set("download upload")
_MAPS_A_SITE = word_set("map sitemap sitemaps")
_CRAWLS = word_set("crawl")
_OWN_TOOLKIT = word_set("local toolkit")
"""The words in the name of the local toolkit, whose files and knowledge base hold what sessions read before."""
_MANAGES = word_set(
    "create update delete remove add set send start check cancel stop status list usage feedback agent monitor"
)
_KINDS = {
    word: kind
    for kind, names in {
        "news": "news headline headlines newsapi gnews newsdata",
        "videos": "video videos youtube vimeo shorts dailymotion",
        "images": "image images photo photos picture pictures unsplash pexels pixabay",
        "scholar": "scholar scholarly academic arxiv pubmed paper papers openalex crossref semanticscholar "
        "patent patents doaj europepmc biorxiv medrxiv",
        "shopping": "shopping amazon walmart ebay etsy product products",
        "jobs": "job jobs careers jsearch indeed glassdoor vacancies",
        "finance": "finance stock stocks",
        "local": "maps places place local yelp tripadvisor restaurants businesses",
        "hotels": "hotel hotels airbnb",
        "events": "events event",
        "discussions": "forum forums discussion discussions reddit",
        "questions": "questions",
    }.items()
    for word in names.split()
}
_LISTED = frozenset(word for word, kind in _KINDS.items() if kind != "scholar") | {"feed", "feeds", "rss"}
_OF_SERVERS = word_set("news videos images scholar jobs local hotels")
_MOST_INNER = 64
_COMPOSIO_SEARCH = re.compile(r"COMPOSIO_SEARCH_(?!TOOLS\b)(?=[A-Z])", re.IGNORECASE)


def short_name(name: str) -> str:
    """The tool's own name, without the server it belongs to."""
    return name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name


def is_multi_execute(name: str) -> bool:
    """Whether the tool runs other tools and brings back all of their results."""
    return "MULTI_EXECUTE" in name.upper()


def inner_tools(call: ToolCall) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tools that a call of several tools requests, each with its name, which may be empty, and its arguments."""
    tools = call.input.get("tools") if is_multi_execute(call.name) else None
    for tool in tools if isinstance(tools, list) else ():
        slug = tool.get("tool_slug") if isinstance(tool, dict) else None
        arguments = tool.get("arguments") if isinstance(tool, dict) else None
        yield slug if isinstance(slug, str) else "", arguments if isinstance(arguments, dict) else {}


def runs_of(call: ToolCall) -> list[tuple[str, Mapping[str, Any]]]:
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
        return Policy.UNKNOWN
    server = _server_words(name)
    if server >= _OWN_TOOLKIT or reads_pages(name):
        return Policy.NEVER
    own = frozenset(words_of(short_name(name)))
    is_private = is_private_name(short_name(name) if own & _SEARCHES and own & _WEB else name)
    is_known = is_public_search(name)
    if is_private or (own & (_SETUP if is_known else _SETUP | {"tool"}) and not own & _KINDS.keys()):
        return Policy.NEVER
    if own & _SEARCHES or name in _NATIVE_SEARCH:
        return Policy.SEARCH
    if not _is_remote(name) or own & (_MACHINES | _MOVES | _MAPS_A_SITE):
        return Policy.NEVER
    if own & _READS and not own & (_KINDS.keys() | _LISTED):
        return Policy.NEVER
    if server & _MACHINES and not is_known:
        return Policy.NEVER
    if own & _MANAGES:
        return Policy.UNKNOWN
    is_asked = bool(own & _ASKS and (own | server) & (_WEB | _COMPANIES | _KINDS.keys()))
    is_company = bool(own & _COMPANIES) and own <= _COMPANIES | _KINDS.keys()
    is_search = is_asked or is_company or bool(server & _SEARCHES) or is_engine(name)
    return Policy.SEARCH if is_search else Policy.UNKNOWN


@lru_cache(maxsize=1024)
def reads_pages(name: str) -> bool:
    """Whether a tool reads web pages by its name: its results may have their text, and are not those of a search."""
    if not _is_remote(name):
        return False
    own = frozenset(words_of(_COMPOSIO_SEARCH.sub("", short_name(name), count=1)))
    server = _server_words(name)
    if server >= _OWN_TOOLKIT and not own & _CRAWLS:
        return False
    if own & (_SEARCHES | _SETUP | _MACHINES) or server & _MACHINES or is_private_name(name):
        return False
    return (
        own >= {"rag", "browser"}
        or bool(own & _READS and not own & _LISTED)
        or bool(own & _OPENS and own & _PAGES)
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
    inner = {inner_policy_of(slug) if slug else Policy.UNKNOWN for slug in slugs[:_MOST_INNER]}
    if Policy.SEARCH in inner:
        return Policy.SEARCH
    return Policy.NEVER if inner == {Policy.NEVER} and len(slugs) <= _MOST_INNER else Policy.UNKNOWN


@lru_cache(maxsize=1024)
def kind_of_server(name: str) -> str:
    """The kind of results that all tools of a server have by its name; `web` when it says nothing or several."""
    words = _server_words(name)
    kinds = {_KINDS[word] for word in words & _KINDS.keys()} & _OF_SERVERS
    return kinds.pop() if len(kinds) == 1 else "web"


@lru_cache(maxsize=1024)
def kind_of_name(name: str) -> str:
    """The kind of results a search tool's name promises; `web` when it says nothing."""
    words = words_of(short_name(name))
    return next((kind for word, kind in _KINDS.items() if word in words), "web")
