from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.events.types import (
    AuthFinished,
    AuthRequired,
    ErrorRaised,
    Event,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    ToolCallFinished,
    ToolCallStarted,
)
from core.session.session import Session, SessionState
from core.settings.loading import load_settings
from tests.waiting import PATIENCE, until
from tui.compose import compose_session

MAIL = "Email the report to the team"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "COMPOSIO_", "UA_", "LOGFIRE_", "XDG_")):
            monkeypatch.delenv(name)


@asynccontextmanager
async def demo_session(
    base: Path, events: list[Event], *, interactive: bool = True, **overrides: Any
) -> AsyncIterator[Session]:
    """A real demo session, started; everything it publishes is appended to `events`."""
    settings = load_settings(
        {"demo": True, "workspace_base": base, "demo_pace": 0.0, **overrides}, environ={}, cwd=base
    )
    session = await compose_session(settings, interactive=interactive, subscribers=(events.append,))
    try:
        await session.start()
        yield session
    finally:
        await session.close("test")


async def ask(session: Session, text: str) -> None:
    session.submit(text)
    await session.wait_idle()


def of(events: list[Event], *kinds: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def answering(session: Session, *, allow: bool, scope: str = "once") -> Callable[[Event], None]:
    def answer(event: Event) -> None:
        if isinstance(event, PermissionAsked):
            session.answer_permission(event.request_id, allow=allow, scope=scope, reason="Not today.")

    return answer


async def test_mail_is_sent_only_after_link_and_permission(tmp_path: Path) -> None:
    events: list[Event] = []
    async with demo_session(tmp_path, events) as session:
        session.bus.subscribe(lambda e: loop_soon(answering(session, allow=True, scope="session"), e))
        await ask(session, MAIL)
        assert len(of(events, AuthRequired)) == 1
        assert session.pending_auth is not None
        session.finish_auth("completed")
        await session.wait_idle()
    assert [e.outcome for e in of(events, AuthFinished)] == ["completed"]
    (asked,) = of(events, PermissionAsked)
    assert asked.subjects == ["GMAIL_SEND_EMAIL"]
    (answered,) = of(events, PermissionAnswered)
    assert (answered.decision, answered.scope) == ("allow", "once")
    assert "needs an argument that says where it may go" in answered.reason
    assert [each.split("=")[0] for each in asked.proposed] == ["GMAIL_SEND_EMAIL(recipient_email"]
    ended = {e.tool_use_id: e.status for e in of(events, ToolCallFinished)}
    assert ended[asked.tool_use_id] == "success"
    assert [e.text for e in of(events, QueryReceived)][1].startswith("The authentication is complete")


def loop_soon(answer: Callable[[Event], None], event: Event) -> None:
    """Answer after the asker has begun to wait, as a person would."""
    asyncio.get_running_loop().call_soon(answer, event)


async def test_headless_says_which_option_would_have_allowed_it(tmp_path: Path) -> None:
    events: list[Event] = []
    async with demo_session(tmp_path, events, interactive=False) as session:
        await ask(session, MAIL)
        session.finish_auth("completed")
        await session.wait_idle()
    (answered,) = of(events, PermissionAnswered)
    assert (answered.decision, answered.scope) == ("deny", "headless")
    assert "--allow 'GMAIL_SEND_EMAIL(recipient_email=" in answered.reason


async def test_an_allow_pattern_on_the_inner_tool_is_enough(tmp_path: Path) -> None:
    events: list[Event] = []
    async with demo_session(tmp_path, events, interactive=False, allow=("GMAIL_SEND_*",)) as session:
        await ask(session, MAIL)
        session.finish_auth("completed")
        await session.wait_idle()
    assert not of(events, PermissionAsked)
    assert any("GMAIL_SEND_EMAIL" in json.dumps(e.input) for e in of(events, ToolCallStarted))
    assert all(e.status == "success" for e in of(events, ToolCallFinished))


def children(pid: int) -> list[tuple[int, str]]:
    """The direct children of a process, with their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_text().replace("\0", " ")
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and int(fields[1]) == pid:
            found.append((int(entry.name), command))
    return found


async def test_the_conversation_continues_after_the_agent_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also: no folder of the user is imported, and no key is on a command line."""
    planted = tmp_path / "core"
    planted.mkdir()
    (planted / "__init__.py").write_text("import pathlib; pathlib.Path('imported').touch()\n")
    monkeypatch.chdir(tmp_path)
    events: list[Event] = []
    async with demo_session(tmp_path, events) as session:
        await ask(session, "What is the capital of France?")
        lines = commands_below(os.getpid())
        (agent,) = [pid for pid, command in children(os.getpid()) if "_bundled/claude" in command]
        failed = asyncio.Event()
        session.bus.subscribe(lambda e: failed.set() if isinstance(e, ErrorRaised) else None)
        os.kill(agent, signal.SIGKILL)
        assert await asyncio.wait_for(failed.wait(), PATIENCE)
        states = [session.state]
        await session.restart()
        states.append(session.state)
        await ask(session, "Who is the CEO of Northwind Silicon?")
    assert [e.status for e in of(events, QueryFinished)] == ["success", "success"]
    assert [e.text for e in of(events, QueryReceived)] == [
        "What is the capital of France?",
        "Who is the CEO of Northwind Silicon?",
    ]
    assert states == [SessionState.FAILED, SessionState.IDLE]
    (error,) = of(events, ErrorRaised)
    assert "SIGKILL" in error.message
    assert "imported" not in files_below(tmp_path)
    assert len(lines) >= 3
    assert not any("demo-key-of-no-value" in line or "x-api-key" in line for line in lines)


def files_below(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


def commands_below(pid: int) -> list[str]:
    """The command lines of all that a process started."""
    lines, waiting = list[str](), [pid]
    while waiting:
        found = children(waiting.pop())
        lines += [command for _, command in found]
        waiting += [pid for pid, _ in found]
    return lines


async def test_closing_while_the_agent_connects_ends_everything_once(tmp_path: Path) -> None:
    events: list[Event] = []
    settings = load_settings(
        {"demo": True, "workspace_base": tmp_path, "demo_pace": 0.0}, environ={}, cwd=tmp_path
    )
    session = await compose_session(settings, interactive=True, subscribers=(events.append,))
    starting = asyncio.create_task(session.start())
    session.submit("What is the capital of France?")
    await until(lambda: any("_bundled/claude" in command for _, command in children(os.getpid())))
    await session.close("test")
    await starting
    assert [event.event_name for event in events].count("session_finished") == 1
    assert events[-1].event_name == "session_finished"
    assert session.state is SessionState.CLOSED
    assert not [
        command for _, command in children(os.getpid()) if "claude" in command or "core.demo" in command
    ]
