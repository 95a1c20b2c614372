"""The records of a session: queries, calls, messages, notes and files; none of them ever changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec.structs import replace

from ua_tui.core.events.types import QueryFinished

KEPT_TIMES = 1_024
"""The number of an observer's latest runs whose times are stored."""


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """When something waited for a person, in seconds since the epoch: `spans` that are over, and one since `since`.

    `questions` is how many it waits for now.
    """

    spans: tuple[tuple[float, float], ...] = ()
    since: float | None = None
    questions: int = 0

    def begin(self, at: float) -> Wait:
        """Return the wait after a question."""
        return replace(self, since=at if self.since is None else self.since, questions=self.questions + 1)

    def end(self, at: float) -> Wait:
        """Return the wait after an answer."""
        if self.questions > 1 or self.since is None:
            return replace(self, questions=max(0, self.questions - 1))
        return Wait(spans=(*self.spans, (self.since, at)))

    @property
    def seconds(self) -> float:
        """How long it waited, without the wait that is not over."""
        return sum(max(0.0, end - begin) for begin, end in self.spans)

    def within(self, took: float) -> float:
        """Return how many seconds of a duration were spent waiting; 0 if that is too short to be noticed."""
        waited = min(self.seconds, took)
        return waited if waited >= 0.1 else 0.0


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A query or a call: its own id, the number of the query, and seconds from the first query (`offset`).

    `calls` counts the calls below it; `tokens` and `estimate` (US dollars) are those of its messages.
    """

    id: str
    at: datetime
    number: int
    offset: float
    ended_offset: float | None = None
    calls: int = 0
    tokens: int = 0
    estimate: float | None = None
    wait: Wait = Wait()


class Query(Work, frozen=True, kw_only=True):
    """One query; `number` counts the queries of the session from 1.

    `end` has cleaned texts; None while the query runs, or if it was cut off. `undone` says that a person went back to
    before it, or to before an earlier one. `calls` counts its calls, those of sub-agents included, `retries` how often
    the model was asked again.
    """

    text: str
    decision: str | None = None
    source: str | None = None
    end: QueryFinished | None = None
    needs_person: bool = False
    auth_link: str | None = None
    retries: int = 0
    undone: bool = False


class Call(Work, frozen=True, kw_only=True):
    """One tool call and its result, if there is one yet; texts are clean, sizes in bytes.

    Attributes:
        parent: the call that started the sub-agent which made it; `depth` is how many sub-agents it is below.
        number: that of its query.
        label, argument: the tool as a person knows it, and the most informative argument.
        places: where the journal has its start, end, files and answers, if it was read from one.
        input_preview, result_preview: cut and masked; empty if the view has no redactor.
        changes: how the person changed its arguments, a line for each.
        done: how much of it is done while it runs, and then what came of it, in a few words.
        error: the beginning of the error.
        items: how many items were saved from its result.
        agent: the name of the sub-agent that it started; empty for other calls. The rest is about that sub-agent: its
            task, last activity, number of calls, tokens, estimated cost in US dollars, when it was heard of last
            (seconds since the epoch), and whether its work was sent back, or a person stopped it.
    """

    query_id: str
    name: str
    label: str
    argument: str
    parent: str | None = None
    depth: int = 0
    places: tuple[int, ...] = ()
    input_size: int = 0
    input_preview: str = ""
    changes: tuple[str, ...] = ()
    status: str | None = None
    duration_ms: float = 0.0
    result_size: int = 0
    result_preview: str = ""
    stored_at: str | None = None
    truncated: bool = False
    recovered: bool = False
    done: str = ""
    error: str = ""
    items: int = 0
    agent: str = ""
    task: str = ""
    activity: str = ""
    heard: float = 0.0
    sent_back: bool = False
    stopped: bool = False

    @property
    def is_error(self) -> bool:
        """Whether the call ended without success."""
        return self.status not in (None, "success")


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of the assistant; `parent` and `depth` as of a call, for messages of sub-agents."""

    at: datetime
    text: str
    message_id: str = ""
    parent: str | None = None
    depth: int = 0
    unfinished: bool = False


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Anything else worth a line: its kind, a text, and the files it names."""

    at: datetime
    kind: str
    text: str
    files: tuple[str, ...] = ()


Entry = Query | Call | Message | Note


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the session saved, as it is now; `path` is relative to its folder.

    `copies` are the absolute paths of its copies, one of each version, with the call that made the version.
    """

    path: str
    kind: str
    size: int
    sha256: str
    saved_at: datetime
    tool_use_id: str | None = None
    copies: tuple[tuple[str, str | None], ...] = ()


class ObserverRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Counts the runs of one observer; times are in milliseconds, over the last `KEPT_TIMES` runs.

    `runs` is the sum of `saved`, `skipped` and `failed`. A run that was cancelled before it started has no time.
    """

    runs: int = 0
    saved: int = 0
    skipped: int = 0
    failed: int = 0
    items: int = 0
    times: tuple[float, ...] = ()

    def after(self, status: str, items: int, duration_ms: float) -> ObserverRuns:
        """Return the counts after a run; `status` is `saved`, `skipped` or `failed`."""
        return ObserverRuns(
            runs=self.runs + 1,
            saved=self.saved + (status == "saved"),
            skipped=self.skipped + (status == "skipped"),
            failed=self.failed + (status not in ("saved", "skipped")),
            items=self.items + items,
            times=(*self.times, duration_ms)[-KEPT_TIMES:] if duration_ms > 0 else self.times,
        )

    @property
    def p50_ms(self) -> float:
        """Half of the runs took no longer than this."""
        return quantile(self.times, 0.5)

    @property
    def p95_ms(self) -> float:
        """All but one in twenty runs took no longer than this."""
        return quantile(self.times, 0.95)


def quantile(values: Iterable[float], part: float) -> float:
    """The smallest of `values` that at least `part` (0 to 1) of them do not exceed: the nearest rank.

    It is always one of the values, never something between two; 0.0 when there are none.
    """
    ordered = sorted(values)
    rank = max(1, math.ceil(round(part * len(ordered), 9)))
    return ordered[min(rank, len(ordered)) - 1] if ordered else 0.0
