from __future__ import annotations

import re
from datetime import UTC
from typing import Any, Literal

import msgspec
import pytest

from core.events.continuation import AUTH_COMPLETE
from core.events.types import (
    ApiRetry,
    AuthFinished,
    AuthRequired,
    BudgetReached,
    ComplianceEnforced,
    ComplianceFailed,
    ErrorRaised,
    Event,
    McpServer,
    McpStatus,
    MessageFinished,
    ModelChosen,
    PathFellBack,
    PermissionAnswered,
    PermissionApplied,
    PermissionAsked,
    PermissionModeChanged,
    PipelineFailed,
    PlanLimit,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
)
from core.provider.error_messages import AT_LIMIT
from tests.tui.files_host import until
from tests.tui.pane_host import PaneHost, at, finished, hosted, rows, started
from tui.panes.conversation.blocks import ConversationTheme, Notice, Tone, render_block
from tui.panes.conversation.notices import message_of
from tui.panes.conversation.pane import ConversationPane
from tui.render.layout import plain
from tui.screens.files.link import LinkScreen


def pane() -> ConversationPane:
    return ConversationPane(zone=UTC)


def asked(text: str = "What is it?", query: str = "q") -> list[Event]:
    return [
        QueryReceived(query_id=query, text=text, at=at(0)),
        QueryClassified(query_id=query, decision="COMPLEX", source="rule", at=at(0)),
    ]


def delta(text: str, message: str = "m", parent: str | None = None) -> TextDelta:
    return TextDelta(query_id="q", message_id=message, text=text, parent_tool_use_id=parent, at=at(1))


def written(text: str, message: str = "m", parent: str | None = None) -> MessageFinished:
    return MessageFinished(query_id="q", message_id=message, text=text, parent_tool_use_id=parent, at=at(1))


def text_of(view: ConversationPane) -> str:
    """What is shown, without the column of the cursor."""
    return "\n".join(row[view.GUTTER :].strip() for row in rows(view)).rstrip()


async def test_an_empty_conversation_offers_three_things_to_try() -> None:
    async with hosted(pane(), 80, 24) as (view, pilot):
        await pilot.pause()
        assert sum(row.strip().startswith("›") for row in rows(view)) == 3


async def test_what_is_not_set_up_leaves_the_things_to_try_and_is_kept_above_the_first_query() -> None:
    view = pane()
    off = McpServer(name="composio", status="off", error="Composio is off: set a key.")
    reader = McpServer(name="reader", status="off", error="The reader is off.")
    async with PaneHost(view).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        view.handle_events([McpStatus(servers=[off, reader])])
        shown = text_of(view)
        assert shown.count("› ") == 3
        assert "Composio is off: set a key." in shown
        assert "The reader is off." in shown
        view.handle_events([McpStatus(servers=[off, McpServer(name="reader", status="connected")])])
        assert "The reader is off." not in text_of(view)
        assert "reader is connected" in text_of(view)
        view.handle_events([McpStatus(servers=[off]), *asked()])
        shown = text_of(view)
        assert "› " not in shown
        assert shown.count("Composio is off") == 1
        assert shown.index("Composio is off") < shown.index("What is it?")
        assert "The reader is off." not in shown


async def test_queries_of_one_id_are_answered_one_by_one() -> None:
    async with hosted(pane(), 60, 24) as (view, _):
        view.handle_events(
            [*asked("One?"), written("First.", "m1"), QueryFinished(query_id="q", status="success")]
        )
        view.handle_events(
            [*asked("Two?"), written("Second.", "m2"), QueryFinished(query_id="q", status="success")]
        )
        reported = [row.split()[0] for row in text_of(view).split("\n") if row]
        assert reported == ["You", "One?", "Agent", "First.", "You", "Two?", "Agent", "Second."]
        keys = [block.key for block in view.entries]
        assert [view.index_of(key) for key in keys] == list(range(len(keys)))


