"""Permission modes, plans, questions, and calls whose arguments the person changes: with the real agent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.live import live
from tests.e2e.running import model_environment, model_settings, run
from tests.e2e.scripted_model import Block, Text, Use, last_query, scripted_model
from tests.waiting import PATIENCE
from ua_tui.core.errors import SettingsError
from ua_tui.core.events import types as ev
from ua_tui.core.session.session import Session

PLAN = "# The plan\n\n1. Write `a.txt`."
WRITES = Use("mcp__local_toolkit__write_local_file", {"path": "a.txt", "content": "hello"})
OPTIONS = [{"label": "Blue", "description": "Calm."}, {"label": "Red", "description": "Loud."}]
QUESTION = {"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": OPTIONS}
ASKS = {"questions": [QUESTION]}
STEPS: dict[str, Sequence[Sequence[Block]]] = {
    "Write a file": (
        [Text("I write it."), WRITES],
        [Text(PLAN), Use("ExitPlanMode")],
        [Text("Revised."), Use("ExitPlanMode", {"plan": "# Another"})],
        [WRITES],
    ),
    "Ask me": (
        [Use("AskUserQuestion", ASKS)],
        [Use("Bash", {"command": "echo wrong > wrong.txt", "description": "Write"})],
    ),
    "Run it": ([Use("Bash", {"command": "touch b0"})], [Use("Bash", {"command": "touch b1"})]),
    "Run it again": ([Use("Bash", {"command": "touch b2"})],),
}


async def question(session: Session) -> ev.PermissionAsked:
    """Wait for the next question of the session."""
    asked: asyncio.Queue[ev.PermissionAsked] = asyncio.Queue()
    end = session.bus.subscribe(
        lambda event: asked.put_nowait(event) if isinstance(event, ev.PermissionAsked) else None
    )
    try:
        return await asyncio.wait_for(asked.get(), PATIENCE)
    finally:
        end()


async def test_plans_questions_changed_arguments_and_modes_in_one_session(tmp_path: Path) -> None:
    bodies: list[str] = []

    def reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
        bodies.append(json.dumps(body["messages"]))
        query, results = last_query(body, *STEPS)
        return STEPS[query][results] if results < len(STEPS[query]) else [Text(f"Done: {query}.")]

    with scripted_model(reply) as url:
        settings = model_settings(tmp_path, url, by_name=True, permission_mode="plan", extra_tools=("Bash",))
        async with live(settings, interactive=True) as here:
            session, folder = here.session, here.session.workspace.path

            # A plan is revised, then approved and carried out.
            session.submit("Write a file")
            asked = await question(session)
            assert (asked.tool_name, asked.input) == ("ExitPlanMode", {"plan": PLAN})
            assert not (folder / "a.txt").exists()
            session.answer_permission(asked.request_id, allow=False, reason="Add a step.")
            asked = await question(session)
            assert asked.input == {"plan": "# Another"}
            session.answer_permission(asked.request_id, allow=True)
            await session.wait_idle()
            assert session.permission_mode == "default"
            assert (folder / "a.txt").read_text() == "hello"
            statuses = [each.status for each in here.of(ev.ToolCallFinished)]
            assert statuses == ["denied", "denied", "success", "success"]
            # The model knows the mode, why it may not write, what to change, and that it may begin.
            said = (
                "The session is in plan mode",
                "only tools that read or search may run",
                "Add a step.",
                "approved",
            )
            for text, body in zip(said, bodies, strict=False):
                assert text in body

            # A question is answered, and a call runs with the arguments that the person changed.
            del bodies[:]
            session.submit("Ask me")
            asked = await question(session)
            assert asked.is_question
            answers = {**asked.input, "answers": {"Which colour?": "Blue"}}
            session.answer_permission(asked.request_id, allow=True, input=answers)
            asked = await question(session)
            changed = {**asked.input, "command": "echo right > right.txt"}
            session.answer_permission(asked.request_id, allow=True, input=changed)
            await session.wait_idle()
            assert ((folder / "right.txt").exists(), (folder / "wrong.txt").exists()) == (True, False)
            assert '\\"Which colour?\\"=\\"Blue\\"' in bodies[1]
            assert "echo right > right.txt" in bodies[2].split("The person changed the arguments")[1]
            answered = here.of(ev.PermissionAnswered)[-2:]
            assert answered[0].input == {**ASKS, "answers": {"Which colour?": "Blue"}}
            assert answered[1].changes == ["command: echo wrong > wrong.txt → echo right > right.txt"]

            # The mode changes while a call waits, and the agent learns it.
            del bodies[:]
            questions = len(here.of(ev.PermissionAsked))
            session.submit("Run it")
            await question(session)
            await session.set_permission_mode("plan")
            await session.wait_idle()
            assert len(here.of(ev.PermissionAsked)) == questions + 1
            assert [each.status for each in here.of(ev.ToolCallFinished)][-2:] == ["denied", "denied"]
            assert not list(folder.glob("b*"))
            assert "Plan mode is active" in bodies[1]
            answer = here.of(ev.PermissionAnswered)[-1]
            assert (answer.decision, answer.scope) == ("deny", "mode")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(os, "geteuid", lambda: 0)
                with pytest.raises(SettingsError, match="refused for root"):
                    await session.set_permission_mode("bypassPermissions")
                patch.setattr(os, "geteuid", lambda: 1000)
                await session.set_permission_mode("bypassPermissions")
            with pytest.raises(SettingsError, match="use default, acceptEdits, plan"):
                await session.set_permission_mode("yolo")  # type: ignore[arg-type]  # what a program may pass
            assert (await here.ask("Run it again")).text == "Done: Run it again."
            assert [each.name for each in folder.glob("b*")] == ["b2"]
            assert "Exited Plan Mode" in bodies[-1]
    changes = [(each.previous, each.mode, each.by) for each in here.of(ev.PermissionModeChanged)]
    assert changes[0] == ("plan", "default", "plan")
    assert [each[:2] for each in changes[1:]] == [("default", "plan"), ("plan", "bypassPermissions")]


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
    [call] = done.of(ev.ToolCallStarted)
    assert call.name == "ExitPlanMode"
