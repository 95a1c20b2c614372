"""A past session that is resumed: with the real agent, and a model that shows what it was sent."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Finished, command, model_environment, program, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import terminal
from tests.journals import read_journal
from tests.waiting import wait_until
from ua_tui.core.events import types as ev
from ua_tui.core.storage.queue_file import QUEUE_FILE
from ua_tui.core.storage.workspace import CONVERSATION

LIST = "mcp__local_toolkit__list_directory"
FIRST, SECOND, THIRD = "Remember the word heliotrope", "Which word was it?", "Was there a word?"


class Model:
    """Lists a folder for the first query, answers with the number of the request, and keeps all it was sent."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []
        self.prompts: list[str] = []
        self.chosen: list[tuple[str, bool]] = []

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        if not body.get("tools"):
            return (Text("COMPLEX"),)
        self.sent.append(body["messages"])
        self.prompts.append(json.dumps(body["system"]))
        self.chosen.append((body["model"], '"effort": "low"' in json.dumps(body)))
        if results == 0:
            return Text("I look."), Use(LIST, {"path": ""})
        return (Text(f"Answer {len(self.sent)}."),)


def text_of(messages: list[Any], role: str) -> str:
    return json.dumps([message["content"] for message in messages if message["role"] == role])


@pytest.mark.slow
def test_the_model_is_sent_the_earlier_turns_as_long_as_there_is_its_conversation(tmp_path: Path) -> None:
    model = Model()
    with scripted_model(model) as url:
        env = model_environment(tmp_path, url)
        first = run(tmp_path, "run", "--allow", LIST, FIRST, env=env)
        assert (first.code, first.stdout) == (0, "Answer 2.\n")
        before = (first.session / "journal.jsonl").read_bytes()
        (first.session / QUEUE_FILE).write_text('{"version": 1, "queries": ["never sent"]}')
        # A copy of it, for another user: each continues by itself.
        elsewhere = tmp_path / "elsewhere"
        shutil.copytree(tmp_path / "AGENT_RUN_WORKSPACES", elsewhere / "AGENT_RUN_WORKSPACES")
        theirs = model_environment(elsewhere, url)
        refused = run(elsewhere, "run", "--resume", "latest", SECOND, env=theirs)
        assert (refused.code, "not made by this program for this user" in refused.stderr) == (2, True)
        assert run(elsewhere, "trust", "adopt", "--yes", env=theirs).code == 0
        second = run(elsewhere, "run", "--resume", "latest", SECOND, env=theirs)
        assert (second.code, second.stdout) == (0, "Answer 3.\n"), second.stderr
        asked = model.sent[-1]
        assert FIRST in text_of(asked, "user")
        assert SECOND in text_of(asked, "user")
        assert "Answer 2." in text_of(asked, "assistant")
        assert LIST in text_of(asked, "assistant")
        assert "never sent" not in json.dumps(model.sent)
        assert json.dumps(str(second.session))[1:-1] in model.prompts[-1]
        assert second.session.name == first.session.name
        assert json.loads((second.session / QUEUE_FILE).read_text())["queries"] == ["never sent"]
        check_one_session_of_two(second, before)
        (copy,) = (first.session / CONVERSATION).glob("*.jsonl")
        assert SECOND not in copy.read_text()

        # Without its conversation it is resumed only with a new one.
        (transcript,) = tmp_path.glob(".local/state/ua-tui/agent/projects/*/*.jsonl")
        transcript.unlink()
        copy.unlink()
        refused = run(tmp_path, "run", "--resume", "latest", SECOND, env=env)
        assert (refused.code, refused.stdout) == (1, "")
        assert "was not found in" in refused.stderr
        assert "--fresh" in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert len(refused.of(ev.SessionStarted)) == 1
        fresh = run(tmp_path, "run", "--resume", "latest", "--allow", LIST, "--fresh", THIRD, env=env)
        assert fresh.code == 0, fresh.stderr
        assert FIRST not in json.dumps(model.sent[-1])

        # From then on that one is resumed: from the list, in which the session is found and read.
        (row,) = json.loads(command(tmp_path, "sessions", "--json").stdout)
        assert (row["state"], row["query"], row["tool_calls"]) == ("finished", FIRST, 2)
        with terminal(tmp_path, "sessions", columns=120, rows=40, env=env) as screen:
            screen.wait_for(FIRST, "1 session", "finished")
            screen.type("/answer 2")
            screen.wait_for("answer 2", "1 of 1 session", lambda text: "searching" not in text)
            screen.type("\r\r")
            screen.wait_for("Answer 2.", "Read-only: past session", "past session · finished")
            screen.type("\x11")
            screen.wait_for("Sessions", "1 of 1 session")
            screen.type("r")
            screen.wait_for("Answer 5.", "Resumed", "● ready")
            screen.type("And again\r")
            screen.wait_for("And again", "Answer 6.", "● ready", "^Q back")
            screen.type("\x11")
            screen.wait_for("Sessions", "1 of 1 session")
            # A session that was read first leads back to the list, too.
            screen.type("\r")
            screen.wait_for("Answer 6.", "Read-only: past session")
            screen.type("\x12")
            screen.wait_for("Resumed", "● ready", "^Q back")
            screen.type("\x11")
            screen.wait_for("Sessions", "1 of 1 session")
            screen.quit()
    assert THIRD in text_of(model.sent[-1], "user")
    assert "Answer 5." in text_of(model.sent[-1], "assistant")
    assert FIRST not in json.dumps(model.sent[-1])
    ids = [each.provider_session_id for each in fresh.of(ev.SessionStarted)]
    assert ids[0] != ids[1] == ids[2]