async def test_that_all_is_spent_is_reported_once_by_the_query_that_was_stopped_for_it() -> None:
    spent: dict[str, Any] = {"level": "spent", "spent_usd": 1.2, "limit_usd": 1.0}
    async with hosted(pane(), 120, 24) as (view, _):
        end = QueryFinished(query_id="q", status="error", error=AT_LIMIT)
        view.handle_events(
            [*asked(), end, BudgetReached(**spent, stopped=True), BudgetReached(**spent, refused=True)]
        )
        shown = text_of(view)
        assert shown.count("✗") == shown.count("spending limit reached. Raise it with /budget") == 1
        assert "failed" not in shown


async def test_an_agent_that_dies_of_a_query_is_reported_once() -> None:
    died = "the agent died (ended by SIGKILL)"
    causes = [
        "ProcessError: Command failed with exit code -9 (exit code: -9)\nError output: Check stderr output"
    ]
    async with hosted(pane(), 120, 24) as (view, _):
        for query in ("q", "r"):
            error = ErrorRaised(where="agent", message=died, causes=causes)
            view.handle_events([*asked(), error, QueryFinished(query_id=query, status="error", error=died)])
        shown = text_of(view)
        assert shown.count(died) == shown.count(f"The query failed: {died}") == 2
        assert "ProcessError" not in shown
        assert "stderr" not in shown


async def test_the_half_of_an_answer_is_shown_once_and_marked_and_its_failure_once() -> None:
    broke = "The connection broke after 2.1 s; the answer is incomplete: try again"
    async with hosted(pane(), 120, 24) as (view, _):
        for attempt in (1, 2):
            view.handle_events(
                [*(asked() if attempt == 1 else []), delta("# Half\n\nof **it**", f"m{attempt}")]
            )
            taken_back = written("", f"m{attempt}")
            view.handle_events(
                [ApiRetry(attempt=attempt, max_attempts=3, delay_ms=1, error="connection_closed"), taken_back]
            )
            assert "of it" not in text_of(view)
        view.handle_events(
            [delta("Half", "m3"), msgspec.structs.replace(written("**Half", "m3"), incomplete=True)]
        )
        view.handle_events([ApiRetry(attempt=3, max_attempts=3, delay_ms=1, error="connection_closed")])
        assert "attempt 3 of 3" in text_of(view)
        view.handle_events([QueryFinished(query_id="q", status="error", error=broke)])
        shown = text_of(view)
        assert shown.count("Half") == shown.count("⋯ incomplete") == shown.count(broke) == 1
        assert "attempt 3" not in shown
        assert "failed" not in shown


async def test_a_message_of_the_program_is_not_shown_as_the_persons() -> None:
    async with hosted(pane(), 90, 24) as (view, _):
        view.handle_events([*asked("Read my mail"), written("Sign in first."), *asked(AUTH_COMPLETE)])
        rows = [row for row in text_of(view).split("\n") if row.strip()]
        speakers = [row.split()[0] for row in rows if row.split()[0] in ("You", "Agent", "ua-tui")]
        assert speakers[:3] == ["You", "Agent", "ua-tui"]
        assert "automatic message" in next(row for row in rows if row.split()[0] == "ua-tui")


async def test_question_and_answer_are_distinguished_by_words() -> None:
    async with hosted(pane(), 60, 24) as (view, _):
        view.handle_events([*asked("Line one\nline two"), written("**Yes**, it is.")])
        shown = text_of(view).split("\n")
        assert shown[0].split() == ["You", "14:02"]
        assert shown[1:4] == ["Line one", "line two", ""]
        assert shown[4].startswith("Agent")
        assert shown[4].endswith("full agent · 14:02")
        assert shown[5] == "Yes, it is."
        assert len(shown) == 6


async def test_the_heading_counts_calls_and_then_says_how_long_it_took() -> None:
    async with hosted(pane(), 60, 24) as (view, _):
        view.handle_events([*asked(), started("t1"), finished("t1"), started("t2")])
        assert "full agent · 2 calls · 14:02" in text_of(view)
        view.handle_events([QueryFinished(query_id="q", status="success", duration_ms=41_200)])
        assert "full agent · 2 calls · 41.2s" in text_of(view)


