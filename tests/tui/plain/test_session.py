"""The lines of a session without a full screen: how they read, and what counts as an answer."""

from __future__ import annotations

import asyncio
import os
import pty
import termios
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from core.events.types import (
    REPORT_CHECK,
    ArtifactSaved,
    AuthRequired,
    ErrorRaised,
    Event,
    MessageFinished,
    ObserverFinished,
    ObserverStarted,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    ReportChecked,
    ToolCallFinished,
    ToolCallStarted,
)
from tests.waiting import PATIENCE
from tui.plain.input import TypedLines
from tui.plain.interrupt import interrupt_key
from tui.plain.narrator import OBSERVER_END_SECONDS, Narrator
from tui.plain.output import PlainOutput
from tui.plain.questions import Answer, question_of

NEWS = "mcp__composio__COMPOSIO_SEARCH_NEWS"
SAVED = ArtifactSaved(path="a.json", kind="news", size=9, sha256="x", observer="search", tool_use_id="t1")


class Narrated:
    """A narrator with a clock that only a test moves."""

    def __init__(self, *, read_aloud: bool = False) -> None:
        self.lines: list[str] = []
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self.narrator = Narrator(
            self.lines.append,
            lambda seconds, call: self._timers.append((seconds, call)),
            read_aloud=read_aloud,
        )

    def __call__(self, *events: Event) -> list[str]:
        for event in events:
            self.narrator(event)
        return self.lines

    def wait(self, seconds: float) -> None:
        due = [call for at, call in self._timers if at <= seconds]
        self._timers = [(at - seconds, call) for at, call in self._timers if at > seconds]
        for call in due:
            call()


def started(call: str = "t1") -> ToolCallStarted:
    return ToolCallStarted(query_id="q1", tool_use_id=call, name=NEWS, input={"query": "AI chip"})


def finished(call: str = "t1") -> ToolCallFinished:
    return ToolCallFinished(tool_use_id=call, status="success", duration_ms=1800)


@pytest.mark.parametrize(("read_aloud", "expected"), [
    (True, "Agent: It is Paris (https://a.example)."),
    (False, "Agent: It is **[Paris](https://a.example)**."),
])  # fmt: skip
def test_an_answer_is_read_aloud_without_its_markup(read_aloud: bool, expected: str) -> None:
    text = "It is **[Paris](https://a.example)**."
    narrated = Narrated(read_aloud=read_aloud)
    narrated(MessageFinished(query_id="q1", message_id="m1", text=text))
    narrated(QueryFinished(query_id="q1", status="success", text=text, duration_ms=1_000))
    assert narrated.lines == [expected, "Done in 1.0 s"]


def test_what_was_spent_waiting_for_the_person_is_shown_separately() -> None:
    narrated = Narrated()
    noon = datetime(2026, 3, 10, 12, tzinfo=UTC)
    narrated(QueryReceived(query_id="q1", text="why?"), started(), started("t2"))
    narrated(PermissionAsked(request_id="p", tool_name=NEWS, tool_use_id="t1", at=noon))
    later = noon + timedelta(seconds=6.1)
    narrated(PermissionAnswered(request_id="p", tool_name=NEWS, decision="allow", at=later))
    narrated(
        *(ToolCallFinished(tool_use_id=call, status="success", duration_ms=8_300) for call in ("t1", "t2"))
    )
    narrated(QueryFinished(query_id="q1", status="success", duration_ms=9_000))
    narrated(
        QueryReceived(query_id="q2", text="and?"),
        QueryFinished(query_id="q2", status="success", duration_ms=9_000),
    )
    ends = [line.partition(" in ")[2] for line in narrated.lines if " in " in line]
    assert ends == [
        "8.3 s, 6.1 s of it waiting for you", "8.3 s", "9.0 s, 6.1 s of it waiting for you", "9.0 s",
    ]  # fmt: skip


def test_a_call_is_reported_with_what_was_found_and_what_was_saved_below() -> None:
    narrated = Narrated()
    narrated(started(), finished(), ObserverStarted(run_id="r1", observer="search", tool_use_id="t1"), SAVED)
    narrated.wait(0.06)
    assert narrated.lines == ["Tool call SEARCH_NEWS started: AI chip"]
    narrated(ObserverFinished(run_id="r1", observer="search", tool_use_id="t1", status="saved", items=25))
    assert narrated.lines[1:] == ["Tool call SEARCH_NEWS finished in 1.8 s, 25 items", "Saved: a.json"]
    narrated.wait(OBSERVER_END_SECONDS)
    assert len(narrated.lines) == 3


