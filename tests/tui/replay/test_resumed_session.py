from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from tests.tui.fakes import FakeSession, FakeWorkspace
from tests.tui.fixture_types import Patch
from tests.tui.pane_host import finished, rows, started
from tests.tui.replay.test_past_session import NAME, many, write
from tests.waiting import until
from ua_tui.core.concurrency.spawn import Spawn
from ua_tui.core.errors import ConversationGone, JournalError
from ua_tui.core.events import types as ev
from ua_tui.core.history.session import PastSession
from ua_tui.core.session.resume import Resume
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.conversation.blocks import Verbatim
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.replay.resumed_source import ResumedSource
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.session.confirm import FreshScreen
from ua_tui.tui.terminal.clipboard import Clipboard
from ua_tui.tui.virtual_list.virtual_list import VirtualList


class ResumableSession(FakeSession):
    """Reports that it is resumed, and ends what had no end."""

    ends: Sequence[ev.Event] = ()

    async def start(self) -> None:
        self.bus.publish(ev.SessionStarted(
            session_id=NAME, workspace=str(self.workspace.path), cwd="/work", version="1", resumed_from=NAME,
        ))  # fmt: skip
        for event in self.ends:
            self.bus.publish(event)
        self.state = "idle"


@asynccontextmanager
async def resumed(
    folder: Path, *, tail: int = 1 << 20, ends: Sequence[ev.Event] = (), gone: bool = False
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any], ResumableSession]]:
    session = ResumableSession(FakeWorkspace(folder))
    session.ends = ends

    async def build(spawn: Spawn) -> ResumableSession:
        if gone and not source.resume.fresh:
            raise ConversationGone("the agent's record of the conversation is gone")
        return session

    source = ResumedSource(build, PastSession(folder, tail=tail), Resume(folder))
    app = UaTuiApp(
        Settings(workspace_base=folder.parent.parent), source, state_dir=folder.parent.parent / "state",
        clipboard=Clipboard({"TERM": "xterm-256color"}, platform="linux"),
    )  # fmt: skip
    async with app.run_test(size=(160, 45)) as pilot:
        yield app, pilot, session


def source_of(app: UaTuiApp) -> ResumedSource:
    assert isinstance(app.source, ResumedSource)
    return app.source


def text(app: UaTuiApp, kind: type[VirtualList[Any]]) -> str:
    return "\n".join(rows(app.frame.query_one(kind)))


def with_context() -> list[ev.Event]:
    """A query after which the model's context is known."""
    return [
        ev.QueryReceived(query_id="c", text="And?"),
        ev.MessageFinished(query_id="c", message_id="c", text="No.", usage=ev.Usage(input_tokens=20_000)),
        ev.QueryFinished(query_id="c", status="success", context_window=1_000_000),
    ]


async def test_what_was_before_is_shown_and_what_happens_comes_below_it(tmp_path: Path) -> None:
    folder = write(
        tmp_path,
        [*many(2), *with_context(), ev.SessionFinished(reason="quit", cost_usd=1.0, duration_ms=9.0)],
    )
    (folder / "old.md").write_text("old")
    async with resumed(folder) as (app, pilot, session):
        await until(lambda: app.state == "idle" and "Resumed" in text(app, ConversationPane))
        talk = text(app, ConversationPane)
        assert talk.index("Answer 1 speaks") < talk.index("Resumed")
        # Money and tokens count on.
        assert "$1.00" in str(app.status.render())
        assert "ctx 2%" in str(app.status.render())
        await pilot.press(*"more", "enter")
        assert session.submitted == ["more"]
        session.bus.publish(started("call_new", "Read", query="q1", file_path="new.md"))
        await until(lambda: "new.md" in text(app, TracePane))
        session.bus.publish(finished("call_new", text="done"))
        session.finish(text="A new answer.", cost_usd=0.25)
        await until(lambda: "A new answer." in text(app, ConversationPane))
        assert "$1.25" in str(app.status.render())
        trace = app.frame.query_one(TracePane)
        assert trace.calls.by_key["call_new"].took is not None
        assert "call_0_3" in trace.calls.by_key
        assert app.frame.query_one(WorkspacePane).new_files == frozenset()


async def test_a_journal_that_failed_is_read_by_the_next_start(tmp_path: Path, monkeypatch: Patch) -> None:
    start, tries = PastSession.start, []

    async def start_at_last(past: PastSession) -> None:
        tries.append(past)
        if len(tries) == 1:
            raise JournalError("The journal cannot be read: Input/output error.")
        await start(past)

    monkeypatch.setattr(PastSession, "start", start_at_last)
    async with resumed(write(tmp_path, many(2))) as (app, _, session):
        await until(lambda: isinstance(app.screen, ErrorScreen))
        await until(lambda: any("Input/output" in str(each.content) for each in app.screen.query(Static)))
        app.screen.dismiss("close")
        await until(lambda: "Input/output error" in app.notice.text)
        app.action_restart()
        await until(lambda: app.state == "idle" and "Resumed" in text(app, ConversationPane))
        assert "Answer 1 speaks" in text(app, ConversationPane)
        session.submit("live")
        session.finish(text="A live answer.")
        await until(lambda: "A live answer." in text(app, ConversationPane))


