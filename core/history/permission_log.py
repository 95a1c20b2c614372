"""The log of permissions of a session: what was allowed or denied, by whom or by which rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import ASK_USER, EXIT_PLAN, Event, PermissionAnswered, PermissionApplied
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.text import clean_line

_BY = {
    "once": "you, once",
    "session": "you, for the session",
    "folder": "you, in this folder",
    "everywhere": "you, everywhere",
    "headless": "no one was available",
    "interrupted": "interrupted",
    "mode": "permission mode",
}


class PermissionDecision(msgspec.Struct, frozen=True):
    """One decision about a tool call.

    Attributes:
        tools: the names of the tools that the call ran or would have run.
        decision: `allow` or `deny`.
        by: who or what decided, in words.
        rule: the rule that decided, or the rules that the answer added; empty if there were none.
    """

    at: datetime
    tools: str
    decision: str
    by: str
    rule: str = ""
    reason: str = ""


def read_decisions(folder: Path) -> list[PermissionDecision]:
    """The decisions in the journal of a session, oldest first; reads it whole, so call it in a thread.

    Raises:
        JournalError: it cannot be read.
    """
    return list(decisions(read_events(folder)))


def decisions(events: Iterable[Event]) -> Iterator[PermissionDecision]:
    """The decisions among events, without questions and plans, which the agent asks about; texts of one line."""
    for event in events:
        if isinstance(event, PermissionApplied | PermissionAnswered) and event.tool_name in {
            ASK_USER,
            EXIT_PLAN,
        }:
            continue
        match event:
            case PermissionApplied():
                by = f"rule ({event.origin})" if event.rule else "permission mode"
                rule, reason = event.rule, event.reason
            case PermissionAnswered():
                # A denial is about one call in any case.
                denied_by_you = event.scope == "once" and event.decision == "deny"
                by = "you" if denied_by_you else _BY.get(event.scope, event.scope)
                rule, reason = " ".join(event.patterns), event.reason
            case _:
                continue
        names = dict.fromkeys(tool_name(name).short for name in event.subjects or [event.tool_name])
        texts = (clean_line(each, 1_000) for each in (", ".join(names), event.decision, by, rule, reason))
        yield PermissionDecision(event.at, *texts)
