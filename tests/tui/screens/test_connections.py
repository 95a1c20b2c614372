from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.trusted import TRUSTED
from tests.tui.app_host import notices
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pictured import DARK, MEDIUM, SMALL, Compare, Size, looks
from tests.tui.theme.test_contrast import quiet_colours, unreadable
from tests.waiting import until
from ua_tui.core.doctor.child import DoctorFailed
from ua_tui.core.doctor.findings import DoctorCheck, OnCheck, Status
from ua_tui.core.events.types import McpServer, McpStatus
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.tracer import Trace
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.panes.prompt.pane import Prompt
from ua_tui.tui.screens.services.connections import ConnectionsScreen
from ua_tui.tui.widgets.choice_list import RowList

TOOLS = ["crawl_parallel", "save_corpus", "write_local_file", "read_local_file", "list_directory"]
TOOLKIT = McpServer(name="local_toolkit", status="connected", tools=5, tool_names=TOOLS)
REFUSED = "the server refused the key, and has no other way to sign in (HTTP 401)"
COMPOSIO = McpServer(name="composio", status="failed", error=REFUSED, last_error=REFUSED)
NOTES = McpServer(name="notes", status="disabled", last_error="Connection closed")
MAIL = McpServer(name="a-mail-server-with-a-name-that-is-much-too-long", status="needs-auth")
READER = McpServer(name="reader", status="off", error="The reader is off: set ZAI_API_KEY to use it.")
BUSY = McpServer(name="tickets", status="reconnecting", tools=12)
SERVERS = [TOOLKIT, COMPOSIO, NOTES, MAIL, READER, BUSY]


def checked(name: str, title: str, status: Status, found: str, advice: str = "", **more: Any) -> DoctorCheck:
    return DoctorCheck(name=name, title=title, status=status, found=found, advice=advice, **more)


CHECKS = [
    checked("composio", "Composio", "failed", "Composio refused the key", "set a valid COMPOSIO_API_KEY"),
    checked("python", "Python", "ok", "3.11.7 on Linux", required=True),
    checked("agent", "Agent", "ok", "the bundled Claude Code CLI, 2.1.329", required=True),
    checked("model", "Model", "warning", "m1 at http://127.0.0.1:8080 answered in 9.1 s.", "That is slow."),
    checked("logfire", "Logfire", "skipped", "there is no LOGFIRE_TOKEN", "nothing is sent"),
    checked("toolkit", "Local toolkit", "ok", "5 tools: crawl_parallel, save_corpus", required=True),
]


