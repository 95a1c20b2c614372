"""Finding the lists of search results in whatever a tool gave back, by their shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.observation import ToolCall
from observers.decode import MAX_DEPTH, Decoded, decode_text
from observers.salvage import CUT_OFF
from observers.search.names import (
    Policy,
    inner_policy_of,
    is_multi_execute,
    kind_of_name,
    policy_of,
    short_name,
    word_set,
)
from observers.search.prose import rows_in_prose
from observers.search.rows import Field, field_of, url_of

__all__ = ["Page", "Scope", "recognise"]

_KINDS = {  # keys whose list is a vertical of its own, spelled without `_` and in lower case
    "organicresults": "web",
    "organic": "web",
    "webresults": "web",
    "webpages": "web",
    "web": "web",
    "searchresults": "web",
    "searchresult": "web",
    "newsresults": "news",
    "news": "news",
    "topstories": "news",
    "articles": "news",
    "citations": "web_answer",
    "images": "images",
    "imageresults": "images",
    "imagesresults": "images",
    "inlineimages": "images",
    "videos": "videos",
    "videoresults": "videos",
    "videosresults": "videos",
    "inlinevideos": "videos",
    "shoppingresults": "shopping",
    "shopping": "shopping",
    "inlineshopping": "shopping",
    "products": "shopping",
    "jobsresults": "jobs",
    "jobs": "jobs",
    "localresults": "local",
    "places": "local",
    "locations": "local",
    "scholar": "scholar",
    "papers": "scholar",
    "discussions": "discussions",
    "discussionsandforums": "discussions",
    "relatedquestions": "questions",
    "peoplealsoask": "questions",
    "faq": "questions",
    "eventsresults": "events",
    "properties": "hotels",
    "relatedtopics": "web",
}
_PAGE_MARKS = word_set(  # keys that only a result page has: with one of them an empty list is an empty page
    "organicresults organic newsresults webresults webpages searchmetadata searchinformation searchparameters "
    "searchresults searchresult"
)
_SURE = word_set(
    "organicresults organic newsresults webresults webpages searchresults searchresult citations"
)
_SKIPPED = word_set(
    "relatedsearches pagination serpapipagination menulinks submenulinks sitelinks inlinelinks buttons deepresults "
    "filters menuitems thumbnail thumbnails favicon profile metaurl knowledgegraph suggestions spellingsuggestions "
    "searchparameters searchmetadata searchinformation peoplealsosearchfor relatedqueries highlight stories "
    "session remotefileinfo icon "
    "refinesearchfilters categories facets topics tools toolkitconnectionstatuses"
)
_WRAPPERS = word_set(
    "result results response data datapreview output content text body value payload message"
)
_ERROR_KEYS = ("error", "error_message", "errorMessage", "message")
_MAX_VALUES = 2_000_000


@dataclass
class Scope:
    """One search that was run: the whole call, or one of the tools inside a call that runs several."""

    tool: str
    policy: Policy
    query: str | None = None
    answer: str | None = None
    error: str | None = None
    engine: str = ""
    marked: bool = False
    other_lists: bool = False
    preview: bool = False


@dataclass
class Page:
    """One list of results of one search, not yet made into rows."""

    scope: Scope
    kind: str
    items: list[Any] = field(default_factory=list)
    empty: bool = False


def recognise(call: ToolCall, decoded: Decoded) -> list[Page]:
    """Find every list of results; a search that found nothing or failed gives one page without items."""
    inner = _inner_calls(call)
    outer = Scope(short_name(call.name), policy_of(call.name), query=_asked(call.input))
    scopes = [outer]
    pages: list[Page] = []
    for value in decoded.values:
        for page in _walk(value, outer, inner, scopes):
            if not any(page.items == other.items and page.kind == other.kind for other in pages):
                pages.append(page)
    if not pages and outer.policy is Policy.SEARCH and decoded.prose:
        items = rows_in_prose(decoded.prose)
        if items:
            pages.append(Page(outer, kind_of_name(outer.tool), list(items)))
            outer.answer = None
    if decoded.prose and pages and all(page.scope is outer for page in pages) and outer.answer is None:
        outer.answer = _answer_in(decoded.prose)
    found = [page.scope for page in pages]
    for scope in scopes:
        if scope.policy is Policy.SEARCH and not any(scope is other for other in found):
            if scope is outer and len(scopes) > 1:
                continue
            if scope.error is not None or (scope.marked and not scope.other_lists):
                pages.append(Page(scope, "error" if _failed(scope) else kind_of_name(scope.tool), empty=True))
    return pages


def _failed(scope: Scope) -> bool:
    """A page that says it found nothing has an error text with some providers, and is a page all the same."""
    return scope.error is not None and not scope.marked


def _walk(value: Any, outer: Scope, inner: Sequence[Scope], scopes: list[Scope]) -> Iterator[Page]:
    """Visit everything in a result once, in order and to a limited depth."""
    waiting: list[tuple[Any, str, tuple[str, ...], Scope]] = [(value, "", (), outer)]
    visited = 0
    while waiting:
        value, key, path, scope = waiting.pop()
        visited += 1
        if visited > _MAX_VALUES or len(path) > MAX_DEPTH or scope.policy is Policy.NEVER:
            continue
        match value:
            case str():
                if key in _WRAPPERS and value.lstrip()[:1] in ("{", "["):
                    part = decode_text(value)
                    waiting += [(item, "", (*path, key), scope) for item in reversed(part.values)]
            case dict():
                executed = _executed(value, scope, inner, scopes)
                if executed is not None:
                    waiting += [(item, "response", path, executed) for item in _responses(value)]
                    continue
                _learn(value, scope)
                waiting += [
                    (item, folded, (*path, folded), scope)
                    for name, item in reversed(value.items())
                    if isinstance(item, dict | list | str) and (folded := _fold(name)) not in _SKIPPED
                ]
            case list():
                kind = _kind_of_list(value, key, path, scope)
                if kind is not None:
                    yield Page(scope, kind, value)
                else:
                    waiting += [
                        (item, key, (*path, "[]"), scope)
                        for item in reversed(value)
                        if isinstance(item, dict | list)
                    ]
                    if _is_list_of_objects(value) and not any(
                        CUT_OFF in item for item in value if isinstance(item, dict)
                    ):
                        scope.other_lists = scope.other_lists or not any(_runs_a_tool(item) for item in value)
            case _:
                pass


def _fold(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").lower()


def _inner_calls(call: ToolCall) -> list[Scope]:
    """The searches that the input of a call asks for, in order, when it runs several tools."""
    tools = call.input.get("tools") if is_multi_execute(call.name) else None
    if not isinstance(tools, list):
        return []
    scopes = []
    for tool in tools:
        slug = tool.get("tool_slug") if isinstance(tool, dict) else None
        arguments = tool.get("arguments") if isinstance(tool, dict) else None
        name = slug if isinstance(slug, str) and slug else short_name(call.name)
        scopes.append(
            Scope(name, inner_policy_of(name), query=_asked(arguments if isinstance(arguments, dict) else {}))
        )
    return scopes


def _runs_a_tool(item: Any) -> bool:
    return isinstance(item, dict) and (
        isinstance(item.get("tool_slug"), str)
        or (isinstance(item.get("response"), dict | str) and url_of(item) is None)
    )


def _executed(
    value: Mapping[str, Any], scope: Scope, inner: Sequence[Scope], scopes: list[Scope]
) -> Scope | None:
    """The scope of one executed tool within a result of several, or None when `value` is not that."""
    slug, index = value.get("tool_slug"), value.get("index")
    if not isinstance(slug, str) or not slug:
        if not (isinstance(value.get("response"), dict | str) and is_multi_execute(scope.tool)):
            return None
        slug = None
    asked = inner[index] if isinstance(index, int) and 0 <= index < len(inner) else None
    if asked is None and slug is None:
        place = len(scopes) - 1
        asked = inner[place] if place < len(inner) else None
    name = slug or (asked.tool if asked else scope.tool)
    executed = Scope(name, inner_policy_of(name), query=asked.query if asked else None)
    if executed.query is None and isinstance(arguments := value.get("arguments"), dict):
        executed.query = _asked(arguments)
    executed.error = _error_of(value)
    response = value.get("response")
    if isinstance(response, dict):
        executed.error = _error_of(response) or executed.error
        executed.preview = "data_preview" in response and "data" not in response
    scopes.append(executed)
    return executed


def _responses(value: Mapping[str, Any]) -> list[Any]:
    if "response" in value:
        return [value["response"]]
    return [
        value[key] for key in ("result", "output", "data") if isinstance(value.get(key), dict | list | str)
    ]


def _learn(value: Mapping[str, Any], scope: Scope) -> None:
    """Take from an object what it says of the search as a whole."""
    for name, item in value.items():
        folded = _fold(name)
        if folded in _PAGE_MARKS or (folded == "results" and isinstance(item, list)):
            scope.marked = True
    scope.query = scope.query or _asked(value)
    for name in ("search_parameters", "searchParameters", "query", "queryContext", "search_information"):
        details = value.get(name)
        if isinstance(details, dict):
            scope.query = scope.query or _asked(details)
            scope.engine = scope.engine or str(details.get("engine") or details.get("type") or "")
    scope.answer = scope.answer or _answer_of(value)
    scope.error = scope.error or _error_of(value)


def _asked(arguments: Mapping[str, Any]) -> str | None:
    for name in (
        "query",
        "q",
        "search_query",
        "searchQuery",
        "original",
        "originalQuery",
        "query_displayed",
        "search",
        "keywords",
    ):
        asked = arguments.get(name)
        if isinstance(asked, str) and asked:
            return asked
    return None


def _answer_of(value: Mapping[str, Any]) -> str | None:
    for name in ("answer", "answer_box", "answerBox"):
        answer = value.get(name)
        if isinstance(answer, dict):
            answer = answer.get("answer") or answer.get("snippet") or answer.get("result")
        if isinstance(answer, str) and answer.strip():
            return answer
    match value.get("choices"):
        case [{"message": {"content": str(answer)}}, *_] if answer.strip():
            return answer
        case _:
            return None


def _answer_in(prose: str) -> str | None:
    """What a search says besides its links, without the lines that announce them."""
    lines = [
        line
        for line in prose.splitlines()
        if not line.rstrip().endswith(":") and not line.startswith(("REMINDER", "Web search results"))
    ]
    return "\n".join(lines).strip() or None


def _error_of(value: Mapping[str, Any]) -> str | None:
    if value.get("successful") is True or value.get("success") is True:
        return None
    for name in _ERROR_KEYS[:3] if value.get("successful") is None else _ERROR_KEYS:
        error = value.get(name)
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail")
        if isinstance(error, str) and error.strip():
            return error
    return None


def _is_list_of_objects(value: list[Any]) -> bool:
    return any(isinstance(item, dict) and item for item in value[:8])


def _kind_of_list(value: list[Any], key: str, path: tuple[str, ...], scope: Scope) -> str | None:
    """The kind of results in a list, or None when it is not a list of results."""
    if not value:
        return None
    kind = next((_KINDS[name] for name in reversed(path) if name in _KINDS), None)
    images = kind == "images"
    sample = value if len(value) <= 64 else [*value[:32], *value[-32:]]
    rows = sum(1 for item in sample if _is_row(item, images=images, named=kind is not None))
    search = scope.policy is Policy.SEARCH
    if key == "citations" and all(isinstance(item, str) for item in sample):
        return (
            "web_answer"
            if scope.answer and search and any(item.startswith("http") for item in sample)
            else None
        )
    if (
        key in _SURE
        and (rows or search)
        and not (rows == 0 and any(isinstance(item, list) for item in sample))
    ):
        return _refined(kind, value, scope)
    if rows == 0 or rows * 2 < len(sample):
        return None
    if not search:
        if images or sum(1 for item in sample if _is_full_row(item)) * 2 < len(sample):
            return None
        return _refined(kind, value, scope)
    return _refined(kind, value, scope)


def _refined(kind: str | None, value: list[Any], scope: Scope) -> str:
    if kind in (None, "web"):
        named = kind_of_name(scope.tool)
        if "scholar" in scope.engine or any(
            isinstance(item, dict) and "publication_info" in item for item in value[:4]
        ):
            return "scholar"
        if kind is None:
            first = value[0] if isinstance(value[0], dict) else {}
            return "news" if "news" in str(first.get("type", "")) else named
    return kind or "web"


def _is_row(item: Any, *, images: bool, named: bool) -> bool:
    if not isinstance(item, dict):
        return False
    if isinstance(item.get("highlight"), dict) or isinstance(item.get("stories"), list):
        return True
    if url_of(item, images=images) is None:
        return False
    return named or bool(_columns(item) & {Field.TITLE, Field.SNIPPET})


def _is_full_row(item: Any) -> bool:
    """A row that nothing but a result page has: an address, a title and something said of it."""
    if not isinstance(item, dict) or url_of(item) is None:
        return False
    columns = _columns(item)
    return Field.TITLE in columns and bool(
        columns & {Field.SNIPPET, Field.DATE, Field.POSITION, Field.SOURCE}
    )


def _columns(item: Mapping[str, Any]) -> set[str]:
    return {found[0] for key, value in item.items() if value and (found := field_of(key))}