def test_what_is_indexed_of_a_call_adds_no_line() -> None:
    narrated = Narrated()
    narrated(started(), finished(), ObserverStarted(run_id="r1", observer="search", tool_use_id="t1"))
    narrated(ObserverStarted(run_id="r2", observer="knowledge", tool_use_id="t1"))
    narrated(ObserverFinished(run_id="r2", observer="knowledge", tool_use_id="t1", status="saved", items=90))
    assert len(narrated.lines) == 1
    narrated(ObserverFinished(run_id="r1", observer="search", tool_use_id="t1", status="saved", items=25))
    assert narrated.lines[1:] == ["Tool call SEARCH_NEWS finished in 1.8 s, 25 items"]


def test_a_call_that_nobody_observes_or_that_takes_long_to_is_not_held_back() -> None:
    narrated = Narrated()
    narrated(started(), finished())
    narrated.wait(0.06)
    assert narrated.lines[-1] == "Tool call SEARCH_NEWS finished in 1.8 s"
    narrated(started("t2"), finished("t2"), ObserverStarted(run_id="r2", observer="s", tool_use_id="t2"))
    narrated.wait(0.06)
    assert narrated.lines[-1].endswith("started: AI chip")
    narrated.wait(OBSERVER_END_SECONDS)
    assert narrated.lines[-1] == "Tool call SEARCH_NEWS finished in 1.8 s"
    narrated(
        started("t3"), finished("t3"), QueryFinished(query_id="q1", status="success", duration_ms=60_000)
    )
    assert narrated.lines[-2:] == ["Tool call SEARCH_NEWS finished in 1.8 s", "Done in 1 min 0 s"]


def test_an_answer_is_written_once_and_steers_no_terminal() -> None:
    narrated = Narrated()
    narrated(
        QueryReceived(query_id="q1", text="what\x1b[2J now"),
        MessageFinished(query_id="q1", message_id="m1", text="It is\x1b]0;x\x07 so.\nYes."),
        MessageFinished(query_id="q1", message_id="m2", text="inner", parent_tool_use_id="t9"),
        QueryFinished(query_id="q1", status="success", text="It is\x1b]0;x\x07 so.\nYes.", duration_ms=20),
    )
    assert narrated.lines == [
        "You: what\N{REPLACEMENT CHARACTER}[2J now",
        "Agent: It is\N{REPLACEMENT CHARACTER}]0;x\N{REPLACEMENT CHARACTER} so.\nYes.",
        "Done in 20 ms",
    ]
    narrated.narrator.typed = "again"
    narrated(
        QueryReceived(query_id="q2", text="again"),
        QueryFinished(query_id="q2", status="error", error="no\x1b[m route", text="Half", duration_ms=1500),
    )
    assert narrated.lines[3:] == [
        "Agent: Half",
        "The query failed after 1.5 s: no\N{REPLACEMENT CHARACTER}[m route",
    ]


def test_a_failure_gives_its_reason_once_and_the_half_answer_is_marked() -> None:
    broke, died = "The connection broke after 2.1 s; the answer is incomplete: try again", "the agent died"
    narrated = Narrated()
    narrated(
        QueryReceived(query_id="q1", text="go"),
        MessageFinished(query_id="q1", message_id="m1", text="Half", incomplete=True),
        QueryFinished(query_id="q1", status="error", error=broke), QueryReceived(query_id="q2", text="on"),
        ErrorRaised(where="agent", message="3 messages were malformed"),
        ErrorRaised(where="agent", message=died), QueryFinished(query_id="q2", status="error", error=died),
    )  # fmt: skip
    assert narrated.lines == [
        "You: go", "Agent (incomplete): Half", broke,
        "You: on", "Error: agent: 3 messages were malformed", f"The query failed: {died}",
    ]  # fmt: skip


def test_a_permission_shows_everything_and_is_denied_unless_a_number_says_otherwise() -> None:
    asked = PermissionAsked(
        request_id="r1", tool_name="mcp__composio__X", subjects=["SEND\u202e_MAIL"],
        input={"body": "one\ntwo\x1b[2J"}, reason="it sends",
    )  # fmt: skip
    question = question_of(asked)
    text = "\n".join(question.all_lines)
    assert "Permission needed: SEND‹U+202E›_MAIL" in text
    assert "  body:\n    one\n    two‹U+001B›[2J" in text
    assert text.endswith("1. Deny (default)\n2. Allow once\n3. Allow for this session")
    assert question.answer("") == question.answer("1") == Answer(allow=False)
    assert question.answer(" 2 ") == Answer(allow=True)
    assert question.answer("3.") == Answer(allow=True, scope="session")
    assert question.answer("yes") == Answer(allow=False, reason="yes")
    assert question.answer("4") is None
    assert question.answer("22") is None
    assert question.chosen("\u00b2") is None
    only_once = question_of(PermissionAsked(request_id="r2", tool_name="Bash", once_only=True))
    assert only_once.answer("3") is None