def check_one_session_of_two(second: Finished, before: bytes) -> None:
    """What the files of a session say that began as `before` and was resumed once."""
    assert (second.session / "journal.jsonl").read_bytes().startswith(before)
    events = second.events
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    begun = second.of(ev.SessionStarted)
    assert [each.resumed_from for each in begun] == [None, second.session.name]
    assert [each.queries_before for each in begun] == [0, 1]
    assert f"Session {second.session.name} resumed after 1 query in {second.session}" in second.stderr
    assert begun[0].provider_session_id == begun[1].provider_session_id
    assert [(e.query_id, e.text) for e in second.of(ev.QueryReceived)] == [("q1", FIRST), ("q2", SECOND)]
    ends = second.of(ev.SessionFinished)
    assert [(each.queries, each.tool_calls) for each in ends] == [(1, 1), (2, 1)]
    costs = [each.cost_usd for each in second.of(ev.QueryFinished)]
    # What was spent before is not counted again.
    assert 0 < costs[1] < costs[0]
    assert ends[1].cost_usd == pytest.approx(sum(costs))
    assert ends[1].duration_ms > ends[0].duration_ms
    trace = second.json("trace.json")
    assert [each["query"] for each in trace["iterations"]] == [FIRST, SECOND]
    assert trace["session_info"]["timestamp"] == begun[0].at.isoformat()
    transcript = (second.session / "transcript.md").read_text(encoding="utf-8")
    assert transcript.index("Answer 2.") < transcript.index("Answer 3.")


