"""What a session does now: whether it works, what runs, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ua_tui.core.events import types as ev
from ua_tui.core.events.tool_names import main_argument, tool_label, tool_name
from ua_tui.core.json_values import JsonMapping
from ua_tui.core.text import clean_line
from ua_tui.core.view.costs import without

Asked = ev.PermissionAsked | ev.ElicitationAsked
_LONGEST = 120
_WAITS_FOR_ACCOUNTS = "WAIT_FOR_CONNECTIONS"
_WORDS = {
    "": "begins",
    "thinking": "thinks",
    "writing": "writes",
    "reading": "reads the result",
    "retrying": "waits",
}


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """What a session does; everything in it is about the present, so that it stays small.

    Attributes:
        state: empty until something is known.
        queries: the queries that run, by their ids, and `calls` the calls, in the order of their starts.
        questions: what a person was asked and has not answered, by its id.
        logins: the accounts that somebody has to connect, by toolkit.
        doing: what the agent does between two calls.
        silent: since when nothing has come from the agent; None if something has.
        retry: the newest repetition of a request to the model; None once it answered.
    """

    state: Literal["", "starting", "idle", "running", "done", "failed"] = ""
    queries: dict[str, ev.QueryReceived] = {}
    calls: dict[str, ev.ToolCallStarted] = {}
    questions: dict[str, Asked] = {}
    logins: dict[str, ev.AuthRequired] = {}
    doing: Literal["", "thinking", "writing", "reading", "retrying"] = ""
    silent: ev.AgentSilent | None = None
    retry: ev.ApiRetry | None = None

    @property
    def needs_person(self) -> bool:
        """Whether it waits for an answer, or until an account is connected."""
        return bool(self.questions or self.logins)

    @property
    def waiting(self) -> frozenset[str]:
        """The calls that wait for a person: for an answer, or until an account is connected."""
        if not self.needs_person:
            return frozenset()
        asked = {getattr(question, "tool_use_id", None) for question in self.questions.values()}
        if self.logins:
            asked.update(
                call
                for call, event in self.calls.items()
                if tool_name(event.name).short == _WAITS_FOR_ACCOUNTS
            )
        return frozenset(call for call in asked if call in self.calls)

    def text(self, redact: Callable[[Any], Any] = lambda value: value) -> str:
        """Describe it in one line; `redact` masks secrets in a value of any kind before it is cut."""
        if self.questions:
            return describe_question(next(reversed(self.questions.values())), redact)
        if self.logins:
            return clean_line(redact(f"needs a login to {[*self.logins][-1]}"), _LONGEST)
        if self.state not in ("", "running"):
            return ""
        if self.calls:
            call = [*self.calls.values()][-1]
            return describe_call(call.name, call.input, redact)
        return _WORDS[self.doing] if self.queries or self.doing else ""

    def after(self, event: ev.Event) -> Activity:
        """Return the activity after an event; the same if the event changes nothing."""
        match event:
            case ev.TextDelta() | ev.ThinkingDelta():
                doing: Literal["writing", "thinking"] = (
                    "writing" if isinstance(event, ev.TextDelta) else "thinking"
                )
                return self if self.doing == doing else replace(self, doing=doing, retry=None)
            case ev.MessageFinished():
                return self if self.retry is None else replace(self, retry=None)
            case ev.AgentSilent():
                return replace(self, silent=None if event.over else event)
            case ev.ApiRetry():
                return replace(self, retry=event, doing="retrying")
            case ev.ToolCallStarted(tool_use_id=call):
                return replace(self, calls={**self.calls, call: event}, retry=None)
            case ev.ToolCallFinished(tool_use_id=call):
                return replace(self, calls=without(self.calls, call), doing="reading")
            case _:
                return self._with_work(event)

    def _with_work(self, event: ev.Event) -> Activity:
        match event:
            case ev.McpStatus() if self.state == "starting":
                return replace(self, state="idle")
            case ev.ErrorRaised(where="agent") if self.state in ("starting", "idle"):
                return replace(self, state="failed")
            case ev.QueryReceived(query_id=query):
                return replace(
                    self, state="running", queries={**self.queries, query: event}, doing="", retry=None
                )
            case ev.QueryFinished(query_id=query) if set(self.queries) - {query}:
                return replace(self, queries=without(self.queries, query))
            case ev.QueryFinished():
                return Activity(state="idle", logins=self.logins)
            case ev.SessionStarted():
                return Activity(state="starting")
            case ev.SessionFinished():
                return Activity(state="failed" if self.state == "failed" else "done")
            case _:
                return self._with_question(event)

    def _with_question(self, event: ev.Event) -> Activity:
        match event:
            case ev.PermissionAsked(request_id=key) | ev.ElicitationAsked(request_id=key):
                return replace(self, questions={**self.questions, key: event})
            case ev.PermissionAnswered(request_id=key) | ev.ElicitationAnswered(request_id=key):
                return replace(self, questions=without(self.questions, key))
            case ev.AuthRequired(toolkit=toolkit):
                return replace(self, logins={**self.logins, toolkit: event})
            case ev.AuthFinished(toolkit=toolkit):
                return replace(self, logins=without(self.logins, toolkit))
            case _:
                return self


def describe_call(
    name: str, arguments: JsonMapping, redact: Callable[[Any], Any] = lambda value: value
) -> str:
    """Describe a call in one line, by the name that a person knows and its most informative argument."""
    # Masked before it is cut, as half a secret is not recognised; an argument may have a megabyte.
    short = {
        key: value[: 4 * _LONGEST] if isinstance(value, str) else value for key, value in arguments.items()
    }
    masked = redact(short)
    return clean_line(f"{tool_label(name, masked)}  {main_argument(name, masked)}".rstrip(), _LONGEST)


def describe_question(event: Asked, redact: Callable[[Any], Any] = lambda value: value) -> str:
    """Describe in one line what a person is asked."""
    match event:
        case ev.PermissionAsked(is_plan=True):
            return "asks for approval of a plan"
        case ev.PermissionAsked(is_question=True):
            return "asks a question"
        case ev.PermissionAsked():
            return f"asks to run {describe_call(event.tool_name, event.input, redact)}"
        case ev.ElicitationAsked():
            text = clean_line(f"{event.server} asks: {event.message}", 4 * _LONGEST)
            return clean_line(redact(text), _LONGEST)