def test_an_account_is_not_taken_for_connected_unless_a_number_says_so() -> None:
    until = datetime(2026, 11, 21, 14, 5, tzinfo=UTC)
    question = question_of(AuthRequired(toolkit="gmail", url="https://a.example", expires_at=until))
    assert question.answer("") == Answer(outcome="cancelled")
    assert question.answer("2") == Answer(outcome="completed")
    assert question.answer("yes") is None


async def test_lines_come_whole_and_in_order_and_what_was_there_before_can_be_left() -> None:
    reading, writing = os.pipe()
    try:
        typed = TypedLines(reading)
        typed.start()
        os.write(writing, "one\r\ntw\xf6".encode())
        assert await typed.next_line() == "one"
        os.write(writing, b"\nthree\n\xff")
        async with asyncio.timeout(PATIENCE):
            assert await typed.next_line(behind=1) == "three"
            assert typed.available == 1
            assert await typed.next_line() == "tw\xf6"
            typed.put_back("again")
            assert await typed.next_line() == "again"
            os.close(writing)
            writing = -1
            assert await typed.next_line() == "\N{REPLACEMENT CHARACTER}"
            assert await typed.next_line() is None
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


async def test_an_interrupt_gives_up_its_line_and_comes_in_its_turn() -> None:
    reading, writing = os.pipe()
    pressed: list[int] = []
    try:
        typed = TypedLines(reading, "\x03", lambda: pressed.append(typed.available))
        typed.start()
        os.write(writing, b"one\nhalf\x03\x03two\n")
        async with asyncio.timeout(PATIENCE):
            assert await typed.next_line(behind=1) == "two"
        assert pressed == [1, 1]
        assert await typed.next_line() == "one"
    finally:
        os.close(writing)
        os.close(reading)


def test_the_terminal_sends_no_signal_for_ctrl_c_and_is_left_as_it_was() -> None:
    screen, keyboard = pty.openpty()
    try:
        before = termios.tcgetattr(keyboard)
        with interrupt_key(keyboard, at_terminal=True) as key:
            assert key is not None
            assert key.character == "\x03"
            os.write(screen, b"half\x03")
            assert os.read(keyboard, 99) == b"half\x03"
        assert termios.tcgetattr(keyboard) == before
        with interrupt_key(keyboard, at_terminal=False) as nothing:
            assert nothing is None
    finally:
        os.close(screen)
        os.close(keyboard)


def test_a_line_below_a_prompt_brings_the_prompt_again_and_an_answered_one_does_not() -> None:
    sent: list[bytes] = []
    timers: list[Callable[[], None]] = []
    output = PlainOutput(
        at_terminal=True, rings=False, send=sent.append, call_later=lambda _, call: timers.append(call)
    )
    output.ask("You: ")
    output.write("Servers: a")
    output.write("Servers: b")
    assert b"".join(sent) == b"You: \nServers: a\nServers: b\n"
    timers.pop()()
    output.ring()
    assert b"".join(sent) == b"You: \nServers: a\nServers: b\nYou: "
    output.write("Servers: c")
    output.answered()
    timers.pop()()
    assert b"".join(sent).endswith(b"You: \nServers: c\n")


def test_a_check_is_one_line_after_what_was_saved() -> None:
    narrated = Narrated()
    path = "report_checks/a.html.json"
    report = ReportChecked(
        report="work_products/a.html", check=path, sha256="0", summary="9 figures traced", tool_use_id="t1"
    )
    lines = narrated(
        finished(),
        ObserverStarted(run_id="r", observer=REPORT_CHECK, tool_use_id="t1"),
        ArtifactSaved(
            path=path, kind=REPORT_CHECK, size=9, sha256="x", observer=REPORT_CHECK, tool_use_id="t1"
        ),
        report,
        ObserverFinished(run_id="r", observer=REPORT_CHECK, tool_use_id="t1", status="saved"),
    )
    assert lines[1:] == ["Checked: work_products/a.html: 9 figures traced"]
