from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from textual.events import Key
from textual.pilot import Pilot

from tests.core.team.fleet_rows import add_session
from tests.core.team.stores import question_of, requests
from tests.core.team.test_fleet import lay, locked, write
from tests.core.team.test_followed_session import worker
from tests.postgres_server import Database
from tests.tui.app_host import notices
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pane_host import rows
from tests.waiting import PATIENCE, until
from ua_tui.core.errors import TeamError
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.mailbox import Mailbox, PostgresMailbox
from ua_tui.core.team.records import Answer, Command, SessionId
from ua_tui.core.team.restore import SessionMirror
from ua_tui.core.version import VERSION
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.cli.team.fleet import make_source
from ua_tui.tui.panes.conversation.pane import ConversationPane
from ua_tui.tui.replay.followed_source import FollowedSource
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.server_request import ServerFormScreen
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.terminal.clipboard import Clipboard

ASKED = ev.PermissionAsked(request_id="r1", tool_name="Bash", input={"command": "ls"})


@asynccontextmanager
async def following(
    base: Path, source: FollowedSource, *, live: bool = True
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any]]]:
    clipboard = Clipboard({"TERM": "xterm-256color"}, platform="linux")
    app = UaTuiApp(Settings(workspace_base=base), source, clipboard=clipboard, state_dir=base / "state")
    async with app.run_test(size=(120, 40)) as pilot:
        await asyncio.wait_for((source.is_live if live else source.end_shown).wait(), PATIENCE)
        await pilot.pause()
        yield app, pilot


@asynccontextmanager
async def local(
    base: Path, *events: ev.Event
) -> AsyncIterator[tuple[UaTuiApp, Pilot[Any], LocalMailbox, Path]]:
    """A session of another program of this machine, which is followed."""
    folder = lay(base, "session_20261121_140200", *events)
    mailbox = LocalMailbox(folder)
    with locked(folder):
        source = FollowedSource(folder, mailbox, where="worker-1", owner="mary")
        async with following(base, source) as (app, pilot):
            yield app, pilot, mailbox, folder


def sent(command: Command) -> Command:
    return replace(command, sent_by=getpass.getuser())


def conversation(app: UaTuiApp) -> str:
    return "\n".join(rows(app.frame.query_one(ConversationPane)))


async def asks(app: UaTuiApp, kind: type[Any]) -> None:
    await until(
        lambda: isinstance(app.screen, kind) and app.screen.is_drawn and not app.screen.has_class("-quiet")
    )


async def test_what_happens_is_shown_and_a_question_is_answered(tmp_path: Path) -> None:
    async with local(tmp_path) as (app, pilot, mailbox, folder), worker(mailbox) as received:
        assert app.state == "running"
        assert "Write to mary's session on worker-1" in screen_text(app)
        write(folder, [ev.TextDelta(query_id="q1", message_id="m1", text="Two **bicycles**")])
        await until(lambda: "Two bicycles" in conversation(app))
        await mailbox.ask(*question_of(ASKED))
        write(folder, [ASKED])
        await asks(app, PermissionScreen)
        await pilot.press("a")
        assert await asyncio.wait_for(received.get(), PATIENCE) == Answer(request="r1", allow=True)
        write(folder, [ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="allow")])
        await until(lambda: len(app.screen_stack) == 1)
        assert "Answered by" not in notices(app)
        form = ev.ElicitationAsked(
            request_id="e1", server="notes", message="Which?", fields=[ev.FormField(name="name")]
        )
        await mailbox.ask(*question_of(form))
        write(folder, [form])
        await asks(app, ServerFormScreen)
        await pilot.press("ctrl+n")
        answer = await asyncio.wait_for(received.get(), PATIENCE)
        assert isinstance(answer, Answer)
        assert (answer.request, answer.action) == ("e1", "decline")
        await until(lambda: len(app.screen_stack) == 1)
        await pilot.press("alt+m", "ctrl+r")
        await until(lambda: "make the change there" in notices(app))
        assert len(app.screen_stack) == 1
        assert app.session_folder is None
        assert app.state == "running"
        await pilot.press("ctrl+q")
        await until(lambda: app._exit)


