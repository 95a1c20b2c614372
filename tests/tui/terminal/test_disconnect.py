"""What is written when the terminal is gone holds nobody up, and the process is told once."""

from __future__ import annotations

import errno
import io
import os
import signal
import threading
from collections import deque

import pytest
from textual.drivers import linux_driver

from tests.waiting import PATIENCE
from ua_tui.tui.terminal.driver import DisconnectWriter, adapt_driver


class Gone(io.StringIO):
    """A terminal that hangs up after the first piece."""

    def write(self, text: str) -> int:
        if self.tell():
            raise OSError(errno.EIO, "Input/output error")
        return super().write(text)


def test_nothing_waits_for_a_terminal_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: reported.append((pid, number)))
    file = Gone()
    writer = DisconnectWriter(file)
    writer.start()

    def write() -> None:
        for number in range(200):
            writer.write(f"{number};")
        writer.stop()

    # Textual's own thread would leave this one waiting for ever.
    person = threading.Thread(target=write, daemon=True)
    person.start()
    person.join(PATIENCE)
    assert not person.is_alive()
    assert not writer.is_alive()
    assert file.getvalue() == "0;"
    assert reported == [(os.getpid(), signal.SIGHUP)]


def test_a_terminal_that_stays_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "kill", lambda pid, number: pytest.fail("no hangup"))
    file = io.StringIO()
    writer = DisconnectWriter(file)
    writer.start()
    for number in range(200):
        writer.write(f"{number};")
    writer.stop()
    assert file.getvalue() == "".join(f"{number};" for number in range(200))


def test_nothing_is_written_while_another_program_has_the_terminal() -> None:
    file = io.StringIO()
    writer = DisconnectWriter(file)
    writer.start()
    writer.stop()
    # More than fits into its queue.
    person = threading.Thread(target=lambda: deque(map(writer.write, "x" * 200)), daemon=True)
    person.start()
    person.join(PATIENCE)
    assert not person.is_alive()
    assert file.getvalue() == ""


def test_the_terminal_is_written_to_with_it() -> None:
    adapt_driver()
    assert linux_driver.WriterThread is DisconnectWriter  # type: ignore[attr-defined]
