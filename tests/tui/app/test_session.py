from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from textual.widgets import Static

from tests.tui.app_host import ASKED, answerable, ask, at_work, failed, notices, opened, settled, shown
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.fixture_types import Patch
from tests.waiting import PATIENCE, run_ready, until
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.errors import AgentUnavailable, ConnectionFailed, CredentialsError
from ua_tui.core.events import types as ev
from ua_tui.core.settings.model import Settings
from ua_tui.core.view.session import SessionView
from ua_tui.tui.app import session_source
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.event_pump import EventPump
from ua_tui.tui.app.port import DEMO
from ua_tui.tui.app.session_source import LiveSource
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.feed import EventFeed, Handler
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.requests.auth import AuthScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.session.confirm import QuitScreen
from ua_tui.tui.screens.setup.screen import SetupScreen


async def test_what_is_typed_before_the_session_is_ready_is_kept_and_sent(tmp_path: Path) -> None:
    session = make_session(tmp_path, hold_start=True)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await pilot.press("h", "i", "enter", "y", "o", "enter")
        assert session.submitted == []
        assert "2 queued" in str(app.frame.prompt.border_subtitle)
        session.may_start.set()
        await settled(app, pilot)
        assert session.submitted == ["hi", "yo"]
        assert session.queued == ("yo",)
        assert "1 queued" in str(app.frame.prompt.border_subtitle)
        await pilot.press("c", "enter", "up")
        await pilot.pause()
        assert app.frame.prompt.text == "c", "the newest comes back"
        assert session.waiting == ["yo"]
        app.frame.prompt.put("")
        for number in range(200):
            session.bus.publish(ev.TextDelta(query_id="q1", message_id="m", text=f"word{number} "))
            if number % 50 == 0:
                await pilot.press("k")
        assert app.frame.prompt.text == "kkkk", "events do not disturb who types"


