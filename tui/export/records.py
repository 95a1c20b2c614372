"""The records of an export, as its JSON has them; every text in them is redacted, cleaned and without local paths."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import ReportFormat
from ua_tui.core.claims.records import Source
from ua_tui.core.events.types import Usage

VERSION = 2
PAGE_MARK = '<meta name="generator" content="ua-tui '
"""What the head of an exported page has before the version of the program."""

SessionState = Literal["finished", "stopped", "running", "crashed"]
SenderKind = Literal["agent", "person"]


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the session; `seconds` is how long it took, `version` that of the program that ran it."""

    id: str
    title: str = ""
    state: SessionState = "crashed"
    started: datetime | None = None
    ended: datetime | None = None
    seconds: float = 0.0
    version: str = ""
    model: str = ""
    permission_mode: str = ""
    demo: bool = False
    queries: int = 0
    calls: int = 0


class ReportText(msgspec.Struct, frozen=True, kw_only=True):
    """The report; `path` is relative to the session's folder.

    `size` and `sha256` are those of the file, `source` is its text with all markup. `is_cut` says that
    `source` is only its beginning. `others` are the paths of the other reports.
    """

    path: str
    title: str = ""
    format: ReportFormat = "text"
    size: int = 0
    sha256: str = ""
    source: str = ""
    is_cut: bool = False
    others: tuple[str, ...] = ()


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the agent, or one that the person sent while it worked; `text` is Markdown."""

    at: datetime
    text: str
    by: SenderKind = "agent"
    unfinished: bool = False


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A query with the messages that followed; `number` counts from 1, `seconds` is how long it took.

    `status` is empty for a query that is running or was cut off. It is `undone` if a person went back to before it.
    """

    number: int
    at: datetime
    text: str
    undone: bool = False
    status: str = ""
    error: str = ""
    seconds: float = 0.0
    turns: int = 0
    calls: int = 0
    cost_usd: float | None = None
    tokens: int = 0
    messages: tuple[Message, ...] = ()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call; `depth` is 1 or more for those of sub-agents.

    `query` is the number of its query and `offset` its start in seconds after that of the query. `status` is empty
    for a call without an end. `input` (JSON) and `result` are cut; `result_size` is that of the complete result in
    bytes.
    """

    id: str
    name: str
    server: str = ""
    label: str = ""
    about: str = ""
    query: int = 0
    depth: int = 0
    at: datetime
    offset: float = 0.0
    seconds: float = 0.0
    status: str = ""
    input: str = ""
    result: str = ""
    result_size: int = 0


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the session saved; `path` is relative to its folder, `sha256` is as it was saved last."""

    path: str
    kind: str
    size: int
    sha256: str
    saved_at: datetime


class ModelCosts(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of one model; `cost_usd` is an estimate, None if its price is unknown."""

    model: str
    usage: Usage
    cost_usd: float | None = None


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What the session cost; `cost_usd` is None if it is unknown, for which `unpriced` names the models.

    It is estimated if no end of a query states it, as in a session that crashed.
    `inherited_usd` is what the session of which this is a fork had spent before, and no part of the rest.
    `tokens` counts all of them, cached ones included. `seconds` is the time of all queries.
    """

    cost_usd: float | None = None
    cost_is_estimated: bool = False
    inherited_usd: float = 0.0
    unpriced: tuple[str, ...] = ()
    tokens: int = 0
    seconds: float = 0.0
    models: tuple[ModelCosts, ...] = ()


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """A session to hand on.

    `check` is that of `report`, with what a person decided and a model said; the `source` of its passages is an index
    of `sources`, and its own list is empty. `references` are what the report cites. `notices` are sentences
    about what is missing or cut.
    """

    version: int = VERSION
    program: str
    exported_at: datetime
    session: SessionFacts
    report: ReportText | None = None
    check: CheckedReport | None = None
    references: tuple[Source, ...] = ()
    queries: tuple[Query, ...] = ()
    calls: tuple[Call, ...] = ()
    sources: tuple[Source, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    costs: Costs = Costs()
    notices: tuple[str, ...] = ()
