from __future__ import annotations

import os
import selectors

import pytest

from ua_tui.tui.terminal.driver import InputSelector


def test_waits_are_short_after_a_key_and_long_while_nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waited, wait = 0.0, list[float | None](), selectors.SelectSelector.select

    def select(self: InputSelector, timeout: float | None = None) -> object:
        waited.append(timeout)
        return wait(self, 0)

    monkeypatch.setattr(selectors.SelectSelector, "select", select)
    reading, writing = os.pipe()
    try:
        selector = InputSelector(lambda: now)
        selector.register(reading, selectors.EVENT_READ)
        assert not selector.select(0.1)
        now = 3.0
        assert not selector.select(0.1)
        os.write(writing, b"\x1b")
        assert selector.select(0.1)
        os.read(reading, 1)
        # An escape may be the key or the beginning of another one.
        assert not selector.select(0.1)
        now = 6.0
        selector.unregister(reading)
        assert not selector.select(0.1)
        assert waited == [0.1, 0.5, 0.5, 0.1, 0.1]
    finally:
        os.close(reading)
        os.close(writing)
