"""The fold of the event stream: it can be cut anywhere, and continued from there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import decode_event
from ua_tui.core.observation import CrawlObservation, McpObservation
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.costs import TokenCount
from ua_tui.core.view.records import KEPT_TIMES, ObserverRuns, Wait, quantile
from ua_tui.core.view.session import SessionView, fold

START = datetime(2026, 11, 21, 5, 10, tzinfo=UTC)
RECORDED = [
    Path(__file__).parents[1] / "telemetry" / "session.jsonl",
    Path(__file__).parents[1] / "telemetry" / "turns.jsonl",
    Path(__file__).parents[2] / "tui" / "played.jsonl",
]

ids = st.sampled_from(["1", "2", "3"])
some = st.none() | ids
words = st.sampled_from(["", "one", "two words"])
usages = st.builds(ev.Usage, input_tokens=st.integers(0, 50), output_tokens=st.integers(0, 50))
costs = st.none() | st.sampled_from([0.0, 0.25, 0.5])
observations = st.builds(McpObservation, tool_name=st.just("n"), tool_use_id=ids, server=words, output=words)

EVENTS = st.one_of(
    st.builds(ev.SessionStarted, session_id=st.just("s"), workspace=words, cwd=words, version=words),
    st.builds(ev.QueryReceived, query_id=ids, text=words),
    st.builds(ev.QuerySteered, query_id=ids, text=words),
    st.builds(ev.TextDelta, query_id=ids, message_id=ids, text=words, parent_tool_use_id=some),
    st.builds(
        ev.MessageFinished, query_id=ids, message_id=ids, text=words, usage=usages, parent_tool_use_id=some
    ),
    st.builds(ev.TokensSpent, query_id=ids, message_id=ids, usage=usages, model=words, cost_usd=costs,
              parent_tool_use_id=some),
    st.builds(ev.ToolCallStarted, query_id=ids, tool_use_id=ids, name=st.sampled_from(["Agent", "mcp__s__search"]),
              input=st.dictionaries(words, words), parent_tool_use_id=some),
    st.builds(ev.ToolCallProgress, tool_use_id=ids, done=st.just(1), total=st.just(2)),
    st.builds(ev.ToolCallFinished, tool_use_id=ids, status=st.sampled_from(["success", "error", "denied"]),
              observation=observations, duration_ms=st.just(5.0)),
    st.builds(ev.SubagentStarted, task_id=ids, tool_use_id=ids, name=words),
    st.builds(ev.SubagentFinished, task_id=ids, tool_use_id=ids, name=words, by_person=st.booleans()),
    st.builds(ev.ComplianceEnforced, subagent=words, rule=words, message=words),
    st.builds(ev.PermissionAsked, request_id=ids, tool_name=words, tool_use_id=some),
    st.builds(ev.PermissionAnswered, request_id=ids, tool_name=words, tool_use_id=some,
              decision=st.sampled_from(["allow", "deny"])),
    st.builds(ev.AuthRequired, toolkit=words, url=words),
    st.builds(ev.AuthFinished, toolkit=words, outcome=st.just("completed")),
    st.builds(ev.ApiRetry, attempt=st.just(1), max_attempts=st.just(3), delay_ms=st.just(1.0)),
    st.builds(ev.ObserverFinished, run_id=ids, observer=words, tool_use_id=ids, status=st.just("saved")),
    st.builds(ev.ArtifactSaved, path=ids, kind=words, size=st.just(1), sha256=words, observer=words,
              tool_use_id=some),
    st.builds(ev.QueryFinished, query_id=ids, status=st.sampled_from(["success", "error"]), cost_usd=costs,
              usage=usages, text=words),
    st.builds(ev.SessionFinished, reason=words),
)  # fmt: skip


def stamped(events: list[ev.Event], first: int = 1) -> list[ev.Event]:
    return [stamp(event, number) for number, event in enumerate(events, first)]


def stamp(event: ev.Event, number: int) -> ev.Event:
    return msgspec.structs.replace(event, seq=number, at=START + timedelta(seconds=number))


SESSIONS = st.lists(EVENTS, max_size=40).map(stamped)


@given(SESSIONS, st.integers(0, 40))
def test_a_view_can_be_continued_from_anywhere(events: list[ev.Event], at: int) -> None:
    # A redactor learns secrets from events: each fold has its own.
    earlier, before = (SessionView(Redactor(["hunter2hunter2"])).then(events[:at]) for _ in range(2))
    assert earlier.then(events[at:]) == SessionView(Redactor(["hunter2hunter2"])).then(events)
    # A view never changes.
    assert earlier == before


@given(SESSIONS)
def test_what_is_there_is_what_the_events_say(events: list[ev.Event]) -> None:
    view = fold(events)
    assert view.query_count == sum(isinstance(event, ev.QueryReceived) for event in events)
    assert set(view.activity.waiting) <= set(view.activity.calls)
    assert all(call in {each.id for each in view.calls} for call in view.activity.calls)
    assert (view.costs.total is None) or view.costs.total >= 0
    for call in view.calls:
        assert next(each.id for each in view.lineage(call.id)) == call.id


@pytest.mark.parametrize("journal", RECORDED, ids=lambda path: path.name)
def test_any_recorded_journal_folds_wherever_it_is_cut(journal: Path) -> None:
    events = [decode_event(line) for line in journal.read_bytes().splitlines()]
    whole, view = fold(events), SessionView()
    for number, event in enumerate(events):
        if number % 20 == 0:
            assert view.then(events[number:]) == whole
        view.add(event)
        # As a tail of a journal is shown, without what came before.
        if number % 40 == 0:
            fold(events[number:])
    assert view == whole
    assert fold(events[: len(events) // 2]).then(events[len(events) // 2 :]) == whole


def call(number: int, parent: int | None = None, **more: Any) -> ev.ToolCallStarted:
    more = {"name": "mcp__s__search", "query_id": "q1", **more}
    above = None if parent is None else f"t{parent}"
    return ev.ToolCallStarted(tool_use_id=f"t{number}", parent_tool_use_id=above, **more)


def ended(number: int, **more: Any) -> ev.ToolCallFinished:
    return ev.ToolCallFinished(tool_use_id=f"t{number}", status="success", duration_ms=1500, **more)


ASKED = ev.QueryReceived(query_id="q1", text="Research the news")


def test_calls_are_a_tree_and_sub_agents_count_what_they_use() -> None:
    spent = {"query_id": "q1", "usage": ev.Usage(input_tokens=10), "cost_usd": 0.25}
    view = fold(
        stamped(
            [
                ASKED,
                call(1, name="Agent", input={"subagent_type": "writer", "description": "Write it"}),
                ev.SubagentStarted(task_id="a", tool_use_id="t1", name="writer", description="Write it"),
                call(2, parent=1, input={"query": "news"}),
                ev.TokensSpent(message_id="m", parent_tool_use_id="t1", **spent),  # type: ignore[arg-type]
                ev.TokensSpent(message_id="n", **spent),  # type: ignore[arg-type]
                ended(2),
                ev.ComplianceEnforced(subagent="writer", rule="r", message="again"),
            ]
        )
    )
    agent, inner = view.calls
    assert (agent.agent, agent.task, agent.depth, agent.sent_back) == ("writer", "Write it", 0, True)
    assert (agent.tokens, agent.estimate, agent.activity) == (10, 0.25, "search  news")
    assert (inner.parent, inner.depth, inner.status, inner.tokens) == ("t1", 1, "success", 0)
    assert [each.id for each in view.lineage("t2")] == ["t2", "t1"]
    query = view.last_query
    assert query is not None
    assert (query.calls, query.tokens, query.estimate) == (2, 20, 0.5)
    assert view.costs.models[""].cost_usd == 0.5


def test_a_call_waits_for_answers_and_for_accounts() -> None:
    wait_for = call(2, name="mcp__c__COMPOSIO_WAIT_FOR_CONNECTIONS")
    asked = ev.PermissionAsked(request_id="p", tool_name="Write", input={"path": "a.md"}, tool_use_id="t1")
    answered = ev.PermissionAnswered(request_id="p", tool_name="Write", decision="allow", tool_use_id="t1")
    events = stamped([ASKED, call(1), asked])
    view = fold(events)
    assert (view.activity.waiting, view.activity.needs_person) == (frozenset({"t1"}), True)
    assert view.activity.text() == "asks to run Write  a.md"
    later = view.then(
        stamped([answered, wait_for, ev.AuthRequired(toolkit="gmail", url="https://x.example/abcdef")], 4)
    )
    waited = later.call("t1")
    assert waited is not None
    assert waited.wait.seconds == 1
    assert later.activity.waiting == frozenset({"t2"})
    assert later.activity.text() == "needs a login to gmail"
    over = later.then(stamped([ev.AuthFinished(toolkit="gmail", outcome="completed"), ended(1)], 7))
    waited = over.call("t2")
    assert waited is not None
    assert waited.wait.seconds == 1
    assert (over.activity.waiting, over.activity.text()) == (frozenset(), "WAIT_FOR_CONNECTIONS")


def test_waits_that_overlap_count_once() -> None:
    wait = Wait().begin(1).begin(2).end(3)
    assert (wait.seconds, wait.since) == (0, 1)
    assert wait.end(5).spans == ((1, 5),)
    assert wait.end(5).end(6) == wait.end(5)


def test_a_cost_is_stated_by_the_end_of_its_query_or_stays_an_estimate() -> None:
    def spent(cost: float | None, query: str = "q1") -> ev.TokensSpent:
        return ev.TokensSpent(query_id=query, message_id="m", usage=ev.Usage(), model="m", cost_usd=cost)

    def end(cost: float | None, query: str = "q1") -> ev.QueryFinished:
        return ev.QueryFinished(query_id=query, status="success", cost_usd=cost)

    def total(*events: ev.Event) -> float | None:
        return fold(events).costs.total

    assert total(ASKED) is None
    assert total(ASKED, spent(0.25), spent(None)) == 0.25
    assert total(ASKED, spent(0.25), end(0.5)) == 0.5
    assert total(ASKED, spent(0.25), end(None)) == 0.25
    assert total(ASKED, spent(0.25), end(None), spent(0.5, "q2")) == 0.75
    assert fold([ASKED, spent(None), end(None)]).costs.unpriced == ("m",)


def test_results_are_places_and_what_came_of_them() -> None:
    class Placed(ev.ToolCallFinished, frozen=True, kw_only=True, tag="tool_call_finished"):
        place: int = 0

    found = CrawlObservation(
        tool_name="n", tool_use_id="t1", server="s", pages=3, failed=1, unread="a.example 404",
        output="x" * 9_000,
    )  # fmt: skip
    done = Placed(tool_use_id="t1", status="success", observation=found, place=77)
    (crawled,) = fold([ASKED, call(1), done]).calls
    assert (crawled.places, crawled.result_size) == ((77,), 9_000)
    assert crawled.done == "3/4 pages · a.example 404"
    assert crawled.result_preview == ""
    (shown,) = SessionView(Redactor()).then([ASKED, call(1), done]).calls
    assert len(shown.result_preview) <= 1_000


def test_the_activity_says_what_the_agent_does() -> None:
    def text(*events: ev.Event) -> tuple[str, str]:
        activity = Activity()
        for event in events:
            activity = activity.after(event)
        return activity.state, activity.text()

    writes = ev.TextDelta(query_id="q1", message_id="m", text="x")
    started = ev.SessionStarted(session_id="s", workspace="/w", cwd="/", version="1")
    assert text(started) == ("starting", "")
    assert text(started, ev.McpStatus()) == ("idle", "")
    assert text(started, ASKED, writes) == ("running", "writes")
    assert text(ASKED, call(1, input={"q": "x"})) == ("running", "search  x")
    assert text(ASKED, call(1), ended(1)) == ("running", "reads the result")
    assert text(ASKED, ev.QueryFinished(query_id="q1", status="success")) == ("idle", "")
    assert text(started, ev.ErrorRaised(where="agent", message="no"))[0] == "failed"


def test_a_quantile_is_the_nearest_rank() -> None:
    for values, part, expected in (
        ([], 0.5, 0.0), ([7.0], 0.5, 7.0), ([7.0], 0.95, 7.0), ([2.0, 1.0], 0.5, 1.0), ([3.0, 1.0, 2.0], 0.5, 2.0),
        (range(1, 21), 0.95, 19), (range(1, 22), 0.95, 20), (range(1, 101), 0.95, 95), (range(1, 101), 0.0, 1),
        (range(1, 101), 1.0, 100),
    ):  # fmt: skip
        assert quantile(values, part) == expected


def test_the_items_of_a_call_are_what_observers_saved_of_its_result() -> None:
    call = ev.ToolCallStarted(query_id="q1", tool_use_id="t", name="mcp__s__write", input={})
    view = SessionView().then((ASKED, call))
    for observer, items in (("work_products", 1), (ev.REPORT_CHECK, 100), (ev.KNOWLEDGE, 30), ("corpus", 2)):
        done = ev.ObserverFinished(
            run_id=observer, observer=observer, tool_use_id="t", status="saved", items=items
        )
        view.add(done)
    assert view.calls[0].items == 3


def test_runs_are_counted_and_times_are_of_the_last_ones() -> None:
    metrics = ObserverRuns().after("failed", 0, 0.0)
    assert (metrics.runs, metrics.failed, metrics.p50_ms) == (1, 1, 0.0)
    metrics = metrics.after("saved", 25, 1_000_000.0).after("skipped", 0, 1_000_000.0)
    for _ in range(KEPT_TIMES):
        metrics = metrics.after("saved", 1, 2.0)
    assert (metrics.runs, metrics.saved, metrics.skipped) == (KEPT_TIMES + 3, KEPT_TIMES + 1, 1)
    assert metrics.items == KEPT_TIMES + 25
    assert metrics.p95_ms == 2.0


def _spent(read: int, wrote: int) -> ev.TokensSpent:
    return ev.TokensSpent(
        query_id="q",
        message_id="m",
        usage=ev.Usage(input_tokens=read - 1, cache_read_input_tokens=1, output_tokens=wrote),
    )


def _end(read: int, wrote: int) -> ev.QueryFinished:
    return ev.QueryFinished(
        query_id="q", status="success", usage=ev.Usage(input_tokens=read, output_tokens=wrote)
    )


@pytest.mark.parametrize(
    ("events", "total"),
    [
        # The end has all of it: its figures replace the estimates of what sub-agents wrote.
        ([_spent(100, 9), _spent(50, 70), _end(150, 12)], 162),
        # The end of an older journal leaves the sub-agents out, and the end of a query that was stopped has nothing.
        ([_spent(100, 9), _spent(50, 70), _end(100, 9)], 229),
        ([_spent(100, 9), ev.QueryFinished(query_id="q", status="interrupted")], 109),
        (
            [
                ev.MessageFinished(query_id="q", message_id="m", text="", usage=ev.Usage(input_tokens=5)),
                _end(4, 3),
            ],
            7,
        ),
        ([_spent(100, 9)], 109),
    ],
)
def test_tokens_of_sub_agents_count_once(events: list[ev.Event], total: int) -> None:
    count = TokenCount()
    for event in events:
        count = count.after(event)
    assert count.total == total