@pytest.mark.smoke
def test_a_session_that_was_killed_is_ended_where_it_was_and_continues(tmp_path: Path) -> None:
    model, waiting = Model(), list[int]()

    def reply(body: dict[str, Any], results: int) -> tuple[Block, ...]:
        if body.get("tools") and FIRST in json.dumps(body["messages"]) and len(waiting) < 2:
            waiting.append(results)
            if results:
                # The program is killed before it gets an answer.
                threading.Event().wait()
        return model(body, results)

    with scripted_model(reply) as url:
        env = model_environment(tmp_path, url)
        with subprocess.Popen([program(), "run", "--allow", LIST, FIRST], cwd=tmp_path, env=env) as child:
            try:
                wait_until(lambda: len(waiting) >= 2)
                refused = run(tmp_path, "run", "--resume", "latest", SECOND, env=env)
                assert refused.code == 2
                assert "is running in another program" in refused.stderr
            finally:
                child.kill()
        # The session's folder has the conversation, too.
        shutil.rmtree(tmp_path / ".local" / "state" / "ua-tui" / "agent")
        before = read_journal(refused.session / "journal.jsonl").events
        assert not [event for event in before if isinstance(event, ev.QueryFinished)]
        resumed = run(tmp_path, "run", "--resume", "latest", SECOND, env=env)
    assert resumed.code == 0, resumed.stderr
    assert FIRST in text_of(model.sent[-1], "user")
    ended: dict[str, list[str]] = {}
    for event in resumed.of(ev.QueryFinished):
        ended.setdefault(event.query_id, []).append(event.status)
    assert ended == {"q1": ["interrupted"], "q2": ["success"]}
    with terminal(tmp_path, "open", "latest", columns=160, rows=45, env=env) as screen:
        shown = screen.wait_for("Interrupted", "Resumed", SECOND)
        assert shown.index("Interrupted") < shown.index("Resumed")
        screen.quit()
    calls = [event.tool_use_id for event in resumed.of(ev.ToolCallStarted)]
    assert sorted(calls) == sorted(event.tool_use_id for event in resumed.of(ev.ToolCallFinished))


@pytest.mark.slow
def test_what_was_chosen_in_a_session_holds_when_it_is_resumed(tmp_path: Path) -> None:
    model = Model()
    with scripted_model(model) as url:
        # A spending limit needs the price of a model that no agent knows.
        env = model_environment(tmp_path, url, UA_PRICES="gone-9=3/15")
        with terminal(tmp_path, FIRST, "--allow", LIST, columns=160, rows=45, env=env) as screen:
            screen.wait_for("Answer 2.", "● ready")
            screen.type("/model\r")
            screen.wait_for("Effort", "opus")
            screen.type("eo")
            screen.wait_for("Name of the model")
            # No agent lists it: the session is resumed with it all the same.
            screen.type("gone-9\r")
            screen.wait_for("The next query uses gone-9 (effort low)")
            screen.type("/budget\r")
            screen.wait_for("No spending limit.")
            screen.type("r")
            screen.wait_for("in US dollars")
            screen.type("0.25\r")
            screen.wait_for("The spending limit is now $0.25")
            screen.quit()
        (folder,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
        last = read_journal(folder / "journal.jsonl").events[-1]
        lowered = {"event": "budget_raised", "seq": last.seq + 1, "at": "2026-11-21T12:00:00Z"}
        with (folder / "journal.jsonl").open("a") as journal:
            journal.write(json.dumps(lowered | {"spent_usd": 0.0, "limit_usd": 0.001}) + "\n")
        with terminal(tmp_path, "resume", "latest", columns=160, rows=45, env=env) as screen:
            screen.wait_for("Spending limit reached.")
            screen.press_until("r", lambda text: "in US dollars" in text)
            screen.type("\x15" + "0.5\r")
            screen.wait_for("Resumed with gone-9 (effort low)", "/$0.50", "● ready")
            # An `r` that came before the dialog could be read is in the prompt.
            screen.type("\x15/status\r")
            screen.wait_for("Effort", "low", "limit $0.50")
            screen.type("\x1b")
            screen.wait_for(lambda text: "Fallback" not in text)
            screen.type(SECOND + "\r")
            screen.wait_for("Answer 3.", "● ready")
            screen.quit()
    begun = [
        each for each in read_journal(folder / "journal.jsonl").events if isinstance(each, ev.SessionStarted)
    ]
    assert [(each.model, each.effort, each.max_cost_usd) for each in begun][1:] == [("gone-9", "low", 0.001)]
