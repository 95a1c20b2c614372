from __future__ import annotations

import logging

import pytest

from ua_tui.core.agent.messages.transport import StandardError
from ua_tui.core.redaction.redactor import Redactor


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_lines_are_logged_however_they_are_cut(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reader = StandardError()
    for piece in (b"one\ntw", b"o\n\n", b"thr\xffee"):
        reader.feed(piece)
    assert logged(caplog) == ["agent: one", "agent: two"]
    reader.close()
    assert logged(caplog)[2:] == ["agent: thr\ufffdee"]
    assert reader.last_line == "thr\ufffdee"


def test_a_flood_is_counted_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reader = StandardError()
    for _ in range(1_000):
        reader.feed(b"a line of a flood\n" * 3_000)
    reader.feed(b"the reason\n")
    assert sum(map(len, logged(caplog))) < 1_000_000
    assert reader.last_line == "the reason"
    reader.close()
    assert "more bytes" in logged(caplog)[-1]
    reader.feed(b"x" * 100_000)
    assert len(reader.last_line) <= 500


def test_of_a_secret_in_a_flood_no_piece_is_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    secret = "Zx9-canary-8c1f-QzX27!"
    reader = StandardError()
    reader.feed(b"x" * ((256 << 10) - 10) + secret.encode())
    reader.close()
    texts = [Redactor([secret]).redact(each) for each in logged(caplog)]
    assert not [each for each in texts if secret[:6] in each or secret[-6:] in each]
    reader.feed((secret + "y" * (8_192 - 8)).encode())
    assert secret[-6:] not in Redactor([secret]).redact(reader.last_line)
