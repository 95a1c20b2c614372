"""Enter is a line break to a terminal that no program reads yet."""

from __future__ import annotations

import os
import pty
import select
import sys
import termios
import tty

import pytest
from textual import events
from textual.drivers import linux_driver

from ua_tui.tui.terminal.driver import guard_pastes


@pytest.mark.parametrize(
    ("typed", "then", "keys"),
    [
        (b"hi\r", b"", ["h", "i", "enter"]),
        (b"\r\r", b"\x1b[A", ["enter", "up"]),
        (b"hi\r", b"x\n", ["h", "i", "ctrl+j", "x", "ctrl+j"]),
        (b"a\rb\r", b"", ["a", "ctrl+j", "b", "ctrl+j"]),
        (b"", b"a\n", ["a", "ctrl+j"]),
    ],
    ids=["enter", "nothing else", "more behind it", "pasted lines", "a line break typed later"],
)
def test_enter_counts_that_was_typed_before_the_terminal_was_read(
    monkeypatch: pytest.MonkeyPatch, typed: bytes, then: bytes, keys: list[str]
) -> None:
    guard_pastes()
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal, os.fdopen(ours, "wb", buffering=0) as person:
        monkeypatch.setattr(sys, "__stdin__", terminal)
        person.write(typed)
        assert not typed or select.select([terminal], [], [], 10.0)[0]
        tty.setraw(terminal, termios.TCSANOW)
        parser = linux_driver.XTermParser()  # type: ignore[attr-defined]
        person.write(then)
        read = ""
        while len(read) < len(typed + then):
            read += os.read(terminal.fileno(), 4_096).decode()
        seen = [*parser.feed(read), *parser.feed("\n")]
    pressed = [message.key for message in seen if isinstance(message, events.Key)]
    assert pressed == [*keys, "ctrl+j"]