async def test_streamed_text_reads_as_the_whole_does() -> None:
    source = "# Chips\n\nSome **bold** text.\n\n- one\n- two\n\n```python\nx = 1\n\ny = 2\n```\n\nThe end.\n"
    streamed, whole = pane(), pane()
    async with PaneHost(streamed).run_test(size=(60, 30)):
        streamed.handle_events(asked())
        for start in range(0, len(source), 3):
            streamed.handle_events([delta(source[start : start + 3])])
        assert text_of(streamed).endswith("The end.▍")
        streamed.handle_events([written(source)])
        seen = text_of(streamed)
    async with PaneHost(whole).run_test(size=(60, 30)):
        whole.handle_events([*asked(), written(source)])
        assert text_of(whole) == seen
    assert "▍" not in seen


async def test_a_long_stream_renders_only_its_tail() -> None:
    async with hosted(pane(), 60, 30) as (view, _):
        view.handle_events(asked())
        for number in range(200):
            view.handle_events([delta(f"Paragraph {number} with some words.\n\n")])
        rendered: list[int] = []
        original = view.source.render

        def counting(entry: object, width: int) -> object:
            lines = original(entry, width)  # type: ignore[arg-type]  # any block
            rendered.append(len(lines))
            return lines

        view.source.render = counting  # type: ignore[method-assign, assignment]  # counted, else the same
        view.handle_events([delta("tail")])
        view.handle_events([delta(" grows")])
        assert sum(rendered) <= 8
        assert text_of(view).endswith("tail grows▍")


async def test_a_long_table_is_abridged_while_it_grows_and_whole_at_the_end() -> None:
    view = pane()
    table = "| n | word |\n|--:|--|\n" + "".join(f"| {n} | some words in a row |\n" for n in range(400))
    async with PaneHost(view).run_test(size=(60, 30)):
        view.handle_events([*asked(), delta(table)])
        growing = view.virtual_size.height
        assert "399" in text_of(view)
        view.handle_events([written(table)])
        assert growing < 50 < view.virtual_size.height
        assert "… 200 more rows" in text_of(view)


async def test_the_final_text_replaces_what_was_streamed() -> None:
    async with hosted(pane(), 60, 30) as (view, _):
        view.handle_events([*asked(), delta("Wrong start\n\nsecond "), delta("part")])
        view.handle_events([written("Right start\n\nsecond part\n\nthird")])
        assert "Wrong" not in text_of(view)
        assert text_of(view).endswith("Right start\n\nsecond part\n\nthird")


async def test_an_answer_that_was_never_streamed_is_shown_once() -> None:
    async with hosted(pane(), 60, 30) as (view, _):
        view.handle_events([*asked(), QueryFinished(query_id="q", status="success", text="Short answer")])
        assert text_of(view).count("Short answer") == 1
        view.handle_events(
            [*asked(query="q2"), MessageFinished(query_id="q2", message_id="n", text="Another")]
        )
        view.handle_events([QueryFinished(query_id="q2", status="success", text="Another")])
        assert text_of(view).count("Another") == 1


async def test_thinking_is_one_line_until_it_is_unfolded() -> None:
    view = pane()
    thought = ThinkingDelta(query_id="q", message_id="m", text="Hmm, let me see.", at=at(-1.4))
    async with PaneHost(view).run_test(size=(60, 30)) as pilot:
        view.handle_events([*asked(), thought])
        assert "▸ Thinking" in text_of(view)
        view.handle_events([delta("Answer")])
        assert "▸ Thought" in text_of(view)
        assert "16 characters · 2.4s" in text_of(view)
        assert "let me see" not in text_of(view)
        view.handle_events([written("Answer")])
        assert "16 characters · 2.4s" in text_of(view)
        await pilot.press("up", "enter")
        assert "▾ Thought" in text_of(view)
        assert "let me see" in text_of(view)
        view.handle_events([ThinkingDelta(query_id="q", message_id="m", text=" More.")])
        assert "let me see. More." in text_of(view)
        await pilot.press("enter")
        assert "let me see" not in text_of(view)
        line = next(y for y, row in enumerate(rows(view)) if "Thought" in row)
        await pilot.click(view, offset=(6, line + 1))
        assert "let me see" in text_of(view)


