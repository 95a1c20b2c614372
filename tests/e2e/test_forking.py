"""A fork of a session: with the real agent, and a model that shows what it was sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import command, model_environment, run
from tests.e2e.scripted_model import Block, Use, scripted_model
from tests.e2e.terminal import terminal
from tests.e2e.test_resuming import FIRST, LIST, SECOND, THIRD, Model, text_of
from tests.journals import read_journal
from ua_tui.core.events import types as ev

COMMAND = {"command": "touch sent.txt"}
HOME, END, ESCAPE, QUIT = "\x1b[H", "\x1b[F", "\x1b", "\x11"


class Acting(Model):
    """Runs a command for the second query, which acts outside as far as anybody knows."""

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        answer = super().__call__(body, results)
        last = next(each for each in reversed(body["messages"]) if each["role"] == "user")
        return (Use("Bash", COMMAND),) if SECOND in json.dumps(last) else answer


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_the_agent_of_a_fork_knows_what_was_said_up_to_there_and_nothing_after(tmp_path: Path) -> None:
    model = Acting()
    with scripted_model(model) as url:
        env = model_environment(tmp_path, url)
        first = run(tmp_path, "run", "--allow", LIST, FIRST, env=env)
        allowing = ("--tool", "Bash", "--allow", "Bash(touch *)")
        assert run(tmp_path, "run", "--resume", "latest", *allowing, SECOND, env=env).code == 0
        assert (first.session / "sent.txt").exists()
        assert run(tmp_path, "run", "--resume", "latest", THIRD, env=env).code == 0
        (original,) = first.sessions
        before, said = content_of(original), len(model.sent)

        # The same query on another model.
        other = "claude-haiku-4-5"
        again = run(tmp_path, "fork", original.name, "--at", "q2", "--model", other, *allowing, env=env)
        assert (again.code, again.stdout.splitlines()[0]) == (0, f"Answer {len(model.sent)}."), again.stderr
        assert "claude-haiku-4-5" in again.stdout.partition("\n\n")[2]
        (fork,) = {*again.sessions} - {original}
        assert model.chosen[-1][0] == other
        asked = model.sent[said]
        assert FIRST in text_of(asked, "user")
        assert text_of(asked, "user").count(SECOND) == 1
        assert "Answer 2." in text_of(asked, "assistant")
        assert all(word not in json.dumps(model.sent[said:]) for word in (THIRD, "Answer 3.", str(original)))
        assert content_of(original) == before
        # What the command did is not repeated, although a rule allows it: nobody is there to ask.
        assert "did the same before" in text_of(model.sent[-1], "user")
        assert not (fork / "sent.txt").exists()
        queries = [
            e.text for e in read_journal(fork / "journal.jsonl").events if isinstance(e, ev.QueryReceived)
        ]
        assert queries == [FIRST, SECOND]

        # On the screen: the prompt has the query, to be changed; the list shows the family.
        with terminal(tmp_path, "fork", original.name, "--at", "3", columns=120, rows=40, env=env) as screen:
            screen.wait_for("session is a fork", THIRD)
            screen.wait_for("● ready")
            screen.type(" Changed\r")
            screen.wait_for("Changed", f"Answer {said + 3}.", "● ready")
            screen.quit()
        assert f"{THIRD} Changed" in text_of(model.sent[-1], "user")
        # So does one from a replay, which is opened instead of the replay.
        with terminal(tmp_path, "replay", original.name, "--speed", "max", env=env) as screen:
            screen.wait_for("ended")
            screen.type("f")
            screen.wait_for("Fork before", THIRD)
            screen.press_until("y", lambda text: "Fork before" not in text)
            screen.wait_for("session is a fork", "● ready", THIRD)
            screen.quit()
        rows = json.loads(command(tmp_path, "sessions", "--json").stdout)
        assert [row["forked_from"] for row in rows] == [original.name] * 3 + [None]
        assert content_of(original) == before


@pytest.mark.slow
def test_a_replay_from_the_list_goes_to_a_query_and_forks_there(tmp_path: Path) -> None:
    with scripted_model(Model()) as url:
        env = model_environment(tmp_path, url)
        first = run(tmp_path, "run", "--allow", LIST, FIRST, env=env)
        assert run(tmp_path, "run", "--resume", "latest", "--allow", LIST, SECOND, env=env).code == 0
        (original,) = first.sessions
        before = content_of(original)
        with terminal(tmp_path, "sessions", env=env) as screen:
            screen.wait_for("p replay", FIRST)
            screen.type("p")
            screen.wait_for("REPLAY", "Space p")
            screen.type(END)
            screen.wait_for("■", "ended", SECOND)
            screen.type(HOME)
            screen.wait_for("‖", "Nothing has happened yet.")
            screen.type("}}")
            screen.wait_for(FIRST, SECOND, lambda text: "Answer 3." not in text)
            screen.type("f")
            screen.wait_for("Fork before", SECOND)
            screen.press_until("y", lambda text: "Fork before" not in text)
            # Only the prompt has the query.
            screen.wait_for("session is a fork", "● ready", FIRST, SECOND)
            screen.type(QUIT)
            screen.wait_for("p replay", "2 sessions")
            screen.type(ESCAPE)
            assert screen.end() == 0
        assert content_of(original) == before
