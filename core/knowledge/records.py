"""What the knowledge base stores and what it answers: sessions, calls, documents, passages and hits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import msgspec

Kind = Literal["report", "article", "search_row", "answer", "query", "note", "workbench", "file"]
"""What a document is. A `file` has a name and no text that can be read."""
Trust = Literal["own", "tool", "web", "unknown"]
"""Who wrote a text: the person or the agent (own), a tool, or somebody on the web.

It is unknown if a file says so that the user's own program did not make: a session, or the knowledge base itself.
"""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Cursor(msgspec.Struct, frozen=True):
    """How far a journal was read: the `seq` of the last event, and the place after its line in bytes."""

    seq: int = 0
    place: int = 0


class IndexedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call. `tool` is the name that the agent used, `slug` the tool that ran inside it, if there is one."""

    tool_use_id: str
    tool: str
    slug: str = ""


class KnowledgeDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a session found or wrote; its texts are masked and clean.

    Attributes:
        path: the file in the session's folder; empty for what is only in the journal.
        part: the number of the document within the file, such as that of a search row, or the `seq` of its event.
        context: words that lead to it and are not in its text: the query that found it, the provider's title, the words
            of its address.
        made_at: seconds since the epoch; for a page the time at which it was fetched.
        date: the day of publication as the source states it.
        tool_use_id: the call that made it.
        partial: whether only the beginning of the text is here.
    """

    kind: Kind
    path: str = ""
    part: int = 0
    title: str = ""
    text: str = ""
    context: str = ""
    made_at: float
    trust: Trust = "tool"
    url: str = ""
    author: str = ""
    date: str = ""
    tool_use_id: str | None = None
    partial: bool = False


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a session's journal between two cursors.

    Attributes:
        after: the cursor at which the reading ended; that at which it began if there was nothing to read.
        title: the title of the session; None if the session cannot be described.
        calls: calls that began.
        documents: read while they are asked for; one with the path and the part of an earlier one replaces it.
        replaced: the files that were read again: all of their earlier documents are removed.
        more: whether the journal has more to read.
    """

    after: Cursor
    title: str | None = None
    demo: bool = False
    calls: Sequence[IndexedCall] = ()
    documents: Iterable[KnowledgeDocument] = ()
    replaced: Collection[str] = ()
    more: bool = False


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One document that answers a query, with its best passage.

    Attributes:
        id: the number of the document, for `KnowledgeSearch.document`.
        session: the folder of the session, relative to that of the sessions or absolute.
        start: where the passage begins in the document's text, in characters.
        passage: the passage, about 40 words.
        marks: the ranges of the passage that match, in characters.
        copies: how many other documents have the same text or nearly the same.
        more: how many other documents with its address match: rows of searches, and copies of the page.
        older: what an older copy of the page said instead, if it has another figure: "was $9,450 on 3 Nov".
        newer: what a newer copy says instead, if that was not found: "now $9,700 on 10 Nov".
        score: the rank; a higher one is better.
        full: whether the best passage, with its title, has all words of the query.
        figure: a number near the words with its currency or unit, as it is written, if figures were asked for.
        place: where that is in the passage, in characters.
    """

    id: int
    kind: Kind
    title: str
    url: str = ""
    site: str = ""
    author: str = ""
    date: str = ""
    made_at: float
    trust: Trust
    session: str
    session_title: str = ""
    demo: bool = False
    tool: str = ""
    tool_use_id: str | None = None
    path: str = ""
    part: int = 0
    start: int = 0
    passage: str = ""
    marks: tuple[tuple[int, int], ...] = ()
    copies: int = 0
    more: int = 0
    older: str = ""
    newer: str = ""
    score: float = 0.0
    full: bool = False
    figure: str = ""
    place: tuple[int, int] = (0, 0)


class FoundDocument(Hit, frozen=True, kw_only=True):
    """One document without a passage.

    Attributes:
        hash: the hash of its text, in hexadecimal digits; equal texts have equal ones.
        partial: whether only the beginning of the text is in the knowledge base.
        text: the text, if the document was asked for by its number.
    """

    hash: str
    words: int
    partial: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The answer to a query.

    `partial` says that the search was stopped before it had seen everything. `relaxed` says that no document
    has all words of the query. `notices` are sentences about the query or the file, such as one on a date that
    cannot be read. `problem` is a sentence that says why there can be no hits, and what to do; it `failed` if there is
    a knowledge base, which cannot be read.
    """

    hits: Sequence[Hit] = ()
    partial: bool = False
    relaxed: bool = False
    notices: tuple[str, ...] = ()
    problem: str = ""
    failed: bool = False
    ms: float = field(default=0.0, compare=False)