def works(call: str = "a", name: str = "report-creation-expert", task: str = "Write it") -> list[Event]:
    return [
        started(call, "Agent", subagent_type=name),
        SubagentStarted(task_id=f"k{call}", tool_use_id=call, name=name, description=task, at=at(0)),
    ]


async def test_what_was_sent_in_place_of_a_query_is_folded_below_it() -> None:
    async with hosted(pane(), 80, 24) as (view, pilot):
        sent = "The prompt review of the MCP server notes:\n\nReview \x1b[2Jmilk"
        view.handle_events([QueryReceived(query_id="q", text="/notes:review milk", prompt=sent, at=at(0))])
        await pilot.pause()
        assert re.search(r"▸ Sent +59 characters", text_of(view))
        view.focus()
        await pilot.press("end", "enter")
        assert "Review \ufffd[2Jmilk" in text_of(view)


async def test_a_subagents_text_is_folded_under_its_name() -> None:
    async with hosted(pane(), 80, 40) as (view, pilot):
        view.handle_events([*asked(), *works(), delta("I read **ten** articles.", "s1", "a")])
        assert "▸ ⠹ report-creation-expert: Write it  “I read **ten** articles." in text_of(view)
        assert "read ten" not in text_of(view)
        await pilot.press("end", "enter")
        assert "I read ten articles." in text_of(view)
        view.handle_events([delta("\n\nThen I wrote.", "s1", "a"), written("Done.", "s2", "a")])
        assert "Then I wrote." in text_of(view)
        assert text_of(view).endswith("Done.")
        end = SubagentFinished(task_id="ka", tool_use_id="a", name="report-creation-expert", at=at(75))
        view.handle_events([end, finished("a"), written("Back.")])
        line = next(row for row in text_of(view).splitlines() if "report-creation-expert" in row)
        assert line.strip().startswith("▾ ✓ report-creation-expert: Write it  Done.")
        assert line.endswith("done · 1m 15s")
        assert text_of(view).endswith("Back.")


async def test_a_working_subagent_shows_its_call_its_last_line_and_its_time_in_one_row() -> None:
    now = at(0).timestamp()
    view = ConversationPane(zone=UTC, clock=lambda: now)
    async with PaneHost(view).run_test(size=(100, 30)) as pilot:
        view.handle_events([*asked(), *works(), *works("b", "data-analyst", "Count")])
        assert view._timer is not None
        assert view._timer._active.is_set()
        now += 12.7
        view._advance()
        first, second = (row.strip(" ▌") for row in rows(view) if "▸" in row)
        assert first.startswith("▸ ⠙ report-creation-expert: Write it")
        assert first.endswith(" 12s")
        assert second.startswith("▸ ⠙ data-analyst: Count")
        view.handle_events([written("# Plan\n\nI read all of them first.", "m1", "a")])
        view.handle_events(
            [started("c1", "Read", "a", path="x.md"), started("c2", "Grep", "a", pattern="chip")]
        )
        (row,) = (row for row in rows(view) if "report-creation-expert" in row)
        assert "Grep chip · +1 · “I read all of them first." in row
        view.handle_events([finished("c2"), finished("c1")])
        (row,) = (row for row in rows(view) if "report-creation-expert" in row)
        assert "Write it  “I read all of them first." in row
        # Where it is narrow, what it does is worth more than its task.
        await pilot.resize_terminal(58, 30)
        await until(lambda: view.size.width < 60)
        view.handle_events([started("c3", "Read", "a", path="x.md")])
        (row,) = (row for row in rows(view) if "report-creation-expert" in row)
        assert "report-creation-expert  Read x.md" in row
        stop = SubagentFinished(
            task_id="kb", tool_use_id="b", name="data-analyst", status="cancelled", by_person=True, at=at(5)
        )
        end = SubagentFinished(task_id="ka", tool_use_id="a", name="report-creation-expert", at=at(20))
        view.handle_events([stop, end, finished("a"), finished("b", "cancelled")])
        assert not view._timer._active.is_set()
        first, second = (row.strip(" ▌") for row in rows(view) if "▸" in row)
        assert first.startswith("▸ ✓ report-creation-expert")
        assert first.endswith("done · 3 calls · 20.0s")
        assert second.startswith("▸ ⊘ data-analyst: Count")
        assert second.endswith("stopped by you · 5.0s")