async def test_a_question_that_waits_already_is_asked_once(tmp_path: Path) -> None:
    folder = lay(tmp_path, "session_20261121_140200", ASKED)
    mailbox = LocalMailbox(folder)
    await mailbox.ask(*question_of(ASKED))
    with locked(folder):
        async with following(tmp_path, FollowedSource(folder, mailbox)) as (
            app,
            pilot,
        ):
            await asks(app, PermissionScreen)
            # The journal may have it later than the mailbox.
            write(folder, [ASKED, ev.TextDelta(query_id="q1", message_id="m1", text="Behind it")])
            await until(lambda: "Behind it" in conversation(app))
            await pilot.press("d")
            await until(lambda: len(app.screen_stack) == 1)


async def test_a_dialog_closes_when_someone_else_answers_or_another_worker_continues(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.local_mailbox._user", lambda: "mary [b]")
    async with local(tmp_path) as (app, _, mailbox, folder):
        await mailbox.ask(*question_of(ASKED))
        write(folder, [ASKED])
        await asks(app, PermissionScreen)
        write(folder, [ev.SessionStarted(session_id="s", workspace="/w", cwd="/", version=VERSION)])
        await until(lambda: len(app.screen_stack) == 1)
        again = ev.PermissionAsked(request_id="r2", tool_name="Bash", input={"command": "ls"})
        await mailbox.ask(*question_of(again))
        write(folder, [ev.QueryReceived(query_id="q2", text="Go on"), again])
        await asks(app, PermissionScreen)
        assert app.state == "running"
        await mailbox.answer(Answer(request="r2", allow=True))
        write(folder, [ev.PermissionAnswered(request_id="r2", tool_name="Bash", decision="allow")])
        await until(lambda: len(app.screen_stack) == 1)
        await until(lambda: "Answered by mary [b] at " in notices(app))


async def test_queries_are_sent_and_the_session_is_stopped_only_after_a_question(tmp_path: Path) -> None:
    async with local(tmp_path) as (app, pilot, mailbox, folder), worker(mailbox) as received:
        await pilot.press(*"And then?", "enter")
        assert await asyncio.wait_for(received.get(), PATIENCE) == sent(
            Command(kind="submit", body="And then?")
        )
        await until(lambda: "And then?" in screen_text(app))
        assert "Alt+X stops it" in screen_text(app)
        await pilot.press("alt+x")
        await asks(app, ConfirmScreen)
        assert "Stop mary's session?" in screen_text(app)
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)
        assert app.state == "running"
        await pilot.press("alt+x")
        await asks(app, ConfirmScreen)
        await pilot.press("y")
        assert await asyncio.wait_for(received.get(), PATIENCE) == sent(Command(kind="interrupt"))
        assert app.state == "stopping"
        write(folder, [ev.QueryFinished(query_id="q1", status="interrupted")])
        await until(lambda: app.state == "idle")
        write(folder, [
            ev.QueryReceived(query_id="q2", text="And then?"),
            ev.MessageFinished(query_id="q2", message_id="m2", text="Nothing."),
            ev.QueryFinished(query_id="q2", status="success", cost_usd=0.25),
        ])  # fmt: skip
        await until(lambda: "Nothing." in conversation(app) and "$0.25" in str(app.status.render()))
        await until(lambda: "Esc back" in str(app.status.render()))
        await pilot.press("escape")
        await until(lambda: app._exit)
        assert app.return_code in (0, None)


async def test_escape_leads_back_and_decides_nothing(tmp_path: Path) -> None:
    async with local(tmp_path) as (app, pilot, mailbox, folder), worker(mailbox) as received:
        for request in ("r1", "r2"):
            asked = replace(ASKED, request_id=request)
            await mailbox.ask(*question_of(asked))
            write(folder, [asked])
        await asks(app, PermissionScreen)
        assert "Decide later" in screen_text(app)
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)
        assert "2 questions stay open: Alt+A" in notices(app)
        assert await requests(mailbox) == ["r1", "r2"]
        await pilot.press("alt+a")
        await asks(app, PermissionScreen)
        await pilot.press("d")
        assert await asyncio.wait_for(received.get(), PATIENCE) == Answer(request="r1")
        await until(lambda: isinstance(app.screen, PermissionScreen) and app.screen.event.request_id == "r2")
        await pilot.press("escape")
        await until(lambda: len(app.screen_stack) == 1)
        # Somebody else has answered it: nothing waits any more.
        await mailbox.answer(Answer(request="r2", allow=True))
        write(folder, [ev.PermissionAnswered(request_id="r2", tool_name="Bash", decision="allow")])
        await until(lambda: "Answered by" in notices(app))
        await pilot.press("alt+a")
        await until(lambda: "No question is open." in notices(app))
        assert app.state == "running"
        await until(lambda: "Esc back" in str(app.status.render()))
        await pilot.press("escape")
        await until(lambda: app._exit)
        await pilot.pause()
        assert received.qsize() == 1
        assert (await asyncio.wait_for(received.get(), PATIENCE)) == Answer(request="r2", allow=True)


