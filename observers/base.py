"""The interface of observers: what they receive and return."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec

from ua_tui.core.errors import ObserverError
from ua_tui.core.events.types import ReportChecked
from ua_tui.core.json_values import JsonMapping, text_in
from ua_tui.core.observation import ImageContent, TextContent, ToolCall, ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.agent.definitions.rules import SubagentRule
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.observers.output.ledger import Ledger

# `ua_tui.core.storage.large_results` shows 16,384 characters of a result; a mask can be a little longer than what it
# hides.
_LONGEST_PREVIEWS = 32 << 10
_Count = Annotated[int, msgspec.Meta(ge=0)]
_LEFT_OUT = re.compile(r"\[… \d+ characters left out …\]")


@dataclass(frozen=True, slots=True)
class Saved:
    """A file that an observer saved.

    `path` is relative to the workspace, `size` in bytes, `sha256` in hexadecimal; `copied_to` is the absolute
    path of a copy outside the session.
    """

    path: str
    kind: str
    size: int
    sha256: str
    copied_to: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of observing a result; `note` says why nothing was saved, or what is unusual about the files.

    `checked` is the event of a report that was checked; the run completes it with its call.
    """

    artifacts: tuple[Saved, ...] = ()
    items: _Count = 0
    rejected: _Count = 0
    duplicates: _Count = 0
    note: str | None = None
    checked: ReportChecked | None = None


def already_saved(path: str, items: int = 1) -> Outcome:
    """The outcome of a result whose items the session has in an artifact."""
    return Outcome(duplicates=items, note=f"already saved as {path}")


def total_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a result that was observed in several parts."""
    return Outcome(
        artifacts=tuple(saved for outcome in outcomes for saved in outcome.artifacts),
        items=sum(outcome.items for outcome in outcomes),
        rejected=sum(outcome.rejected for outcome in outcomes),
        duplicates=sum(outcome.duplicates for outcome in outcomes),
        note="; ".join(dict.fromkeys(outcome.note for outcome in outcomes if outcome.note)) or None,
    )


@dataclass
class ObserverContext:
    """What observers share: the session's folder, its clock (local, aware) and its memory.

    `knowledge` is where the knowledge base is; None if the settings turn it off. `public_searches` are the tools that
    the person says search what anybody may read.
    """

    workspace: Workspace
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    knowledge: KnowledgePlace | None = None
    public_searches: Sequence[str] = ()

    @cached_property
    def ledger(self) -> Ledger:
        """The files that observers have saved."""
        from ua_tui.observers.output.ledger import Ledger

        return Ledger(self.workspace)


class Interest(Enum):
    """An observer's interest in a tool call before it has seen the result; only `NONE` is false.

    `CURIOUS` is for a call whose name promises nothing but whose result may be worth saving. Such
    a run is reported when it has finished, and not at all if it found nothing.
    """

    NONE = "none"
    CURIOUS = "curious"
    SURE = "sure"

    def __bool__(self) -> bool:
        return self is not Interest.NONE


class Observer(Protocol):
    """Reads the results of tool calls and saves what is useful."""

    @property
    def name(self) -> str:
        """The observer's name in the Observers pane, unique among the observers."""
        ...

    def wants(self, call: ToolCall) -> bool | Interest:
        """Decide quickly whether to observe the result of `call`; runs on the event loop.

        True is the same as `Interest.SURE`, False as `Interest.NONE`. An observer of this package may also have a
        method `wants_result`, which is given the result of a call that `wants` does not want.
        """
        ...

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Read a result and save what is useful; runs in a worker thread and may raise."""
        ...


@dataclass(frozen=True, slots=True)
class ObserverSpec:
    """An observer of this package as the catalogue finds it: the `OBSERVER` of its module.

    Args:
        make: creates it, given the compliance rules of the session's sub-agents (None for the shipped ones).
        order: its place in the Observers pane; smaller ones come first.
    """

    make: Callable[[Sequence[SubagentRule] | None], Observer]
    order: int


def texts_of(result: ToolResult, workspace: Workspace) -> list[str]:
    """The text blocks of a result, read from its workspace file if the event has only a preview.

    A result just in has its content at hand although it is stored as well; one from the journal has previews.
    The stored file has had its secrets masked, so that blocks that are whole are preferred to it.

    Raises:
        ObserverError: the file is not a list of content blocks.
        WorkspaceError: the file cannot be read.
    """
    observation = result.observation
    if not is_preview(result):
        return observation.texts
    assert observation.stored_at is not None
    from ua_tui.observers.decoding.decode import MAX_TEXT

    data = workspace.read_artifact(observation.stored_at, MAX_TEXT * 4 + 1)
    try:
        blocks = msgspec.json.decode(data, type=list[TextContent | ImageContent])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ObserverError(
            f"the stored result '{clean_line(observation.stored_at)}' is damaged or too large and cannot be read "
            f"back ({clean_line(str(error))}); restore the file"
        ) from error
    return [block.text for block in blocks if isinstance(block, TextContent)]


def is_preview(result: ToolResult) -> bool:
    """Whether a result is only a preview of a file in the workspace."""
    observation = result.observation
    texts = observation.texts
    is_short = sum(map(len, texts)) <= _LONGEST_PREVIEWS
    is_cut = not texts or (is_short and any(map(_LEFT_OUT.search, texts)))
    return observation.stored_at is not None and is_cut


def moment_of(result: ToolResult, context: ObserverContext) -> datetime:
    """When the tool returned its result, in the session's time zone; dates like "2 hours ago" are relative to it."""
    now = context.now()
    ended = result.observation.ended_at
    return ended.astimezone(now.tzinfo) if ended is not None and ended.tzinfo is not None else now


def input_text(arguments: JsonMapping, *keys: str) -> str | None:
    """The first of the named arguments that is a non-empty text."""
    return next(filter(None, (text_in(arguments, key) for key in keys)), None)