async def test_x_stops_the_subagent_under_the_cursor_or_the_only_one() -> None:
    view = pane()
    host = PaneHost(view)
    async with host.run_test(size=(80, 30)) as pilot:
        view.handle_events([*asked(), *works()])
        await pilot.press("home", "X")
        view.handle_events(works("b"))
        await pilot.press("X", "end", "X")
        await pilot.pause()
        assert host.opened == ["stop a", "stop b"]


@pytest.mark.parametrize(
    ("outcome", "said_then"),
    [("completed", "✓ gmail is connected."), ("cancelled", "⊘ gmail was not connected: cancelled.")],
)
async def test_how_a_login_ended_is_shown_below_what_the_agent_wrote_before(
    outcome: Literal["completed", "cancelled"], said_then: str
) -> None:
    async with hosted(pane(), 90, 40) as (view, _):
        view.handle_events([*asked(), AuthRequired(toolkit="gmail", url="https://connect.example/link/x")])
        view.handle_events([written("Gmail is not connected yet.")])
        view.handle_events([AuthFinished(toolkit="gmail", outcome=outcome)])
        shown = text_of(view)
        assert "https://connect" not in shown
        order = ["· gmail needed your account.", "Gmail is not connected yet.", said_then]
        places = [shown.index(each) for each in order]
        assert places == sorted(places)
        view.handle_events([AuthRequired(toolkit="gmail", url="https://connect.example/link/y")])
        assert text_of(view).index("https://connect.example/link/y") > text_of(view).index(said_then)


async def test_a_connection_that_could_not_be_opened_is_one_message() -> None:
    view = pane()
    why = "Composio at http://127.0.0.1:9 could not be reached"
    failed = McpServer(name="composio", status="failed", error=why)
    async with PaneHost(view).run_test(size=(120, 40)):
        view.handle_events([ErrorRaised(where="composio", message=why)])
        view.handle_events([ErrorRaised(where="skills", message="another error")])
        view.handle_events([McpStatus(servers=[failed])])
        assert text_of(view).count("could not be reached") == 1
        assert "another error" in text_of(view)
        view.handle_events([McpStatus(servers=[McpServer(name="composio", status="connected")])])
        assert "could not be reached" not in text_of(view)
        assert "MCP server composio is connected." in text_of(view)


