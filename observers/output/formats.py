"""The formats of artifacts: the types from which their JSON Schemas are generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from ua_tui.observers.search.keys import KINDS

_VERTICALS = (*dict.fromkeys(KINDS.values()), "error")
_LATER = "Later versions may add fields: skip those you do not know."

_Moment = Annotated[
    str,
    Meta(
        description="When the tool answered, ISO 8601 with the local offset.",
        extra_json_schema={"format": "date-time"},
    ),
]
_Tool = Annotated[str, Meta(description="The tool; inside a call of several tools the inner one.")]
_Call = Annotated[str, Meta(description="The call, as in the journal.")]
_Count = Annotated[int, Meta(ge=0)]
_Date = Annotated[str, Meta(pattern=r"^\d{4}(-\d{2}(-\d{2}(T\d{2}(:\d{2}.*)?)?)?)?$")]
_Day = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]


class ResultRow(TypedDict):
    """One search result, in the columns that every provider's results are brought into."""

    position: Annotated[int, Meta(description="The provider's rank, else the place in the list, from 1.")]
    title: Annotated[str | None, Meta(description="One line, without HTML and control characters.")]
    url: Annotated[
        str | None,
        Meta(
            description="As the provider gave it, with the scheme it may lack; a secret in it is masked. Null for a "
            "row that has none."
        ),
    ]
    source: Annotated[
        str | None,
        Meta(description="The journal's, publisher's or site's name, else the host of the URL."),
    ]
    date: Annotated[
        _Date | None,
        Meta(
            description="ISO 8601, as exact as the provider was: a year, a month, a day, or a time with or "
            "without an offset. Null when it cannot be read for certain."
        ),
    ]
    date_inferred: NotRequired[
        Annotated[
            Literal[True],
            Meta(description="The provider gave no year; `date` has the latest that is at most tomorrow."),
        ]
    ]
    snippet: Annotated[str | None, Meta(description="Without HTML.")]
    extra: Annotated[
        dict[str, Any],
        Meta(
            description="Every other field of the provider, unchanged, but of long encoded data only its size; also "
            "the original of a date when it was written otherwise."
        ),
    ]
    kind: NotRequired[
        Annotated[
            Literal["story"],
            Meta(description="A story of a cluster; `extra.cluster` is the cluster's position."),
        ]
    ]
    truncated: NotRequired[Annotated[Literal[True], Meta(description="The last field was cut off.")]]
    derived: NotRequired[
        Annotated[
            Literal[True],
            Meta(description="The provider gave only an identifier; the URL was derived from it."),
        ]
    ]
    duplicate: NotRequired[Annotated[Literal[True], Meta(description="The session had this URL before.")]]
    article: NotRequired[Annotated[str, Meta(description="The file of the article, once the page was read.")]]
    words: NotRequired[Annotated[_Count, Meta(description="The article's length in words.")]]
    content: NotRequired[Annotated[str, Meta(description="The article's first 10,000 characters.")]]


class NewsArticle(TypedDict):
    """One result of a news search in short; the row of the same position has the rest."""

    position: int
    title: str | None
    url: str | None
    source: str | None
    date: Annotated[str | None, Meta(description="The date of the row without its time.")]
    snippet: Annotated[str | None, Meta(description="At most 500 characters.")]


class KnowledgePanel(TypedDict):
    """The provider's panel about the subject of a search, in columns like those of a row."""

    title: Annotated[str, Meta(description="One line, without HTML and control characters.")]
    url: Annotated[str | None, Meta(description="The subject's page, or the page that describes it.")]
    source: Annotated[str | None, Meta(description="Who describes it, else the host of the URL.")]
    date: _Date | None
    snippet: Annotated[str | None, Meta(description="The description, without HTML.")]
    extra: Annotated[dict[str, Any], Meta(description="Every other field, as in a row.")]


class SearchResultsFile(TypedDict):
    """One list of search results: a file in search_results/."""

    type: Annotated[
        str,
        Meta(
            description="The kind of results, `error` for a search that failed. Known kinds are the examples; "
            "later versions may add others.",
            examples=list(_VERTICALS),
        ),
    ]
    tool: _Tool
    query: Annotated[str | None, Meta(description="The query, if the input or the answer contains it.")]
    timestamp: _Moment
    tool_use_id: _Call
    answer: NotRequired[Annotated[str, Meta(description="The provider's own answer in words.")]]
    knowledge_panel: NotRequired[KnowledgePanel]
    related_searches: NotRequired[
        Annotated[list[str], Meta(description="Further searches that the provider suggests.")]
    ]
    error: NotRequired[Annotated[str, Meta(description="Why the search failed; only without rows.")]]
    truncated: NotRequired[
        Annotated[Literal[True], Meta(description="The answer was cut off; its complete rows are here.")]
    ]
    preview: NotRequired[
        Annotated[Literal[True], Meta(description="The provider gave a preview instead of the whole data.")]
    ]
    results: Annotated[list[ResultRow], Meta(description="The rows, in the provider's order.")]
    url_count: Annotated[_Count, Meta(description="Different URLs among the rows.")]
    duplicates: Annotated[_Count, Meta(description="Rows whose URL the session had before.")]
    rejected: Annotated[_Count, Meta(description="Items of the list that are no results.")]
    articles: NotRequired[
        Annotated[list[NewsArticle], Meta(description="The rows of a news search in short.")]
    ]


