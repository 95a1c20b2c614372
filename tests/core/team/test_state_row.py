"""What a team sees of a session while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from ua_tui.core.events import types as ev
from ua_tui.core.events.continuation import resumption
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.team.replica import state_row
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.session import SessionView, fold

ASKED = {
    "asks to run Bash": (
        ev.PermissionAsked(request_id="r", tool_name="Bash", subjects=["Bash(ls)"]),
        ev.PermissionAnswered(request_id="r", tool_name="Bash", decision="allow"),
    ),
    "notes asks: Which one?": (
        ev.ElicitationAsked(request_id="r", server="notes", message="Which\none?"),
        ev.ElicitationAnswered(request_id="r", server="notes", action="accept"),
    ),
    "needs a login to gmail": (
        ev.AuthRequired(toolkit="gmail", url="https://x/secret"),
        ev.AuthFinished(toolkit="gmail", outcome="completed"),
    ),
}


class State:
    """What is known of a session after some events, and what the team sees of it."""

    def __init__(self, *events: ev.Event, redactor: Redactor | None = None, view: SessionView | None = None):
        self._view = view or SessionView()
        self._activity = Activity(state="starting")
        self._redactor = redactor or Redactor()
        self.name = ""
        for each in events:
            self.handle_event(each)

    def handle_event(self, event: ev.Event) -> None:
        self._view.add(event)
        self._activity = self._activity.after(event)

    def __getitem__(self, column: str) -> Any:
        return state_row(self._view, self._activity, self._redactor, self.name)[column]


QUERY = ev.QueryReceived(query_id="q1", text="Research the news\nof today")


@pytest.mark.parametrize("activity", ASKED)
def test_a_question_needs_somebody_until_it_is_answered(activity: str) -> None:
    asked, answered = ASKED[activity]
    state = State(QUERY, asked)
    assert (state["state"], state["activity"]) == ("needs_you", activity)
    state.handle_event(answered)
    assert (state["state"], state["activity"]) == ("running", "begins")


def test_the_states_of_a_session_and_what_it_does() -> None:
    state = State(ev.SessionStarted(session_id="s", workspace="/", cwd="/", version="1"))
    assert state["state"] == "starting"
    state.handle_event(ev.McpStatus())
    assert state["state"] == "idle"
    state.handle_event(QUERY)
    assert (state["state"], state["title"]) == ("running", "Research the news of today")
    state.handle_event(ev.ThinkingDelta(query_id="q1", message_id="m", text="hm"))
    assert state["activity"] == "thinks"
    for number in (1, 2):
        state.handle_event(ev.ToolCallStarted(query_id="q1", tool_use_id=f"t{number}", name=f"tool_{number}"))
    assert state["activity"] == "tool_2"
    state.handle_event(ev.ToolCallFinished(tool_use_id="t2", status="success"))
    assert state["activity"] == "tool_1"
    state.handle_event(ev.QueryFinished(query_id="q1", status="interrupted"))
    assert (state["state"], state["activity"]) == ("idle", "")
    state.handle_event(ev.SessionFinished(reason="finished"))
    assert state["state"] == "done"


def test_a_call_has_the_name_that_a_person_knows_and_no_secret() -> None:
    call = ev.ToolCallStarted(
        query_id="q1",
        tool_use_id="t",
        name="mcp__local_toolkit__crawl_parallel",
        input={"urls": ["https://a.example/?key=hunter2-secret"], "content": "x" * 1_000_000},
    )
    state = State(QUERY, call, redactor=Redactor(["hunter2-secret"]))
    assert state["activity"] == "crawl_parallel  https://a.example/?key=[redacted]"
    # Cut in the middle of a secret, it would not be recognised.
    command = {"command": "x" * 110 + " hunter2-secret"}
    state = State(
        QUERY,
        ev.ToolCallStarted(query_id="q1", tool_use_id="t", name="Bash", input=command),
        redactor=Redactor(["hunter2-secret"]),
    )
    assert "hunter" not in state["activity"]


def test_the_cost_of_a_query_is_estimated_until_it_is_known() -> None:
    state = State(QUERY)
    assert state["cost_usd"] is None
    for _ in range(2):
        state.handle_event(ev.TokensSpent(query_id="q1", message_id="m", usage=ev.Usage(), cost_usd=0.25))
    assert state["cost_usd"] == 0.5
    state.handle_event(ev.QueryFinished(query_id="q1", status="success", cost_usd=0.75))
    assert state["cost_usd"] == 0.75
    state.handle_event(ev.QueryReceived(query_id="q2", text="more"))
    state.handle_event(ev.QueryFinished(query_id="q2", status="success", cost_usd=None))
    assert state["cost_usd"] == 0.75


def test_an_agent_that_cannot_start_has_failed_and_may_be_restarted() -> None:
    state = State(ev.ErrorRaised(where="agent", message="no"))
    assert state["state"] == "failed"
    state.handle_event(ev.SessionFinished(reason="x"))
    assert state["state"] == "failed"
    state.handle_event(QUERY)
    assert state["state"] == "running"


def test_texts_are_short_and_have_no_secret() -> None:
    redactor = Redactor(["hunter2-secret"])
    state = State(
        ev.QueryReceived(query_id="q1", text="hunter2-secret " + "x" * 1_000_000), redactor=redactor
    )
    assert state["title"].startswith("[redacted] xx")
    assert len(state["title"]) == 200
    state.name = "named \x1b[31mhunter2-secret"
    assert state["title"].startswith("named")
    assert "\x1b" not in state["title"]
    assert "hunter2" not in state["title"]


def test_the_message_that_resumes_a_query_is_no_title() -> None:
    state = State(ev.QueryReceived(query_id="q1", text=resumption([])))
    assert (state["title"], state["titled"]) == ("", False)
    state.handle_event(ev.QueryReceived(query_id="q2", text="And then?"))
    assert (state["title"], state["titled"]) == ("And then?", False)
    state.name = "Named"
    assert (state["title"], state["titled"]) == ("Named", True)


def test_what_a_lost_program_spent_counts_once() -> None:
    spent = ev.TokensSpent(query_id="q1", message_id="m", usage=ev.Usage(), cost_usd=0.5)
    state = State(view=fold([QUERY, spent]))
    closing = ev.QueryFinished(query_id="q1", status="interrupted", duration_ms=0, cost_usd=0.5)
    state.handle_event(closing)
    state.handle_event(ev.SessionStarted(session_id="s", workspace="/", cwd="/", version="1"))
    assert state["cost_usd"] == 0.5
    state.handle_event(ev.QueryReceived(query_id="q2", text="Go on"))
    state.handle_event(ev.QueryFinished(query_id="q2", status="success", duration_ms=1, cost_usd=0.25))
    assert state["cost_usd"] == 0.75