async def test_a_server_that_is_tried_again_is_one_message_however_often() -> None:
    view = pane()
    failed = McpServer(name="notes", status="failed", error="ECONNREFUSED", again_s=1)
    trying = McpServer(name="notes", status="reconnecting")
    later = McpServer(name="notes", status="failed", error="ECONNREFUSED", again_s=2)
    async with PaneHost(view).run_test(size=(90, 40)):
        view.handle_events(asked())
        for server in (failed, trying, later, trying):
            view.handle_events([McpStatus(servers=[server])])
            reported = "⟲ MCP server notes failed: ECONNREFUSED. Reconnecting automatically."
            assert text_of(view).count(reported) == 1
        view.handle_events(
            [McpStatus(servers=[McpServer(name="notes", status="failed", error="ECONNREFUSED")])]
        )
        assert "✗ MCP server notes failed: ECONNREFUSED" in text_of(view)
        assert "automatically" not in text_of(view)
        view.handle_events([McpStatus(servers=[McpServer(name="notes", status="connected")])])
        assert "✓ MCP server notes is connected." in text_of(view)
        assert "failed" not in text_of(view)
        view.handle_events([McpStatus(servers=[failed]), McpStatus(servers=[trying])])
        back = McpServer(name="notes", status="connected", last_error="ECONNREFUSED")
        view.handle_events([McpStatus(servers=[back])])
        # Nothing was said in between, and so one line is enough.
        assert text_of(view).count("MCP server notes") == 1
        assert "✓ MCP server notes is connected again." in text_of(view)
        view.handle_events([McpStatus(servers=[failed]), delta("Meanwhile."), McpStatus(servers=[back])])
        order = [
            "connected again",
            "· MCP server notes failed: ECONNREFUSED",
            "Meanwhile.",
            "connected again.",
        ]
        shown, place = text_of(view), 0
        for each in order:
            place = shown.index(each, place)
        view.handle_events(
            [McpStatus(servers=[McpServer(name=".mcp.json", status="failed", error="/w/.mcp.json is bad.")])]
        )
        assert "✗ /w/.mcp.json is bad." in text_of(view)


async def test_what_is_reported_of_a_later_query_does_not_change_the_message_of_an_earlier_one() -> None:
    async with hosted(pane(), 90, 40) as (view, _):
        near = PlanLimit(status="allowed_warning", kind="five_hour", utilization=0.91)
        chosen = [ModelChosen(model=name) for name in ("haiku", "opus", "sonnet")]
        view.handle_events([*asked(), near, *chosen[:2]])
        view.handle_events([*asked(query="q2"), PlanLimit(status="rejected", kind="five_hour"), chosen[2]])
        text = text_of(view)
        order = ("91% of the limit", "opus", "What is it?", "the limit for five hours is reached", "sonnet")
        places = [text.rindex(each) for each in order]
        assert places == sorted(places)
        assert "haiku" not in text


async def test_the_apps_messages_say_what_why_and_change_in_place() -> None:
    async with hosted(pane(), 90, 40) as (view, _):
        view.handle_events(
            [*asked(), PathFellBack(query_id="q", tool_name="mcp__composio__COMPOSIO_SEARCH_NEWS")]
        )
        assert "needs a tool (SEARCH_NEWS)" in text_of(view)
        view.handle_events([PermissionAsked(request_id="p", tool_name="Bash", subjects=["GMAIL_SEND_EMAIL"])])
        assert "? May GMAIL_SEND_EMAIL run?" in text_of(view)
        view.handle_events(
            [PermissionAnswered(request_id="p", tool_name="Bash", decision="deny", reason="no")]
        )
        assert "May GMAIL" not in text_of(view)
        assert "⊘ Bash was denied: no" in text_of(view)
        view.handle_events([AuthRequired(toolkit="gmail", url="https://connect.example/link/x")])
        assert "https://connect.example/link/x" in text_of(view)
        view.handle_events([AuthFinished(toolkit="gmail", outcome="completed")])
        assert "https://connect" not in text_of(view)
        assert "✓ gmail is connected." in text_of(view)
        view.handle_events([ApiRetry(attempt=1, max_attempts=10, delay_ms=1000, error="overloaded")])
        view.handle_events([ApiRetry(attempt=2, max_attempts=10, delay_ms=3000, error="overloaded")])
        assert text_of(view).count("The model's service is overloaded") == 1
        assert "attempt 2 of 10 in 3.0 s" in text_of(view)
        view.handle_events([delta("On it."), ApiRetry(attempt=1, max_attempts=10, delay_ms=1000)])
        assert text_of(view).count("The model's service did not answer: attempt 1 of 10") == 1
        view.handle_events(
            [ApiRetry(attempt=1, max_attempts=10, delay_ms=500, error="authentication_failed")]
        )
        assert "✗ The model's service refused the key." in text_of(view)
        assert "authentication_failed" not in text_of(view)
        plans, ends = (PermissionModeChanged(previous="", mode=mode) for mode in ("plan", "default"))
        view.handle_events([plans, delta("I plan."), ends])
        assert text_of(view).count("Permission mode") == 2
        applied = PermissionApplied(tool_name="Bash", decision="deny", rule="Bash(rm:*)", origin="settings")
        view.handle_events([applied])
        assert "⊘ Bash was denied by the rule Bash(rm:*)" in text_of(view)
        rule: dict[str, Any] = {
            "subagent": "expert",
            "rule": "corpus_first",
            "message": "The corpus is missing",
        }
        view.handle_events([ComplianceFailed(**rule)])
        view.handle_events([ComplianceEnforced(**rule)])
        assert text_of(view).count("The corpus is missing") == 1
        assert "⟲ expert broke a rule: The corpus is missing. It was sent back" in text_of(view)
        broken = McpServer(name="composio", status="failed", error="502")
        view.handle_events([McpStatus(servers=[broken]), McpStatus(servers=[broken])])
        assert text_of(view).count("MCP server composio failed: 502") == 1
        view.handle_events([McpStatus(servers=[McpServer(name="composio", status="disabled")])])
        assert "· MCP server composio is disabled: the agent does not see its tools." in text_of(view)
        other = McpServer(name="local_toolkit", status="connected")
        view.handle_events([McpStatus(servers=[McpServer(name="composio", status="connected"), other])])
        assert "✓ MCP server composio is connected." in text_of(view)
        assert text_of(view).count("MCP server") == 1