async def test_while_a_long_journal_is_read_nothing_new_is_lost(tmp_path: Path) -> None:
    folder = write(tmp_path, [*many(60), *with_context()])
    async with resumed(folder, tail=8_000) as (app, _, session):
        await until(lambda: app.session is not None and app.state == "idle")
        await until(lambda: "ctx 2%" in str(app.status.render()))
        session.submit("live")
        session.finish(text="A live answer.")
        await until(lambda: "A live answer." in text(app, ConversationPane))
        trace = app.frame.query_one(TracePane)
        assert "call_0_0" in trace.calls.by_key
        assert "$30.00" in str(app.status.render())
        conversation = app.frame.query_one(ConversationPane)
        asked = [
            entry.text
            for entry in conversation.entries
            if isinstance(entry, Verbatim) and entry.text.startswith("Question")
        ]
        assert asked == [f"Question {number}" for number in range(60)]


async def test_what_a_crash_left_open_is_ended_and_a_new_row_runs(tmp_path: Path) -> None:
    before = [
        ev.QueryReceived(query_id="q1", text="First"),
        started("call_a", "Read", query="q1", file_path="a.md"),
        ev.TokensSpent(query_id="q1", message_id="m", usage=ev.Usage(output_tokens=9), cost_usd=0.02),
    ]
    ends: list[ev.Event] = [
        ev.ToolCallFinished(tool_use_id="call_a", status="cancelled"),
        ev.QueryFinished(query_id="q1", status="interrupted", cost_usd=0.02),
    ]
    async with resumed(write(tmp_path, before), ends=ends) as (app, _, session):
        await until(lambda: app.state == "idle" and "Resumed" in text(app, ConversationPane))
        assert "$0.02" in str(app.status.render()), "its cost counts once"
        trace = app.frame.query_one(TracePane)
        assert not any(node.running for node in trace.calls.by_key.values())
        session.bus.publish(ev.QueryReceived(query_id="q2", text="Second"))
        session.bus.publish(started("call_b", "Read", query="q2", file_path="b.md"))
        await until(lambda: "call_b" in trace.calls.by_key)
        assert trace.calls.by_key["call_b"].running


async def test_a_conversation_that_is_gone_is_asked_about_and_a_fresh_one_begins(tmp_path: Path) -> None:
    async with resumed(write(tmp_path, many(1)), gone=True) as (app, pilot, session):
        await until(
            lambda: (
                isinstance(app.screen, FreshScreen)
                and app.screen.is_drawn
                and not app.screen.has_class("-quiet")
            )
        )
        assert app.state == "failed"
        await pilot.press("f")
        await until(lambda: app.state == "idle")
        assert source_of(app).resume.fresh
        assert len(app.screen_stack) == 1
        assert "Answer 0 speaks" in text(app, ConversationPane)
        assert app.session is session


async def test_without_its_conversation_a_person_can_leave(tmp_path: Path) -> None:
    async with resumed(write(tmp_path, many(1)), gone=True) as (app, pilot, _):
        await until(
            lambda: (
                isinstance(app.screen, FreshScreen)
                and app.screen.is_drawn
                and not app.screen.has_class("-quiet")
            )
        )
        await pilot.press("escape")
        await until(lambda: app._exit)
        assert not source_of(app).resume.fresh


async def test_the_prompt_of_a_fork_has_its_query_until_it_has_one_of_its_own(tmp_path: Path) -> None:
    forked = ev.SessionForked(session="session_1", query_id="n1", text="Question 1", cost_usd=0.5)
    ends = [forked, ev.SessionFinished(reason="forked")]
    async with resumed(write(tmp_path / "1", [*many(1), *ends])) as (app, _, _session):
        await until(lambda: app.state == "idle" and app.frame.prompt.text == "Question 1")
        assert "Its cost until then, $0.50" in text(app, ConversationPane)
        assert "$0.00 (+$0.50)" in str(app.status.render())
    own = [ev.QueryReceived(query_id="n1", text="Own"), ev.QueryFinished(query_id="n1", status="success")]
    async with resumed(write(tmp_path / "2", [*many(1), *ends, *own])) as (app, _, _session):
        await until(lambda: app.state == "idle" and "Own" in text(app, ConversationPane))
        assert app.frame.prompt.text == ""
