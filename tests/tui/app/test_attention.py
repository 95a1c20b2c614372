"""Calling somebody back to the screen: when, by what means, and with which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.tui.app_host import settled, shown
from tests.tui.fakes import make_app, make_session
from tests.tui.fixture_types import Patch
from tests.tui.pane_host import handle_events
from tests.waiting import until
from ua_tui.core.events import types as ev
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.controllers.attention import Attention, notification, way_of

LONG = ev.QueryFinished(query_id="q1", status="success", duration_ms=10_001)
SHORT = ev.QueryFinished(query_id="q1", status="success", duration_ms=9_999)
ASKED = ev.PermissionAsked(request_id="r1", tool_name="Bash")


class Watched(Attention):
    """Keeps what it sent; its clock stands until a test moves it."""

    def __init__(self, **settings: Any) -> None:
        self.sent: list[str] = []
        self.time = 1000.0
        chosen = Settings(**{"notify": "osc9", **settings})
        super().__init__(chosen, self.sent.append, {}, lambda: self.time)


@pytest.mark.parametrize(("environment", "way"), [
    ({"TERM": "xterm-256color"}, "bell"),
    ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9"),
    ({"TERM": "xterm-kitty"}, "osc9"),
    ({"TERM": "foot-extra"}, "osc777"),
    ({"TERM": "xterm-kitty", "TMUX": "/tmp/tmux-0/default,1,0"}, "bell"),
    ({"TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"}, "bell"),
    ({"TERM": "screen", "TERM_PROGRAM": "ghostty"}, "bell"),
    ({"TERM": "foot", "ZELLIJ": "0"}, "bell"),
])  # fmt: skip
def test_the_terminal_is_called_in_the_way_it_knows(environment: dict[str, str], way: str) -> None:
    assert way_of("auto", environment) == way
    assert way_of("osc777", environment) == "osc777"
    assert way_of("off", environment) == "off"


def test_no_text_can_end_its_sequence() -> None:
    hostile = "a\x07b\x1b]0;c\x1b\\d\x9ce\u202e;f"
    for way, start in (("osc9", "\x1b]9;"), ("osc777", "\x1b]777;notify;ua-tui;")):
        sequence = notification(way, hostile)  # type: ignore[arg-type]  # one of the ways
        assert sequence.startswith(start)
        assert sequence.endswith("\x07")
        inside = sequence.removeprefix(start)[:-1]
        assert not set(inside) & set("\x07\x1b\x9c\u202e")
    assert ";" not in notification("osc777", hostile).removeprefix("\x1b]777;notify;ua-tui;")
    assert notification("bell", hostile) == "\x07"
    assert notification("off", hostile) == ""


@pytest.mark.parametrize(("focused", "quiet_seconds", "event", "called"), [
    (False, 0, LONG, True),
    (False, 0, SHORT, False),
    (False, 0, ASKED, True),
    (True, 0, ASKED, False),
    (True, 10, ASKED, True),
    (None, 9, LONG, False),
    (None, 10, LONG, True),
    (None, 9, ASKED, False),
    (None, 10, ASKED, True),
])  # fmt: skip
def test_only_somebody_who_does_not_look_is_called(
    focused: bool | None, quiet_seconds: float, event: ev.Event, called: bool
) -> None:
    attention = Watched()
    attention.touched()
    attention.focused = focused
    attention.time += quiet_seconds
    handle_events(attention, [event])
    assert bool(attention.sent) is called


def test_what_is_over_or_was_stopped_by_hand_is_not_reported() -> None:
    attention = Watched()
    attention.focused = False
    handle_events(
        attention,
        [ASKED, ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="deny", reason="no")],
    )
    handle_events(attention, [ev.QueryFinished(query_id="q1", status="interrupted", duration_ms=60_000)])
    assert attention.sent == []
    handle_events(attention, [LONG, ASKED, ev.AuthRequired(toolkit="gmail", url="https://a.example")])
    assert attention.sent == ["\x1b]9;ua-tui: an account needs to be connected\x07"]


def test_the_query_is_reported_short_and_without_its_secrets(monkeypatch: Patch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "rather-secret-1234567890")
    attention = Watched(api_key="sk-very-secret-0123456789")
    attention.focused = False
    text = "use sk-very-secret-0123456789\n" + "and rather-secret-1234567890 " + "x" * 5000
    handle_events(attention, [ev.QueryReceived(query_id="q1", text=text), LONG])
    (sent,) = attention.sent
    assert sent.startswith("\x1b]9;ua-tui: the query is answered: use ")
    assert "secret-" not in sent
    assert len(sent) < 120
    failed = ev.QueryFinished(query_id="q1", status="error", duration_ms=20_000)
    handle_events(attention, [failed])
    assert "the query failed: use " in attention.sent[1]


async def test_the_screen_learns_of_focus_and_keys_from_its_terminal(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    rung: list[bool] = []
    monkeypatch.setattr("ua_tui.tui.app.base_app.ring_bell", lambda: rung.append(True))
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    app.attention = attention = Watched()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(app, pilot)
        app.post_message(events.AppBlur())
        await pilot.pause()
        session.submit("a long one")
        session.finish(duration_ms=30_000)
        await shown(app, pilot)
        assert len(attention.sent) == 1
        app.post_message(events.AppFocus())
        await pilot.pause()
        session.submit("another")
        session.finish(duration_ms=30_000)
        await shown(app, pilot)
        assert len(attention.sent) == 1

        # It has the focus, but for long nobody pressed anything; then somebody does.
        attention.time += 600
        session.bus.publish(ASKED)
        await shown(app, pilot)
        assert len(attention.sent) == 2
        await pilot.press("x")
        session.bus.publish(ev.PermissionAsked(request_id="r2", tool_name="Bash"))
        await shown(app, pilot)
        assert len(attention.sent) == 2

        # Another program has the terminal: the bell is all that does not disturb what it draws.
        attention.focused = None
        app.app_suspend_signal.publish(app)
        session.bus.publish(ev.PermissionAsked(request_id="r3", tool_name="Bash"))
        await shown(app, pilot)
        assert len(attention.sent) == 3
        app.write_to_terminal(attention.sent[-1])
        assert rung == [True]
        app.app_resume_signal.publish(app)
        assert attention.focused is None
        session.bus.publish(ev.PermissionAsked(request_id="r4", tool_name="Bash"))
        await shown(app, pilot)
        assert len(attention.sent) == 3

        # A key that was held is no sign of somebody who left since.
        app.key_queue.pause()
        before = app.frame.prompt.value
        app.post_message(events.Key("y", "y"))
        app.post_message(events.AppBlur())
        await pilot.pause()
        await app.key_queue.resume()
        await until(lambda: app.frame.prompt.value == f"{before}y")
        assert attention.focused is False