async def test_an_interruption_keeps_the_text_so_far() -> None:
    async with hosted(pane(), 60, 30) as (view, _):
        view.handle_events(
            [
                *asked(),
                delta("Half an ans"),
                QueryFinished(query_id="q", status="interrupted", duration_ms=2000),
            ]
        )
        assert "Half an ans\n" in text_of(view)
        assert "Interrupted after 2.0 s" in text_of(view)
        assert "▍" not in text_of(view)


async def test_untrusted_text_is_shown_and_never_acts() -> None:
    nasty = "[/nope][@click=app.quit]x[/] \x1b]52;c;aGk=\x07 \x1b[2J \u202egnp.exe"
    async with hosted(pane(), 100, 50) as (view, _):
        view.handle_events(
            [
                *asked(nasty),
                ThinkingDelta(query_id="q", message_id="m", text=nasty),
                delta(nasty),
                written(nasty, "s", "call\x1b[2J"),
                ErrorRaised(where=nasty, message=nasty, causes=[nasty]),
                PipelineFailed(pipeline=nasty, handler=nasty, error=nasty),
                SessionFinished(reason=nasty),
            ]
        )
        shown = text_of(view)
        assert "[/nope]" in shown
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert "\u202e" not in shown


async def test_messages_are_counted_as_new_not_their_pieces() -> None:
    async with hosted(pane(), 60, 12) as (view, pilot):
        view.handle_events([*asked(), written("word\n\n" * 30)])
        await pilot.press("pageup")
        view.handle_events([written("one\n\ntwo\n\nthree", "m2"), written("four", "m3")])
        assert view.new_below == 2


def test_the_end_of_a_session_is_reported_and_never_reads_as_an_order() -> None:
    reported = [message_of(SessionFinished(reason=reason)) for reason in ("quit", "signal", "disk full")]
    assert [message.text for message in reported if message] == [
        "You quit this session.",
        "The session was ended by a signal.",
        "The session has ended: disk full.",
    ]


def test_an_error_names_its_causes() -> None:
    message = message_of(ErrorRaised(where="agent", message="It died", causes=["OSError: gone"]))
    assert message is not None
    notice = Notice(key=1, mark=message.mark, tone=message.tone, text=message.text, details=message.details)
    shown = [plain(line) for line in render_block(notice, 40, ConversationTheme())]
    assert shown == ["✗ agent: It died", "  because OSError: gone"]
    assert message.tone is Tone.BAD
    assert message_of(QueryFinished(query_id="q", status="success")) is None