class ArticleLink(TypedDict):
    """The address of `[label]` in a text, or of `[words][label]` if the label is a number."""

    label: str
    url: str


class ArticleFile(TypedDict):
    """One page that was read: a file in extracted_articles/."""

    type: Literal["article"]
    url: str
    title: str
    author: str | None
    source: Annotated[str | None, Meta(description="The site's name.")]
    date: Annotated[_Day | None, Meta(description="The day it was published, YYYY-MM-DD.")]
    words: _Count
    timestamp: _Moment
    tool: _Tool
    tool_use_id: _Call
    markdown: Annotated[str | None, Meta(description="The crawler's file, for an article of the crawler.")]
    content: Annotated[str, Meta(description="The whole text, in Markdown.")]
    links: NotRequired[
        Annotated[
            list[ArticleLink],
            Meta(description="The links of an article of the crawler; those of others are in the text."),
        ]
    ]


class RunInput(TypedDict):
    """What was run in the workbench."""

    code: Annotated[str, Meta(description="The first 1,000 characters of the code or command.")]
    code_length: Annotated[_Count, Meta(description="The whole length, in characters.")]
    session_id: Annotated[Any, Meta(description="As the model gave it, or null; mostly text.")]
    current_step: Annotated[Any, Meta(description="As the model gave it, or null; mostly text.")]
    thought: Annotated[Any, Meta(description="As the model gave it, or null; mostly text.")]


class RunOutput(TypedDict):
    """What a run in the workbench gave back; long texts are cut after 64,000 characters, with a notice."""

    stdout: str
    stderr: str
    results: Annotated[Any, Meta(description="What the run returned; as text when it is long.")]
    successful: Annotated[bool | None, Meta(description="As the service says; null when it does not.")]
    error: str | None
    helper_errors: Annotated[
        list[str], Meta(description="Lines of stdout, results or raw that look like errors.")
    ]
    extra: NotRequired[Annotated[dict[str, Any], Meta(description="Every other field of the answer.")]]
    raw: NotRequired[
        Annotated[str, Meta(description="The answer as it came, when it is cut off or has another shape.")]
    ]
    truncated: NotRequired[Annotated[Literal[True], Meta(description="The answer was cut off.")]]


class WorkbenchFile(TypedDict):
    """One run in the remote workbench or the remote shell: a file in workbench_activity/."""

    type: Literal["workbench"]
    tool: _Tool
    timestamp: _Moment
    tool_use_id: _Call
    input: RunInput
    output: RunOutput


class UploadedFile(TypedDict):
    """One file that was uploaded."""

    name: str
    path: Annotated[
        str | None,
        Meta(
            description="Where it was: relative to the session's folder, or in the sandbox; null if unknown."
        ),
    ]
    size: Annotated[_Count | None, Meta(description="In bytes; null if unknown.")]
    sha256: Annotated[str | None, Meta(description="In hexadecimal; null if unknown.")]
    mimetype: Annotated[str | None, Meta(description="As the call states it.")]
    key: Annotated[str | None, Meta(description="Its key in Composio's storage, if it is known.")]
    destination: Annotated[
        str, Meta(description="Where it went: a path, folder or address without its query, else the tool.")
    ]


class UploadFile(TypedDict):
    """The files that one tool uploaded: a file in uploads/."""

    type: Literal["upload"]
    tool: _Tool
    server: Annotated[str | None, Meta(description="The MCP server of the call.")]
    timestamp: _Moment
    tool_use_id: _Call
    files: list[UploadedFile]


FORMATS: Mapping[str, Any] = {
    "search_results": SearchResultsFile,
    "article": ArticleFile,
    "workbench_activity": WorkbenchFile,
    "upload": UploadFile,
}
"""The type of each `kind` of artifact with a documented format."""

_PARTS = (ResultRow, NewsArticle, KnowledgePanel, ArticleLink, RunInput, RunOutput, UploadedFile)


def artifact_schema(kind: str) -> dict[str, Any]:
    """Make the JSON Schema (draft 2020-12) of the artifacts of a kind in `FORMATS`.

    Fields stand in the order they are written in. Unknown ones are valid: later versions may have more.
    """
    top = FORMATS[kind]
    _, definitions = msgspec.json.schema_components((top,), ref_template="#/$defs/{name}")
    ordered = {
        each.__name__: _in_order(definitions[each.__name__], list(each.__annotations__))
        for each in (top, *_PARTS)
        if each.__name__ in definitions
    }
    whole = ordered.pop(top.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": f"ua-tui {kind}",
        "description": f"{whole['description']} {_LATER}",
        **({"$defs": ordered} if ordered else {}),
    }


def _in_order(entry: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    """The schema of one object with its fields in order; other fields are allowed."""
    return {
        **entry,
        "properties": {name: entry["properties"][name] for name in names},
        "required": [name for name in names if name in entry["required"]],
        "additionalProperties": True,
    }
