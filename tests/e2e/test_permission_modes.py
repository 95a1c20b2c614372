"""Permission modes that change in a session, and plans, with the real agent and a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.errors import SettingsError
from core.events.types import (
    Event,
    PermissionAnswered,
    PermissionAsked,
    PermissionModeChanged,
    QueryFinished,
    ToolCallFinished,
    ToolCallStarted,
)
from core.session.session import Session
from tests.e2e.running import model_environment, model_settings, run
from tests.e2e.scripted_model import Block, Reply, Text, Use, scripted_model
from tests.e2e.test_sessions import of
from tui.compose import compose_session

PLAN = "# The plan\n\n1. Write `a.txt`."
WRITE = "mcp__local_toolkit__write_local_file"
WRITES = Use(WRITE, {"path": "a.txt", "content": "hello"})


@asynccontextmanager
async def session_of(base: Path, reply: Reply, mode: str, events: list[Event]) -> AsyncIterator[Session]:
    with scripted_model(reply) as url:
        settings = model_settings(base, url, by_name=True, permission_mode=mode, extra_tools=("Bash",))
        session = await compose_session(settings, interactive=True, subscribers=(events.append,))
        try:
            await session.start()
            yield session
        finally:
            await session.close("finished")


async def question(session: Session) -> PermissionAsked:
    """Wait for the next question of the session."""
    asked: asyncio.Queue[PermissionAsked] = asyncio.Queue()
    end = session.bus.subscribe(
        lambda event: asked.put_nowait(event) if isinstance(event, PermissionAsked) else None
    )
    try:
        return await asyncio.wait_for(asked.get(), 60)
    finally:
        end()


async def test_a_plan_is_revised_then_approved_and_carried_out(tmp_path: Path) -> None:
    bodies: list[str] = []

    def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
        bodies.append(json.dumps(body["messages"]))
        match results:
            case 0:
                return [Text("I write it."), WRITES]
            case 1:
                return [Text(PLAN), Use("ExitPlanMode")]
            case 2:
                return [Text("Revised."), Use("ExitPlanMode", {"plan": "# Another"})]
            case 3:
                return [WRITES]
        return [Text("It is written.")]

    events: list[Event] = []
    async with session_of(tmp_path, reply, "plan", events) as session:
        session.submit("Write a file")
        asked = await question(session)
        assert (asked.tool_name, asked.input) == ("ExitPlanMode", {"plan": PLAN})
        assert not (session.workspace.path / "a.txt").exists()
        session.answer_permission(asked.request_id, allow=False, reason="Add a step.")
        asked = await question(session)
        assert asked.input == {"plan": "# Another"}
        session.answer_permission(asked.request_id, allow=True)
        await session.wait_idle()
        assert session.permission_mode == "default"
        assert (session.workspace.path / "a.txt").read_text() == "hello"
    [denied, kept, approved, written] = of(events, ToolCallFinished)
    assert [each.status for each in (denied, kept, approved, written)] == [
        "denied",
        "denied",
        "success",
        "success",
    ]
    # The model knows the mode, why it may not write, what to change, and that it may begin.
    assert "The session is in plan mode" in bodies[0]
    assert "only tools that read or search may run" in bodies[1]
    assert "Add a step." in bodies[2]
    assert "approved" in bodies[3]
    [changed] = of(events, PermissionModeChanged)
    assert (changed.previous, changed.mode, changed.by) == ("plan", "default", "plan")


async def test_the_mode_changes_while_a_call_waits_and_the_agent_learns_it(tmp_path: Path) -> None:
    bodies: list[str] = []

    def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
        bodies.append(json.dumps(body["messages"]))
        if results < (3 if "again" in bodies[-1] else 2):
            return [Use("Bash", {"command": f"touch b{results}"})]
        return [Text("Done.")]

    events: list[Event] = []
    async with session_of(tmp_path, reply, "default", events) as session:
        session.submit("Run it")
        await question(session)
        await session.set_permission_mode("plan")
        await session.wait_idle()
        assert len(of(events, PermissionAsked)) == 1
        assert [each.status for each in of(events, ToolCallFinished)] == ["denied", "denied"]
        assert not list(session.workspace.path.glob("b*"))
        assert "Plan mode is active" in bodies[1]
        [answered] = of(events, PermissionAnswered)
        assert (answered.decision, answered.scope) == ("deny", "mode")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: 0)
            with pytest.raises(SettingsError, match="refused for root"):
                await session.set_permission_mode("bypassPermissions")
            patch.setattr(os, "geteuid", lambda: 1000)
            await session.set_permission_mode("bypassPermissions")
        with pytest.raises(SettingsError, match="use default, acceptEdits, plan"):
            await session.set_permission_mode("yolo")  # type: ignore[arg-type]  # what a program may pass
        session.submit("Run it again")
        await session.wait_idle()
        assert of(events, QueryFinished)[-1].text == "Done."
        assert [each.name for each in session.workspace.path.glob("b*")] == ["b2"]
        assert "Exited Plan Mode" in bodies[-1]
    changes = [(each.previous, each.mode) for each in of(events, PermissionModeChanged)]
    assert changes == [("default", "plan"), ("plan", "bypassPermissions")]


def test_without_a_screen_the_plan_is_the_answer_and_nothing_is_done(tmp_path: Path) -> None:
    requests: list[int] = []

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        requests.append(results)
        return [Text("I have a plan."), Use("ExitPlanMode", {"plan": PLAN})] if not results else [WRITES]

    with scripted_model(reply) as url:
        env = model_environment(tmp_path, url)
        done = run(tmp_path, "run", "--permission-mode", "plan", "Write a file", env=env)
    assert (done.code, done.stdout) == (0, PLAN + "\n")
    assert requests == [0]
    assert not (done.session / "a.txt").exists()
    [call] = done.of(ToolCallStarted)
    assert call.name == "ExitPlanMode"
