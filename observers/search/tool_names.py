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
    "is_public",
    "is_sandbox",
    "kind_of_name",
    "kind_of_server",
    "policy_of",
    "policy_of_call",
    "reads_pages",
    "runs_of",
    "short_name",
    "words_of",
]


class Policy(Enum):
    """What a tool's name says about its results."""

    SEARCH = "search"
    UNKNOWN = "unknown"
    NEVER = "never"


_BOUNDARY = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_ENGINES = word_set(
    "serp serpapi serper tavily exa brave duckduckgo ddg searxng searx perplexity kagi linkup websearch newsapi "
    "gnews serply zenserp searchapi dataforseo bocha metaso sogou valueserp scaleserp serpstack search1api valyu "
    "newsdata mediastack newscatcher gdelt"
)
_COMPANIES = word_set("google bing baidu yandex naver yahoo")
"""Search engines that are as well the names of companies with many other tools."""
_SEARCHES = word_set("search searches searching serp websearch aisearch")
_ASKS = word_set("query find lookup results")
_WEB = word_set("web internet online websearch www")
_DOCUMENTATION = word_set("documentation")
_LIBRARIES = word_set(
    "wiki mediawiki wikipedia wikidata docs doc site blog stackoverflow twitter hackernews books"
)
_SANDBOX_TOOLS = ("REMOTE_WORKBENCH", "REMOTE_BASH")
_NATIVE_SEARCH = frozenset({"WebSearch"})
_MAIL_AND_FILES = word_set(
    "gmail mail mails email emails outlook imap inbox message messages imessage thread threads chats conversation "
    "conversations slack slackbot discord discordbot telegram teams whatsapp ms365 m365 office365 meeting "
    "meetings granola fireflies gong calendar event contact contacts gcal gcalendar googlecalendar note notes "
    "file files folder folders filesystem directory desktop drive dropbox box sharepoint gdrive onedrive sheets "
    "slides spreadsheet spreadsheets googledocs googledrive googlesheets googleslides googletasks googlephotos "
    "workspace notion confluence coda evernote obsidian memory memories mem0 openmemory graphiti nodes entities "
    "remember"
)
_CODE_AND_TASKS = word_set(
    "code git repo repos repository repositories github gitlab bitbucket sourcegraph grep ripgrep pattern symbol "
    "symbols commit commits issue issues pull branch jira linear asana trello todo todoist task tasks monday "
    "clickup wrike basecamp smartsheet ticket tickets figma miro"
)
_DATABASES = word_set(
    "database databases db sql soql postgres postgresql pg mysql mariadb sqlite mssql bigquery googlebigquery "
    "snowflake redshift athena databricks clickhouse duckdb dynamodb mongo mongodb redis firestore neo4j cypher "
    "airtable baserow nocodb elastic elasticsearch opensearch algolia meilisearch typesense solr qdrant pinecone "
    "chroma weaviate milvus table tables row rows column columns record records"
)
_BUSINESS = word_set(
    "crm hubspot salesforce dynamics365 pipedrive zoho attio apollo intercom freshdesk freshservice zendesk "
    "gorgias helpscout servicenow workday stripe quickbooks xero netsuite mailchimp klaviyo brevo activecampaign "
    "customer customers account accounts invoice invoices leads ads analytics sentry datadog grafana pagerduty posthog "
    "amplitude mixpanel newrelic splunk logs errors incident incidents alerts metrics"
)
_PRIVATE = _MAIL_AND_FILES | _CODE_AND_TASKS | _DATABASES | _BUSINESS
"""Words in the name of a tool or server whose results are private."""
_SETUP = word_set("connection connections schema schemas tool tools toolkit toolkits")
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

    The tool's own name comes before its server's: a server may be called after anything.
    """
    if is_multi_execute(name):
        return Policy.UNKNOWN
    server = _server_words(name)
    if server >= _OWN_TOOLKIT:
        return Policy.NEVER
    if name in _NATIVE_SEARCH:
        return Policy.SEARCH
    if reads_pages(name):
        return Policy.NEVER
    if _COMPOSIO_SEARCH.match(short_name(name)):
        return Policy.SEARCH
    own = words_of(short_name(name))
    found = _search_by_name(own, server) if own & _SEARCHES else _other_by_name(own, server)
    return found if _is_remote(name) or found is Policy.SEARCH else Policy.NEVER


def _search_by_name(own: frozenset[str], server: frozenset[str]) -> Policy:
    """Judge a tool whose own name has a word for searching: for the web or a documentation, whatever else it has."""
    if own & (_WEB | _DOCUMENTATION):
        return Policy.SEARCH
    private = _private(own, server)
    if own & private:
        return Policy.NEVER
    if own & (_ENGINES | _COMPANIES):
        return Policy.SEARCH
    if server & private or (own & _SETUP and not own & _KINDS.keys()):
        return Policy.NEVER
    return Policy.SEARCH


def _other_by_name(own: frozenset[str], server: frozenset[str]) -> Policy:
    """Judge a tool whose own name has no word for searching, though it may have the name of a search engine."""
    private = _private(own, server)
    if own & (private | _SETUP | _MACHINES | _MOVES | _MAPS_A_SITE):
        return Policy.NEVER
    if own & _READS and not own & (_KINDS.keys() | _LISTED):
        return Policy.NEVER
    if server & (private | _MACHINES) and not own & _ENGINES:
        return Policy.NEVER
    if own & _MANAGES:
        return Policy.UNKNOWN
    if (own | server) & _ENGINES or (own & _COMPANIES and own <= _COMPANIES | _KINDS.keys()):
        return Policy.SEARCH
    if server & _SEARCHES or (own & _ASKS and (own | server) & (_WEB | _COMPANIES | _KINDS.keys())):
        return Policy.SEARCH
    return Policy.UNKNOWN


def _private(own: frozenset[str], server: frozenset[str]) -> frozenset[str]:
    """The words for private things in a name: a search engine has events, and Google has documents of its users."""
    either = own | server
    private = _PRIVATE - {"event"} if either & (_ENGINES | _COMPANIES) else _PRIVATE
    return private | {"docs"} if "google" in either else private


@lru_cache(maxsize=1024)
def reads_pages(name: str) -> bool:
    """Whether a tool reads web pages by its name: its results may have their text, and are not those of a search."""
    if not _is_remote(name):
        return False
    own, server = words_of(_COMPOSIO_SEARCH.sub("", short_name(name), count=1)), _server_words(name)
    if server >= _OWN_TOOLKIT and not own & _CRAWLS:
        return False
    if own & (_SEARCHES | _PRIVATE | _SETUP | _MACHINES) or server & (_PRIVATE | _MACHINES):
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
    return words_of(name[: -len(short_name(name))]) if name.startswith("mcp__") else frozenset()


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
def is_public(name: str) -> bool:
    """Whether the name of a search shows that it is one of what anybody may read, and not of somebody's data."""
    return bool(words_of(name) & (_WEB | _ENGINES | _COMPANIES | _DOCUMENTATION | _LIBRARIES | _KINDS.keys()))


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
