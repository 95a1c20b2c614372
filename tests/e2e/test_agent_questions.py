"""Questions of the agent, and calls whose arguments the person changes, with the real agent and a scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.events.types import Event, PermissionAnswered, QueryFinished
from tests.e2e.scripted_model import Block, Text, Use
from tests.e2e.test_permission_modes import question, session_of
from tests.e2e.test_sessions import of

ASKS = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [
                {"label": "Blue", "description": "Calm."},
                {"label": "Red", "description": "Loud."},
            ],
        }
    ]
}
WRITES = Use("Bash", {"command": "echo wrong > a.txt", "description": "Write"})


async def test_a_question_is_answered_and_a_call_runs_with_the_arguments_that_the_person_changed(
    tmp_path: Path,
) -> None:
    bodies: list[str] = []

    def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
        bodies.append(json.dumps(body["messages"]))
        blocks: list[Sequence[Block]] = [[Use("AskUserQuestion", ASKS)], [WRITES], [Text("Done.")]]
        return blocks[results]

    events: list[Event] = []
    async with session_of(tmp_path, reply, "default", events) as session:
        session.submit("go")
        asked = await question(session)
        assert asked.is_question
        session.answer_permission(
            asked.request_id, allow=True, input={**asked.input, "answers": {"Which colour?": "Blue"}}
        )
        asked = await question(session)
        changed = {**asked.input, "command": "echo right > b.txt"}
        session.answer_permission(asked.request_id, allow=True, input=changed)
        await session.wait_idle()
        files = {path.name for path in session.workspace.path.iterdir()}
    assert of(events, QueryFinished)[-1].text == "Done."
    assert '\\"Which colour?\\"=\\"Blue\\"' in bodies[1]
    assert "b.txt" in files
    assert "a.txt" not in files
    assert "The person changed the arguments" in bodies[2]
    assert "echo right > b.txt" in bodies[2].split("The person changed")[1]
    answered = of(events, PermissionAnswered)
    assert answered[0].input == {**ASKS, "answers": {"Which colour?": "Blue"}}
    assert answered[1].changes == ["command: echo wrong > a.txt → echo right > b.txt"]