async def test_a_key_for_a_question_that_somebody_else_answered_answers_no_other_one(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("ua_tui.core.team.local_mailbox._user", lambda: "mary")
    async with local(tmp_path) as (app, pilot, mailbox, folder), worker(mailbox) as received:
        await mailbox.ask(*question_of(ASKED))
        write(folder, [ASKED])
        await asks(app, PermissionScreen)
        await mailbox.answer(Answer(request="r1", allow=True))
        assert await asyncio.wait_for(received.get(), PATIENCE) == Answer(request="r1", allow=True)
        second = replace(ASKED, request_id="r2")
        await mailbox.ask(*question_of(second))
        write(folder, [ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="allow"), second])
        await until(lambda: isinstance(app.screen, PermissionScreen) and app.screen.event.request_id == "r2")
        await asks(app, PermissionScreen)
        assert "Answered by mary at" in screen_text(app)
        assert "This is the next question." in screen_text(app)
        assert "press any key first" in screen_text(app)
        await pilot.press("a")
        await until(lambda: "press any key first" not in screen_text(app))
        await asks(app, PermissionScreen)
        assert await requests(mailbox) == ["r2"]
        await pilot.press("d")
        assert await asyncio.wait_for(received.get(), PATIENCE) == Answer(request="r2")


async def test_the_end_of_the_session_closes_the_prompt(tmp_path: Path) -> None:
    folder = lay(tmp_path)
    source = FollowedSource(folder, LocalMailbox(folder))
    with ExitStack() as running:
        running.enter_context(locked(folder))
        async with following(tmp_path, source) as (app, pilot):
            ended = ev.QueryFinished(query_id="q1", status="success", text="Done.")
            write(folder, [ASKED, ended, ev.SessionFinished(reason="quit", duration_ms=1_000)])
            running.close()
            await until(lambda: app.state == "closed" and app.frame.prompt.disabled)
            assert len(app.screen_stack) == 1
            assert "past session · finished" in str(app.status.render())
            await pilot.press("escape")
            await until(lambda: app._exit)


async def test_a_session_that_has_not_begun_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "session_20261121_140200"
    folder.mkdir()
    (folder / ".lock").touch()
    source = FollowedSource(folder, LocalMailbox(folder))
    with locked(folder):
        clipboard = Clipboard({"TERM": "xterm-256color"}, platform="linux")
        app = UaTuiApp(Settings(workspace_base=tmp_path), source, clipboard=clipboard)
        async with app.run_test(size=(120, 40)):
            await until(lambda: "loading the session" in screen_text(app))
            assert "running elsewhere · followed" in str(app.status.render())
            assert "past session" not in screen_text(app)
            write(folder, [ev.QueryReceived(query_id="q1", text="Compare bicycles")])
            await until(lambda: "Compare bicycles" in conversation(app))


async def test_a_session_can_be_stopped_before_it_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "session_20261121_140200"
    folder.mkdir()
    (folder / ".lock").touch()
    mailbox = LocalMailbox(folder)
    source = FollowedSource(folder, mailbox, owner="mary")
    with locked(folder):
        app = UaTuiApp(Settings(workspace_base=tmp_path), source, state_dir=tmp_path / "state")
        async with app.run_test(size=(120, 40)) as pilot, worker(mailbox) as received:
            await until(lambda: "loading the session" in screen_text(app))
            await pilot.press("alt+x")
            await asks(app, ConfirmScreen)
            assert "Stop mary's session?" in screen_text(app)
            await pilot.press("y")
            await until(lambda: len(app.screen_stack) == 1)
            write(folder, [ev.QueryReceived(query_id="q1", text="Compare bicycles")])
            assert await asyncio.wait_for(received.get(), PATIENCE) == sent(Command(kind="interrupt"))
            assert app.frame.prompt.text == ""