@pytest.fixture(autouse=True)
def alone(monkeypatch: Patch, tmp_path: Path, still: None) -> None:
    """Nobody's keys and files, and no animation."""
    for name in (
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "COMPOSIO_API_KEY", "Z_AI_API_KEY", "LOGFIRE_TOKEN",
        "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


class Doctor:
    """Gives its checks one by one when `go` is set; `fails` afterwards, and says whether it came to an end."""

    def __init__(self, *checks: DoctorCheck, fails: str = "") -> None:
        self.checks = checks
        self.fails = fails
        self.go = asyncio.Event()
        self.go.set()
        self.asked: list[Settings] = []
        self.ended = False

    async def __call__(self, settings: Settings, on_check: OnCheck) -> None:
        self.asked.append(settings)
        try:
            for check in self.checks:
                on_check(check)
                await self.go.wait()
            if self.fails:
                raise DoctorFailed(self.fails)
        finally:
            self.ended = True


@asynccontextmanager
async def connections(
    tmp_path: Path, *servers: McpServer, size: Size = (120, 40), doctor: Doctor | None = None, **settings: Any
) -> AsyncIterator[tuple[UaTuiApp, FakeSession, ConnectionsScreen, Pilot[Any]]]:
    session = make_session(tmp_path)
    session.servers.known = list(servers)
    app = make_app(tmp_path, session, claude_config_dir=tmp_path / "claude", **settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ua_tui.core.doctor.child.run_checks_in_child", doctor)
        async with app.run_test(size=size) as pilot:
            yield app, session, await _opened(app), pilot


async def _opened(app: UaTuiApp) -> ConnectionsScreen:
    await until(lambda: app.state == "idle")
    screen = ConnectionsScreen(app.settings, lambda: app.session)
    app.push_screen(screen)
    await until(lambda: screen.is_mounted and "LOGFIRE_TOKEN" in screen_text(app))
    return screen


async def test_every_state_has_a_mark_and_a_word_and_keys_ask_for_the_server_under_the_cursor(
    tmp_path: Path,
) -> None:
    marks = ("✓ local_toolkit", "✗ composio", "⊘ notes", "? a-mail-server", "· reader", "… tickets", "custom")
    states = (
        "connected", "failed", "disabled", "login needed", "not set up", "reconnecting", "1 of 4 connected",
    )  # fmt: skip
    details = (
        "error  the server refused the key", "last error  Connection closed", "Sign in at the service",
        "set ZAI_API_KEY",
    )  # fmt: skip
    async with connections(tmp_path, *SERVERS, doctor=Doctor(*CHECKS)) as (app, session, screen, pilot):
        assert [each for each in (*marks, *states) if each not in screen_text(app)] == []
        for wanted in details:
            await pilot.press("down")
            await until(lambda wanted=wanted: wanted in screen_text(app))  # type: ignore[misc]  # of this turn
        await pilot.press("down")
        assert screen.chosen is not None
        assert screen.chosen.name == "tickets"
        await pilot.press("home")
        assert screen.chosen.name == "local_toolkit"
        await pilot.press("G", "k", "g", "j", "end", "up")
        assert screen.chosen.name == "reader"
        await pilot.press("home", "r", "space", "down", "r", "space", "down", "space", "space")
        assert session.servers.asked == [
            "reconnect local_toolkit", "disable local_toolkit", "reconnect composio", "disable composio",
            "enable notes", "enable notes",
        ]  # fmt: skip
        session.servers.refusal = "notes is [red]reconnecting already."
        await pilot.press("r")
        assert "notes is [red]reconnecting already." in notices(app)
        for theme in ("ua-light", "nord", "ua-dark"):
            app.theme = theme
            await pilot.press("home")
            for server in SERVERS:
                await pilot.pause()
                assert screen.chosen == server
                assert unreadable(app, quiet_colours(app)) == {}
                await pilot.press("down")
        # What has no room is scrolled.
        await pilot.press("home")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        facts = screen.query_one("#details")
        await pilot.press("pagedown")
        await pilot.pause()
        assert facts.scroll_offset.y > 3
        await pilot.press("pageup")
        await pilot.pause()
        assert facts.scroll_offset.y == 0
        await pilot.press("t")
        await until(lambda: "A session can start." in screen_text(app))
        assert facts.scroll_offset.y > 3
        assert screen.query_one(RowList).has_focus


async def test_a_login_is_offered_for_servers_of_the_user_that_can_have_one(tmp_path: Path) -> None:
    needs = McpServer(name="notes", status="needs-auth", error="MCP server notes needs a login: run it.")
    unknown = McpServer(name="tickets", status="untrusted")
    url = "http://notes.example/mcp"
    (tmp_path / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"notes": {"url": url}, "tickets": {"url": url}}})
    )
    async with connections(tmp_path, needs, TOOLKIT, unknown) as (app, session, screen, pilot):
        await until(lambda: "Press l for the browser login, Space to disable it." in screen_text(app))
        assert "needs a login" not in screen_text(app)
        await pilot.press("down", "l", "down", "l")
        await until(lambda: "Trust or refuse tickets first" in notices(app))
        assert "local_toolkit has no login." in notices(app)
        await pilot.press("home", "l")
        await until(lambda: "http://notes.example/mcp is not encrypted" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: app.screen is screen)
        assert session.servers.asked == []
        screen._after_login("notes", True)
        assert session.servers.asked == ["reconnect notes"]
        await until(lambda: "You are logged in to notes." in notices(app))