async def test_a_slow_start_says_what_it_waits_for(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("ua_tui.tui.app.session_source.SLOW_SECONDS", 0.0)
    session = make_session(tmp_path, hold_start=True)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(lambda: "connecting composio…" in str(app.status.render()))
        session.starts_with = "starting the Claude Code CLI"
        await until(lambda: "starting the Claude Code CLI…" in str(app.status.render()))
        session.may_start.set()
        await settled(app, pilot)
        assert "command line" not in str(app.status.render())


async def test_one_sub_agent_is_stopped_and_problems_are_reported(tmp_path: Path, monkeypatch: Patch) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        message = "no such task"

        async def refuse(tool_use_id: str) -> bool:
            raise ConnectionFailed(message)

        notes: list[str] = []
        monkeypatch.setattr(app, "notify", lambda text, **_: notes.append(text))
        app.queries.stop_subagent("toolu_1")
        await settled(app, pilot)
        assert (session.stopped_subagents, notes) == (["toolu_1"], [])
        monkeypatch.setattr(session, "stop_subagent", refuse)
        app.queries.stop_subagent("toolu_1")
        await settled(app, pilot)
        assert notes == ["The sub-agent was not stopped (no such task): Esc stops the query."]


async def test_sending_queueing_and_steering_go_to_what_was_sent(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        conversation = app.frame.query_one(ConversationPane)
        session.bus.publish(ev.MessageFinished(query_id="q1", message_id="m", text="word\n\n" * 90))
        await shown(app, pilot)
        for keys in (["a", "enter"], ["b", "ctrl+s"]):
            conversation.action_cursor_home()
            assert not conversation.following
            await pilot.press(*keys)
            assert conversation.following
            assert not conversation.new_below
        conversation.action_cursor_home()
        session.queue_paused = True
        app.queries.show()
        await pilot.press("enter")
        assert conversation.following


async def test_permissions_are_asked_one_after_another_and_answered(tmp_path: Path) -> None:
    answers = (
        (["a"], (True, "once"), ("", ())),
        (["s", "enter"], (True, "session"), ("", ("Bash(ls)",))),
        (["d"], (False, "once"), ("", ())),
        # The letters of a reason are no answers.
        (["r", *"a sad day", "enter"], (False, "once"), ("a sad day", ())),
    )
    async with at_work(tmp_path) as (session, app, pilot):
        for number in range(6):
            session.bus.publish(replace(ASKED, request_id=f"r{number}"))
        await shown(app, pilot)
        for number, (keys, answer, reason) in enumerate(answers):
            screen = app.screen
            assert isinstance(screen, PermissionScreen)
            assert screen.event.request_id == f"r{number}"
            assert app.status.facts.view.activity.needs_person
            assert f"{5 - number} more waiting" in str(screen.query_one(".box").border_subtitle)
            await answerable(app)
            await pilot.press(*keys)
            await shown(app, pilot)
            assert session.answers[number:] == [(f"r{number}", *answer)]
            assert session.reasons[number:] == [reason]
        # One is answered elsewhere before it is shown, and one that is.
        for number in (5, 4):
            assert len(app.screen_stack) == 2
            answered = ev.PermissionAnswered(request_id=f"r{number}", tool_name="Bash", decision="deny")
            session.bus.publish(answered)
            await shown(app, pilot)
        assert len(app.screen_stack) == 1
        assert len(session.answers) == 4
        session.bus.publish(ev.AuthRequired(toolkit="gmail", url="https://connect.example/1"))
        session.finish()
        await shown(app, pilot)
        assert isinstance(app.screen, AuthScreen)
        assert app.status.facts.view.activity.needs_person
        await answerable(app)
        await pilot.press("enter")
        await shown(app, pilot)
        assert session.outcomes == ["completed"]
        assert not app.status.facts.view.activity.needs_person


async def test_questions_of_the_past_are_not_asked_again(tmp_path: Path) -> None:
    answered = ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="deny")
    session = make_session(tmp_path, script=[ASKED, answered])
    app = make_app(tmp_path, session, first_query="x")
    async with app.run_test() as pilot:
        await settled(app, pilot)
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize(("held", "reported"), [(["x"], "1 query was never"), (["x", "y"], "2 queries")])
async def test_unsent_queries_are_reported_after_a_restart(
    tmp_path: Path, held: list[str], reported: str
) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        session.fail("the agent died (ended by SIGKILL)", [])
        session.waiting[:], session.queue_paused = held, True
        await shown(app, pilot)
        assert isinstance(app.screen, ErrorScreen)
        await answerable(app)
        await pilot.press("r")
        await settled(app, pilot)
        (note,) = [note.message for note in app._notifications]
        assert note.startswith(reported)
        assert "never sent" in note
        assert "paused" in str(app.frame.prompt.border_subtitle)


async def test_a_start_that_fails_can_be_tried_again(tmp_path: Path) -> None:
    session = make_session(tmp_path, fail_start="the agent never answered")
    app = make_app(tmp_path, session, first_query="x")
    async with app.run_test() as pilot:
        await settled(app, pilot)
        assert isinstance(app.screen, ErrorScreen)
        await answerable(app)
        await pilot.press("r")
        await settled(app, pilot)
        assert session.restarts == 1
        assert session.submitted == ["x"]


async def test_a_failure_says_why_what_to_do_and_that_restarting_did_not_help(tmp_path: Path) -> None:
    async with opened(tmp_path, (120, 40)) as (session, app, pilot):
        session.submit("x")
        session.waiting.append("later")
        for times in (1, 2):
            session.fail("the agent died (exit code 9)", ["ProcessError: \x1b[31mcode 9"])
            await shown(app, pilot)
            reported = "\n".join(str(each.content) for each in app.screen.query(Static).results(Static))
            assert "the agent died (exit code 9)" in reported
            assert "ProcessError: ‹U+001B›[31mcode 9" in reported
            assert ("starts the agent again in this session" in reported) == (times == 1)
            assert ("failed 2 times" in reported) == (times == 2)
            assert "1 query is waiting" in reported
            assert str(session.workspace.path / "run.log") in reported
            assert not app.notice.display
            await answerable(app)
            if times == 1:
                await pilot.press("r")
            else:
                await pilot.press("escape")
                await pilot.pause()
                assert app.notice.text == "The agent is not running."
                await pilot.press(*"next", "enter", "ctrl+r")
            await settled(app, pilot)
            assert session.restarts == times
        assert session.submitted == ["x", "next"]
        assert not app.notice.display


async def test_a_session_that_cannot_be_built_is_built_again_on_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also: a start for which Python has yet to compile the program says so, until it ends in whatever way."""
    session = make_session(tmp_path)
    compiled = tmp_path / "module.pyc"
    spec = SimpleNamespace(cached=str(compiled))
    monkeypatch.setattr(session_source, "find_spec", lambda _name: spec)
    tries: list[str] = []

    async def build(spawn: Spawn) -> FakeSession:
        tries.append(app.status.hint)
        compiled.touch()
        if len(tries) == 1:
            again = OSError("gone")
            again.__cause__ = OSError("gone")
            raise AgentUnavailable("the agent is not installed") from again
        return session

    app = UaTuiApp(Settings(workspace_base=tmp_path), LiveSource(build), state_dir=tmp_path)
    async with app.run_test() as pilot:
        await failed(app, pilot)
        assert isinstance(app.screen, ErrorScreen)
        words = [str(each.render()) for each in app.screen.query(".text").results(Static)]
        assert words == ["OSError: gone", "Restart tries to start the agent again."]
        assert (app.status.state, app.status.hint) == ("failed", "")
        await answerable(app)
        await pilot.press("r")
        await settled(app, pilot)
        assert (tries, app.status.hint) == (["compiling (usually only at the first start)…", ""], "")
        assert session.state == "idle"
        assert app.status.state == "idle"


async def test_without_credentials_it_explains_and_offers_the_demo(tmp_path: Path) -> None:
    async def build(spawn: Spawn) -> FakeSession:
        raise CredentialsError

    app = UaTuiApp(Settings(workspace_base=tmp_path), LiveSource(build), state_dir=tmp_path)
    async with app.run_test() as pilot:
        await failed(app, pilot)
        assert isinstance(app.screen, SetupScreen)
        await answerable(app)
        await pilot.press("5")
        await pilot.pause()
    assert app.return_value == DEMO
    assert app.return_code == 0


async def test_a_worker_or_a_pane_that_fails_is_reported_and_the_screen_lives_on(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    async def bad() -> None:
        raise RuntimeError("[/] \x1b]0;x\x07 broke")

    def broken(event: ev.Event, view: SessionView) -> None:
        raise ValueError("cannot draw")

    async with opened(tmp_path) as (session, app, pilot):
        app.spawn(bad, "observers", "observers")
        await until(lambda: app.notice.display)
        assert "observers: [/] ]0;x broke" in app.notice.text
        monkeypatch.setattr(next(iter(app.frame.panes)), "handle_event", broken)
        await pilot.press("a", "enter")
        assert session.submitted == ["a"]
        await ask(session, app, pilot)
        assert isinstance(app.screen, PermissionScreen)
        assert "run.log" in app.notice.text


async def test_a_failure_is_reported_in_the_bar_only_while_the_conversation_is_hidden(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        failure = ev.ErrorRaised(where="agent", message="the model's service is overloaded")
        session.bus.publish(failure)
        await shown(app, pilot)
        assert not app.notice.display

        async def hidden() -> None:
            app.frame.show("trace")
            session.bus.publish(failure)
            await shown(app, pilot)
            assert app.notice.text == failure.message
            assert "shows the conversation" in str(app.notice.visual)

        await hidden()
        await pilot.press("1")
        await until(lambda: not app.notice.display)
        # A click leads to the conversation, too.
        await hidden()
        assert await pilot.click("NoticeBar")
        await until(lambda: not app.notice.display)
        assert app.frame.shows("conversation")
        # Another message is not that of the failure.
        await hidden()
        app.notice.show("80 % is spent", "/budget raises it", "warning")
        app.frame.show("conversation")
        await shown(app, pilot)
        assert app.notice.text == "80 % is spent"
        assert await pilot.click("NoticeBar")
        await until(lambda: not app.notice.display)


async def test_a_silent_agent_is_counted_in_the_bar_until_something_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, _):

        async def shows(text: str) -> None:
            await until(lambda: text in app.notice.text and app.notice.display == bool(text))

        session.bus.publish(ev.AgentSilent(query_id="q1", silent_ms=34_000))
        await shows("No answer from the model's service for 34 s.")
        await shows("No answer from the model's service for 35 s.")
        assert "stops the query" in str(app.notice.visual)
        session.bus.publish(ev.AgentSilent(query_id="q1", over=True))
        await shows("")
        session.bus.publish(ev.AgentSilent(query_id="q1", waits_for="process", silent_ms=34_000))
        await shows("The agent's process has not responded for 34 s.")
        session.bus.publish(ev.QueryFinished(query_id="q1", status="interrupted"))
        await shows("")
        assert not app.notice.is_counting


async def test_quitting_offers_no_waiting_when_the_agent_has_finished(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        await pilot.press("a", "enter")
        await pilot.press("ctrl+q")
        await shown(app, pilot)
        wait = app.screen.query_one("#wait")
        assert wait.display
        session.finish()
        await until(lambda: not wait.display)
        assert isinstance(app.screen, QuitScreen)


async def test_quitting_asks_while_work_runs_and_can_wait_for_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):

        async def quit_with(key: str) -> None:
            await pilot.press("ctrl+q")
            await shown(app, pilot)
            assert isinstance(app.screen, QuitScreen)
            await answerable(app)
            await pilot.press(key)
            await shown(app, pilot)

        await pilot.press("a", "enter")
        await quit_with("w")
        assert "quits when this is done" in app.status.hint
        await quit_with("n")
        session.finish()
        await shown(app, pilot)
        assert (session.closed, app.status.hint) == ([], ""), "whoever waits can stay after all"
        await pilot.press("b", "enter", "c", "enter")
        await quit_with("w")
        assert session.closed == []
        app.app_suspend_signal.publish(app)
        session.finish()
        await shown(app, pilot)
        assert session.closed == [], "whoever uses another program is not thrown out"
        session.state = "running"
        app.app_resume_signal.publish(app)
        await shown(app, pilot)
        assert session.closed == [], "what began meanwhile is not stopped"
        session.finish()
        await shown(app, pilot)
    assert session.closed == ["quit"]
    assert session.submitted == ["a", "b", "c"]
    assert app.return_code == 0


async def test_quitting_does_not_wait_for_who_says_yes(tmp_path: Path) -> None:
    async with opened(tmp_path, first_query="go") as (session, app, pilot):
        assert session.submitted == ["go"]
        await pilot.press("ctrl+q")
        await pilot.pause()
        await answerable(app)
        await pilot.press("y")
        await pilot.pause()
    assert session.closed == ["quit"]


async def test_a_session_that_will_not_close_can_be_left_all_the_same(tmp_path: Path) -> None:
    session = make_session(tmp_path, close_forever=True)
    app = make_app(tmp_path, session)
    async with app.run_test() as pilot:
        await settled(app, pilot)
        await pilot.press("ctrl+q", "ctrl+q")
        await pilot.pause()
    assert app.return_code == 1


async def test_ctrl_c_copies_then_warns_then_quits(tmp_path: Path, monkeypatch: Patch) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        # As just after the machine was started, whose clock counts from then on.
        monkeypatch.setattr("ua_tui.tui.app.app.time", SimpleNamespace(monotonic=lambda: 0.5))
        await pilot.press("h", "i", "shift+home", "ctrl+c")
        assert app.clipboard == "hi"
        await pilot.press("end", "ctrl+c")
        await pilot.pause()
        assert "again to quit" in notices(app)
        assert session.closed == []
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert session.closed == ["quit"]


async def test_the_session_is_closed_when_the_screen_fails(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)

    async def run_and_break() -> None:
        async with app.run_test() as pilot:
            await settled(app, pilot)
            app.call_later(lambda: 1 / 0)
            await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        await run_and_break()
    assert session.closed == ["screen ended"]


async def test_the_history_is_kept_for_the_next_start(tmp_path: Path) -> None:
    for _ in range(2):
        session = make_session(tmp_path)
        app = make_app(tmp_path, session)
        async with app.run_test() as pilot:
            await settled(app, pilot)
            await pilot.press("up")
            before = app.frame.prompt.text
            app.frame.prompt.put("remember me")
            await pilot.press("enter")
            await pilot.pause()
    assert before == "remember me"


class Recorder:
    """Notes the numbers of the events of each batch; one without a list fails."""

    def __init__(self, batches: list[list[int]] | None = None) -> None:
        self._batches = batches
        self._numbers: list[int] = []

    def handle_event(self, event: ev.Event, view: SessionView) -> None:
        assert self._batches is not None
        self._numbers.append(event.seq)
        assert view.seq == event.seq

    def show_view(self, view: SessionView) -> None:
        assert self._batches is not None
        self._batches.append(self._numbers)
        self._numbers = []


def deltas(*numbers: int) -> list[ev.TextDelta]:
    return [ev.TextDelta(query_id="q", message_id="m", text="x", seq=number) for number in numbers]


def test_a_handler_that_fails_keeps_no_batch_from_the_others() -> None:
    batches: list[list[int]] = []
    failed: list[Handler] = []
    broken = Recorder()
    EventFeed(failed.append, [broken, Recorder(batches)]).handle(deltas(7, 8))
    assert batches == [[7, 8]]
    assert failed == [broken] * 3


def numbers(events: Sequence[ev.Event]) -> list[int]:
    return [event.seq for event in events]


@pytest.mark.parametrize("interval", [0.01, PATIENCE])
async def test_the_first_event_is_handed_on_at_once_and_later_ones_in_one_batch(interval: float) -> None:
    batches: list[list[int]] = []
    call_soon = asyncio.get_running_loop().call_soon
    pump = EventPump(call_soon, lambda events: batches.append(numbers(events)), interval=interval)
    pump.receive(*deltas(0))
    await run_ready()
    assert batches == [[0]]
    for delta in deltas(*range(1, 50)):
        pump.receive(delta)
    if interval == PATIENCE:
        await run_ready()
        assert batches == [[0]]
        pump.flush()
    await until(lambda: len(batches) == 2)
    assert batches[1] == list(range(1, 50))


async def test_held_events_wait_for_someone_to_show_them_to() -> None:
    batches: list[list[int]] = []
    pump = EventPump(lambda function: function(), lambda events: batches.append(numbers(events)))
    pump.pause()
    for delta in deltas(1, 2, 3):
        pump.receive(delta)
    pump.flush()
    assert batches == []
    pump.resume()
    assert batches == [[1, 2, 3]]
