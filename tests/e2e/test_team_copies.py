"""Sessions that are copied to a team's database: with the real agent, killed, and resumed on another machine."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.e2e.running import DEADLINE, model_environment, model_settings, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.postgres_server import Database
from tests.waiting import until, until_in_thread
from ua_tui.core.events.types import ErrorRaised, Event
from ua_tui.core.team.records import SessionId
from ua_tui.tui.compose import compose_session

LIST = "mcp__local_toolkit__list_directory"
FIRST, SECOND = "Remember the word heliotrope", "Which word was it?"


class Model:
    """Lists a folder for each query; what comes after the first list waits for `may_answer`."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.may_answer = threading.Event()

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        self.sent.append(body["messages"])
        if results == 0:
            return Text("I look."), Use(LIST, {"path": ""})
        self.may_answer.wait(DEADLINE)
        return (Text("It was heliotrope."),)


def test_a_database_that_cannot_be_reached_changes_nothing_but_a_message(tmp_path: Path) -> None:
    model = Model()
    model.may_answer.set()
    with scripted_model(model) as url:
        env = model_environment(tmp_path, url, UA_TEAM="postgresql://nobody@127.0.0.1:1/team")
        done = run(tmp_path, "run", "--allow", LIST, FIRST, env=env)
    assert (done.code, done.stdout) == (0, "It was heliotrope.\n"), done.stderr
    messages = [each.message for each in done.of(ErrorRaised) if each.where == "team"]
    assert "connection refused" in messages[0]
    assert "could not be copied to the team's database" in messages[1]
    assert len(messages) == 2
    assert "Traceback" not in done.stderr


async def test_a_job_that_another_worker_continues_ends(tmp_path: Path, team_database: Database) -> None:
    model = Model()
    events: list[Event] = []
    with scripted_model(model) as url:
        settings = model_settings(tmp_path, url, team=team_database.url, allow=(LIST,))
        identity = SessionId(id="job-1", attempt=4)
        # Interactive, as a job is that may ask the team.
        session = await compose_session(
            settings, interactive=True, subscribers=(events.append,), team=identity
        )
        try:
            await session.start()
            session.submit(FIRST)
            begun = "SELECT 1 FROM piece WHERE position('tool_call_started'::bytea IN data) > 0"
            await until_in_thread(lambda: team_database.execute(begun), DEADLINE)
            team_database.execute("UPDATE session SET attempt = 5")
            await until(lambda: not session.workspace.locked, DEADLINE)
            assert session.state == "closed"
        finally:
            model.may_answer.set()
            await session.close("test")
    assert any(isinstance(each, ErrorRaised) and "another program" in each.message for each in events)
    assert team_database.execute("SELECT attempt, state FROM session") == [(5, "running")]


async def test_the_demo_is_not_copied(tmp_path: Path, team_database: Database) -> None:
    settings = model_settings(tmp_path, "http://127.0.0.1:9", team=team_database.url, demo=True)
    session = await compose_session(settings, interactive=False)
    await session.close("test")
    assert team_database.execute("SELECT count(*) FROM session") == [(0,)]
    assert not (session.workspace.path / "team.json").exists()