async def test_what_happens_is_seen_and_the_cursor_stays(tmp_path: Path) -> None:
    async with connections(tmp_path, TOOLKIT, COMPOSIO) as (app, session, screen, pilot):
        await pilot.press("down")
        session.bus.publish(McpStatus(servers=[TOOLKIT, McpServer(name="composio", status="reconnecting")]))
        await until(lambda: "… composio" in screen_text(app))
        found = ["COMPOSIO_SEARCH_TOOLS"]
        working = McpServer(name="composio", status="connected", tools=1, tool_names=found)
        session.bus.publish(McpStatus(servers=[TOOLKIT, working]))
        await until(lambda: "✓ composio" in screen_text(app))
        assert screen.chosen == working
        # As a person reads it.
        assert "tools  SEARCH_TOOLS" in screen_text(app)
        session.bus.publish(McpStatus(servers=[TOOLKIT]))
        await until(lambda: "composio  " not in screen_text(app))
        assert screen.chosen == TOOLKIT
        looked = session.servers.looks
        await until(lambda: session.servers.looks > looked)
        # One that fails for now says when it is tried again, and what a person may do.
        soon = McpServer(name="notes", status="failed", error="ECONNREFUSED", again_s=32)
        session.bus.publish(McpStatus(servers=[TOOLKIT, soon]))
        await until(lambda: "↻ notes" in screen_text(app))
        assert "failed, retry in 32 s  " in screen_text(app)
        await pilot.press("end")
        await until(lambda: "Press r to reconnect now" in screen_text(app))


OWN = {
    "notes": {"command": "npx", "args": ["-y", "my notes"], "env": {"NOTES_KEY": "canary-0123456789"}},
    "tickets": {"type": "sse", "url": "https://tickets.example/sse"},
}


async def test_a_persons_own_servers_are_shown_as_they_are_written_down(tmp_path: Path) -> None:
    written = tmp_path / ".mcp.json"
    written.write_text(json.dumps({"mcpServers": OWN}))
    notes = McpServer(name="notes", status="untrusted", error="notes is used only once you have trusted it")
    tickets = McpServer(name="tickets", status="connected", tools=1)
    async with connections(tmp_path, notes, tickets, size=(200, 50)) as (app, session, _, pilot):
        await until(lambda: "starts  npx -y 'my notes'" in screen_text(app))
        assert f"defined in  {written}"[:80] in screen_text(app)
        assert "canary" not in screen_text(app)
        await until(lambda: "Press r to trust or refuse it" in screen_text(app))
        await pilot.press("r", "down")
        assert session.servers.asked == ["reconnect notes"]
        await until(lambda: "opens, sse  https://tickets.example/sse" in screen_text(app))


async def test_without_a_session_there_is_still_something_to_see(tmp_path: Path) -> None:
    session = make_session(tmp_path, hold_start=True)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(100, 30)) as pilot:
        there: list[FakeSession] = []
        screen = ConnectionsScreen(app.settings, lambda: there[0] if there else None)
        await until(lambda: app.frame.query(Prompt))
        app.push_screen(screen)
        await until(lambda: "Credentials" in screen_text(app))
        await pilot.press("r", "space", "down", "up")
        assert "No servers: the agent" in screen_text(app)
        session.servers.known = [TOOLKIT]
        there.append(session)
        await until(lambda: "local_toolkit" in screen_text(app))
        session.may_start.set()


async def test_credentials_are_reported_by_name_and_place_and_never_by_value(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    secret = "sk-ant-canary-0123456789"
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret)
    (tmp_path / ".env").write_text("COMPOSIO_API_KEY=ak_canary-0123456789\n")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://user:canary-0123456789@traces.example:4318")
    given: dict[str, Any] = {
        "api_key": secret,
        "composio_api_key": "ak_canary-0123456789",
        "logfire_token": "pylf_canary-0123456789",
        "base_url": "http://user:canary-0123456789@127.0.0.1:8080",
        "model": "m1",
        "folder": TRUSTED,
    }
    async with connections(tmp_path, TOOLKIT, size=(200, 40), **given) as (app, session, _, _):
        shown = screen_text(app)
        for wanted in (
            "✓ ANTHROPIC_API_KEY     environment",
            "· ANTHROPIC_AUTH_TOKEN  missing",
            "· Claude login          missing",
            "✓ COMPOSIO_API_KEY      /",
            "✓ LOGFIRE_TOKEN         given by the program",
            "m1 at http://127.0.0.1:8080",
            "spans.jsonl in the session's folder; Logfire; OTLP at traces.example:4318",
        ):
            assert wanted in shown
        assert "canary" not in shown
        # The trace is known by its id or address, and a destination that rejects it is marked.
        session.trace = Trace("0f3a")
        await until(lambda: "Trace     0f3a" in screen_text(app))
        session.trace = Trace("0f3a", "https://l.example/p")
        await until(lambda: "https://l.example/p?q=trace_id%3D%270f3a%27" in screen_text(app))
        session.trace = Trace("0f3a", problems={"collector": "it refused the key (401): check the headers"})
        await until(lambda: "✗ OTLP at traces.example:4318:" in screen_text(app))
        # The lines below come with the next layout.
        await until(lambda: "check the headers" in screen_text(app))
        assert "canary" not in screen_text(app)


