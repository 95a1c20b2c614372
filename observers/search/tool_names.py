"""Which tools may return search results, judged by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache
from itertools import islice
from typing import Any

from core.observation import ToolCall
from observers.search.keys import word_set

__all__ = [
    "Policy",
    "inner_policy_of",
    "inner_tools",
    "is_multi_execute",
    "kind_of_name",
    "kind_of_server",
    "policy_of",
    "policy_of_call",
    "short_name",
    "words_of",
]


class Policy(Enum):
    """What a tool's name says about its results."""

    SEARCH = "search"
    UNKNOWN = "unknown"
    NEVER = "never"


_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_PROVIDERS = word_set(
    "serp serpapi serper tavily exa brave bing google duckduckgo ddg searxng searx perplexity kagi linkup "
    "websearch newsapi gnews serply zenserp searchapi dataforseo baidu bocha metaso sogou yandex naver yahoo "
    "valueserp scaleserp serpstack search1api valyu newsdata mediastack newscatcher gdelt"
)
_SEARCH = word_set("search searches serp query find lookup results")
_SEARCHES = word_set("search searches")
_NATIVE_SEARCH = frozenset({"WebSearch"})
_ELSEWHERE = word_set(
    "gmail mail mails email emails outlook imap inbox message messages thread threads slack discord telegram teams "
    "file files folder folders filesystem directory drive dropbox sharepoint gdrive docs sheets slides "
    "code repo repos repository repositories github gitlab bitbucket commit commits issue issues pull branch "
    "calendar event contacts contact notion jira linear asana trello todo task tasks crm hubspot salesforce "
    "googledocs googledrive googlesheets googlecalendar googleslides googletasks gcal gcalendar onedrive confluence "
    "zendesk stripe airtable clickup evernote obsidian ticket tickets customer customers spreadsheet spreadsheets "
    "database sql postgres mysql sqlite memory remember workbench bash sandbox shell terminal python "
    "connection connections schema schemas tool tools toolkit toolkits"
)
_EITHER = word_set("event")
_READS_PAGES = word_set("fetch reader read extract scrape crawl contents download upload")
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
_OF_SERVERS = word_set("news videos images scholar jobs local hotels")
_MOST_INNER = 64
_EVENT_SEARCH = re.compile(r"COMPOSIO_SEARCH_(?!TOOLS\b)[A-Z_]+", re.IGNORECASE)


def short_name(name: str) -> str:
    """The tool's own name, without the server it belongs to."""
    return name.rsplit("__", 1)[-1] if name.startswith("mcp__") else name


@lru_cache(maxsize=1024)
def words_of(name: str) -> frozenset[str]:
    """The words of a tool's name, in lower case."""
    return frozenset(word.lower() for word in _BOUNDARY.split(name) if word)


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


@lru_cache(maxsize=1024)
def policy_of(name: str) -> Policy:
    """Judge a tool by its name: a search, something that is never one, or to be judged by its result."""
    own = words_of(short_name(name))
    server = words_of(name[: -len(short_name(name))]) if name.startswith("mcp__") else frozenset()
    if is_multi_execute(name):
        return Policy.UNKNOWN
    if "local" in server and "toolkit" in server:
        return Policy.NEVER
    if name in _NATIVE_SEARCH:
        return Policy.SEARCH
    if own & _READS_PAGES and not own & _SEARCHES:
        return Policy.NEVER
    if _EVENT_SEARCH.fullmatch(short_name(name)):
        return Policy.SEARCH
    if own & _ELSEWHERE - (_EITHER if (own | server) & _PROVIDERS else frozenset()) or (
        server & _ELSEWHERE and not own & _PROVIDERS
    ):
        return Policy.NEVER
    if own & _SEARCH or (own | server) & _PROVIDERS:
        return Policy.SEARCH
    if name.startswith("mcp__") or name.isupper():
        return Policy.UNKNOWN
    return Policy.NEVER


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
    words = words_of(name[: -len(short_name(name))]) if name.startswith("mcp__") else frozenset()
    kinds = {_KINDS[word] for word in words & _KINDS.keys()} & _OF_SERVERS
    return kinds.pop() if len(kinds) == 1 else "web"


@lru_cache(maxsize=1024)
def kind_of_name(name: str) -> str:
    """The kind of results a search tool's name promises; `web` when it says nothing."""
    words = words_of(short_name(name))
    return next((kind for word, kind in _KINDS.items() if word in words), "web")