async def test_scrolled_up_nothing_moves_while_it_streams_and_end_returns() -> None:
    async with hosted(pane(), 60, 12) as (view, pilot):
        view.handle_events([*asked(), written("word\n\n" * 30)])
        await pilot.press("pageup", "pageup")
        before = text_of(view)
        for number in range(40):
            view.handle_events([delta(f"new {number}\n\n", "m2")])
            assert text_of(view) == before
        assert (view.new_below, "1 new ↓" in str(view.border_subtitle)) == (1, True)
        await pilot.press("end")
        assert view.following
        assert text_of(view).endswith("▍")
        assert not view.border_subtitle
        view.handle_events([delta("the tail", "m2")])
        assert text_of(view).endswith("the tail▍")


async def test_a_resize_while_it_streams_keeps_the_tail_or_the_place() -> None:
    async with hosted(pane(), 60, 14) as (view, pilot):
        view.handle_events(
            [*asked(), written("\n\n".join(f"Paragraph {n} of some length." for n in range(60)))]
        )
        for width, height in ((30, 8), (100, 30), (20, 5), (60, 14)):
            await pilot.resize_terminal(width, height)
            view.handle_events([delta(f"at {width} ", "m2")])
            await pilot.pause()
            assert view.following
            assert text_of(view).endswith(f"at {width}▍")
        await pilot.press("pageup", "pageup")
        top = text_of(view).strip().split("\n")[0]
        for width, height in ((100, 30), (60, 14)):
            await pilot.resize_terminal(width, height)
            view.handle_events([delta("more ", "m2")])
            await pilot.pause()
            assert not view.following
            assert text_of(view).strip().split("\n")[0] == top
        await pilot.press("G")
        assert view.following
        assert text_of(view).endswith("more more▍")


async def test_wheel_and_keys_leave_the_tail_and_come_back_to_it() -> None:
    async with hosted(pane(), 60, 12) as (view, pilot):
        view.handle_events([*asked(), written("word\n\n" * 30)])
        for away, back in (("pageup", "pagedown"), ("up", "down"), ("home", "end"), ("g", "G")):
            await pilot.press(away, away, away)
            assert not view.following, away
            for _ in range(12):
                await pilot.press(back)
            assert view.following, back
        view.scroll_to(y=view.scroll_y - 3)
        await pilot.pause()
        assert not view.following
        view.scroll_to(y=view.scroll_y + 3)
        await pilot.pause()
        assert view.following


async def test_a_link_is_followed_only_through_the_dialog() -> None:
    view = pane()
    app = PaneHost(view)
    async with app.run_test(size=(60, 20)) as pilot:
        evil, good = "ssh://-oProxyCommand=x", "https://news.example/a"
        view.handle_events(
            [*asked(), written(f"One <{evil}> and [two]({good})."), written(f"See [here]({good}).", "m2")]
        )
        await pilot.pause()
        row = next(y for y, row in enumerate(rows(view)) if "One" in row)
        column = rows(view)[row].index("ssh:")
        await pilot.click(view, offset=(column + 3, row + 1))
        assert isinstance(app.screen, LinkScreen)
        await until(lambda: not app.screen.has_class("-quiet"))
        await pilot.press("o", "escape")
        assert app.urls == []
        await pilot.press("end", "o")
        assert isinstance(app.screen, LinkScreen)
        await until(lambda: not app.screen.has_class("-quiet"))
        await pilot.press("o")
        assert app.urls == [good]
        view.handle_events([written("Nothing here.", "m3")])
        await pilot.press("end", "o")
        assert not isinstance(app.screen, LinkScreen)


async def test_a_past_session_says_that_it_is_being_read() -> None:
    async with hosted(ConversationPane(), 60, 14) as (view, _):
        view.show_reading(0.0)
        assert "Reading the session…" in "\n".join(rows(view))
        assert "Ask anything" not in "\n".join(rows(view))
        assert str(view.border_title) == "Conversation · reading 0%"
        view.show_reading(1.0)
        assert "Ask anything" in "\n".join(rows(view))
        assert str(view.border_title) == "Conversation"