async def test_the_tests_are_shown_as_they_end(tmp_path: Path) -> None:
    doctor = Doctor(*CHECKS)
    doctor.go.clear()
    async with connections(tmp_path, TOOLKIT, doctor=doctor) as (app, session, screen, pilot):
        assert "t tests each" in screen_text(app)
        await pilot.press("t")
        await until(lambda: "… testing" in screen_text(app) and "refused the key" in screen_text(app))
        assert "Python" not in screen_text(app)
        await pilot.press("t")
        assert "already running" in notices(app)
        doctor.go.set()
        await until(lambda: "A session can start." in screen_text(app))
        shown = screen_text(app)
        assert shown.index("Python") < shown.index("✗ Composio")
        assert "→ set a valid COMPOSIO_API_KEY" in shown
        assert "! Model" in shown
        assert "· Logfire" in shown
        assert doctor.asked == [app.settings]
        refused = checked("model", "Model", "failed", "it refuses the key", "check it", required=True)
        for checks, fails, wrong in (
            ((refused,), "", "✗ A session cannot start"), ((), "it ended \x1b[2Jtoo soon", "✗ It ended"),
        ):  # fmt: skip
            doctor.checks, doctor.fails = checks, fails
            await pilot.press("t")
            await until(lambda wrong=wrong: wrong in screen_text(app))  # type: ignore[misc]  # of this turn
            assert "testing" not in screen_text(app)
        assert len(doctor.asked) == 3
        # Closing the screen ends the tests.
        doctor.checks, doctor.ended = tuple(CHECKS), False
        doctor.go.clear()
        await pilot.press("t")
        await until(lambda: "… testing" in screen_text(app))
        await pilot.press("q")
        await until(lambda: app.screen is not screen and doctor.ended)
        session.bus.publish(McpStatus(servers=[COMPOSIO]))
        await pilot.pause()
        assert len(app.screen_stack) == 1


async def test_names_and_errors_of_others_are_shown_and_never_act(tmp_path: Path) -> None:
    nasty = "[/x][@click=app.quit]y[/]\x1b]52;c;aGk=\x07\u202e"
    server = McpServer(name=nasty, status=nasty, tools=1, tool_names=[nasty], error=nasty, last_error=nasty)
    doctor = Doctor(checked("x", nasty, "failed", nasty, nasty))
    async with connections(tmp_path, server, doctor=doctor) as (app, _, _, pilot):
        await pilot.press("t")
        await until(lambda: "A session can" in screen_text(app))
        shown = screen_text(app)
        assert "[@click=app.quit]" in shown
        assert not {"\x1b", "\x07", "\u202e"} & set(shown)


@looks(DARK)
async def test_the_connections(
    snap_compare: Compare, screen_compare: Compare, tmp_path: Path, monkeypatch: Patch, size: Size, theme: str
) -> None:
    key = "sk-ant-api03-0123456789"
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)
    given: dict[str, Any] = {"api_key": key, "model": "claude-sonnet-5", "theme": theme}
    doctor = Doctor(*CHECKS)
    async with connections(tmp_path, *SERVERS, size=size, doctor=doctor, **given) as (app, _, _, pilot):
        await pilot.press("down")
        await snap_compare(pilot)
        await pilot.resize_terminal(*SMALL)
        await screen_compare(pilot, "80x24")
        await pilot.resize_terminal(*MEDIUM)
        await pilot.press("t")
        await until(lambda: "A session can" in screen_text(app))
        await screen_compare(pilot, "tested")


async def test_checks_do_not_move_what_the_person_scrolled_to(tmp_path: Path) -> None:
    doctor = Doctor(*CHECKS)
    doctor.go.clear()
    async with connections(tmp_path, *SERVERS, size=(80, 24), doctor=doctor) as (_, _, screen, pilot):
        details = screen.query_one("#details")
        await pilot.press("t")
        await until(lambda: details.scroll_offset.y > 0)
        await pilot.press(*["pageup"] * 9)
        await until(lambda: details.scroll_offset.y == 0)
        doctor.go.set()
        await until(lambda: doctor.ended)
        await pilot.pause()
        await pilot.pause()
        assert details.scroll_offset.y == 0
