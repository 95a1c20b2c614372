"""The lines of a session without a full screen: how they read, and what counts as an answer."""

from __future__ import annotations

import asyncio
import os
import pty
import termios
from collections.abc import Callable
from datetime import UTC, datetime

from tests.waiting import PATIENCE
from ua_tui.core.events.types import (
    AuthRequired,
    PermissionAsked,
)
from ua_tui.tui.plain.input import TypedLines
from ua_tui.tui.plain.one_query import OutputLines
from ua_tui.tui.plain.output import PlainOutput
from ua_tui.tui.plain.questions import Answer, question_of
from ua_tui.tui.plain.session import interrupt_key


def test_a_permission_shows_everything_and_is_denied_unless_a_number_says_otherwise() -> None:
    asked = PermissionAsked(
        request_id="r1", tool_name="mcp__composio__X", subjects=["SEND\u202e_MAIL"],
        input={"body": "one\ntwo\x1b[2J"}, reason="it sends",
    )  # fmt: skip
    question = question_of(asked)
    text = "\n".join(question.all_lines)
    assert "Permission needed: Call SEND‹U+202E›_MAIL on composio?" in text
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


class Kept(OutputLines, kw_only=True):
    """Keeps what is written."""

    sent: list[bytes]

    def send(self, data: bytes) -> None:
        self.sent.append(data)


def test_a_line_below_a_prompt_brings_the_prompt_again_and_an_answered_one_does_not() -> None:
    sent: list[bytes] = []
    timers: list[Callable[[], None]] = []
    output = PlainOutput(
        at_terminal=True,
        rings=False,
        call_later=lambda _, call: timers.append(call),
        lines=Kept(sent=sent),
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