async def test_keys_from_before_the_first_frame_are_not_for_the_prompt_of_another_session(
    tmp_path: Path,
) -> None:
    folder = lay(tmp_path, "session_20261121_140200")
    source = FollowedSource(folder, LocalMailbox(folder))
    app = UaTuiApp(Settings(workspace_base=tmp_path), source, state_dir=tmp_path / "state")
    paused = app.key_queue.pause

    def type_early() -> None:
        paused()
        app.post_message(Key("y", "y"))

    app.key_queue.pause = type_early  # type: ignore[method-assign]
    with locked(folder):
        async with app.run_test(size=(120, 40)) as pilot:
            await asyncio.wait_for(source.is_live.wait(), PATIENCE)
            await pilot.press("z")
            await until(lambda: app.frame.prompt.text != "")
            assert app.frame.prompt.text == "z"


async def test_a_database_that_is_away_can_be_tried_again(tmp_path: Path) -> None:
    class Away(SessionMirror):
        tries = 0

        async def start(self) -> Path:
            Away.tries += 1
            if Away.tries == 1:
                raise TeamError("the server does not answer")
            return folder

    folder = lay(tmp_path)
    place = Away(Address.parse("postgresql://owner@db.example/desk"), "s1")
    mailbox: Mailbox = LocalMailbox(folder)
    with locked(folder):
        source = FollowedSource(place, mailbox)
        app = UaTuiApp(Settings(workspace_base=tmp_path), source)
        async with app.run_test(size=(120, 40)) as pilot:
            await asks(app, ErrorScreen)
            assert "the server does not answer" in screen_text(app)
            await pilot.press("r")
            await asyncio.wait_for(source.is_live.wait(), PATIENCE)
            assert Away.tries == 2


def add_line(database: Database, seq: int, event: ev.Event) -> None:
    database.execute(
        "INSERT INTO piece SELECT 'a', 'journal.jsonl', coalesce(sum(octet_length(data)), 0), %s FROM piece",
        encode_event(replace(event, seq=seq)) + b"\n",
    )
    database.execute("SELECT pg_notify('ua_tui', 'session a')")


async def test_a_session_of_the_team_is_followed_through_its_database(
    tmp_path: Path, team_database: Database, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    add_session(team_database, "a", title="Bicycles", worker="worker-1", name="session_20261121_140200")
    started = ev.SessionStarted(session_id="s", workspace="/gone", cwd="/", version=VERSION)
    for seq, event in enumerate((started, ev.QueryReceived(query_id="q1", text="Compare bicycles")), 1):
        add_line(team_database, seq, event)
    address = Address.parse(team_database.url)
    source = await make_source("a", address, None)
    mailbox = PostgresMailbox(address, SessionId(id="a", job="j-a"))
    async with following(tmp_path, source) as (app, pilot):
        assert "Compare bicycles" in conversation(app)
        add_line(team_database, 3, ev.TextDelta(query_id="q1", message_id="m1", text="Two bicycles"))
        await until(lambda: "Two bicycles" in conversation(app))
        await mailbox.ask(*question_of(ASKED))
        add_line(team_database, 4, ASKED)
        await asks(app, PermissionScreen)
        await pilot.press("a")
        await until(lambda: team_database.execute("SELECT answered_by::text FROM question") == [("owner",)])
        add_line(team_database, 5, ev.PermissionAnswered(request_id="r1", tool_name="Bash", decision="allow"))
        add_line(team_database, 6, ev.QueryFinished(query_id="q1", status="success"))
        add_line(team_database, 7, ev.SessionFinished(reason="quit"))
        team_database.execute("UPDATE session SET state = 'done', finished_at = now()")
        team_database.execute("SELECT pg_notify('ua_tui', 'session a')")
        await until(lambda: app.frame.prompt.disabled)


async def test_a_session_of_a_person_is_only_watched(tmp_path: Path, team_database: Database) -> None:
    folder = lay(tmp_path)
    add_session(team_database, "a", job=False)
    address = Address.parse(team_database.url)
    source = await make_source("a", address, folder)
    assert not source.has_prompt
    with locked(folder):
        async with following(tmp_path, source, live=False) as (app, pilot):
            await until(lambda: "is followed here" in str(app.frame.prompt.placeholder))
            assert app.frame.prompt.disabled
            await pilot.press("escape")
            await until(lambda: app._exit)
