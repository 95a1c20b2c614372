"""The real program line by line: through pipes, and typed at in a real pseudo-terminal."""

from __future__ import annotations

import json
import re
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import DEADLINE, environment, model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import terminal
from tests.journals import read_journal
from ua_tui.core.events import types as ev

RESEARCH = "Research the latest AI chip news and write a comprehensive report"
MAIL = "Email the report to the team"
LIST = "mcp__local_toolkit__list_directory"
CEO = "Who is the CEO of Northwind Silicon?"
FRANCE = "What is the capital of France?"


def assert_plain(written: str) -> None:
    assert "\x1b" not in written
    assert "\r" not in written.replace("\r\n", "\n")
    assert "\b" not in written


def test_queries_and_numbers_from_a_pipe_and_the_session_is_resumed(tmp_path: Path) -> None:
    # A line that is no number is the next query, and no answer; the end of the pipe is a no.
    commands = (
        *("/mode plans", "/mode bypassPermissions", "/mode AcceptEdits", "/mode acceptEdits"),
        *("/mode", "/mdoe plan", "/", "/permissions"),
    )
    lines = ("", FRANCE, *commands, MAIL, "2", "2", MAIL)
    done = run(tmp_path, "--plain", "--demo", CEO, stdin="\n".join(lines))
    assert (done.code, done.stderr) == (0, "")
    assert_plain(done.stdout)
    assert "\a" not in done.stdout
    printed = done.stdout.splitlines()
    assert printed[0].startswith("Session session_")
    assert printed[1] == f"You: {CEO}"
    assert "Maretta" in done.stdout
    order = [
        next(number for number, line in enumerate(printed) if line.startswith(start))
        for start in (
            "Tool call SEARCH_WEB started: ",
            "Tool call SEARCH_WEB finished in ",
            "Done in ",
            f"You: {FRANCE}",
            "Agent: The capital of France is **Paris**",
        )
    ]
    assert order == sorted(order)
    assert re.fullmatch(r"\d+ queries, \d+ tool calls?, \d+ artifacts?, \$\d\.\d+, .*", printed[-2])
    assert printed[-1] == f"Session saved in {done.session}"
    rest = done.stdout.partition(f"You: {FRANCE}")[2]
    for said in (
        "“plans” is not a permission mode (use default, acceptEdits, plan",
        "--dangerously-skip-permissions",
        "The permission mode is already acceptEdits.",
        "There is no command /mdoe (did you mean /mode",
        "/mode: shows the permission modes",
        "Permission mode acceptEdits",
        "acceptEdits: edits files of the session, asks about the rest (current)",
        "allow COMPOSIO_REMOTE_* (from demo, never used)",
        "at this link, then come back: https://",
        "Answer: Yes, the agent continues",
        "Permission needed: Send this e-mail?",
        "recipient_email: team@northwindsilicon.example",
    ):
        assert said in rest
    assert [event.decision for event in done.of(ev.PermissionAnswered)] == ["allow", "deny"]

    more = run(tmp_path, "resume", "latest", "--plain", FRANCE)
    assert more.code == 0, more.stderr
    assert_plain(more.stdout)
    assert more.session == done.session
    assert [event.demo for event in more.of(ev.SessionStarted)] == [True, True]
    assert "Paris" in more.stdout
    assert {event.status for event in more.of(ev.QueryFinished)} == {"success"}


def test_a_query_that_fails_is_reported_and_reported_by_the_exit_code(tmp_path: Path) -> None:
    env = environment(tmp_path, ANTHROPIC_API_KEY="sk-none", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    env |= {"UA_CLASSIFIER": "off"}
    done = run(tmp_path, "--plain", "--max-turns", "1", env=env, stdin="/context\n/help\n")
    assert done.code == 0
    assert re.search(r"\nThe agent's own tools: [\d,]+ tokens\n", done.stdout)
    assert "/clear: the agent forgets the conversation" in done.stdout
    # Nothing was asked, so no session stays.
    assert done.sessions == []
    # A typo is not sent as a query, which would cost something.
    typo = run(tmp_path / "typo", "run", "/compct the tables", env=env)
    assert (typo.code, typo.stdout) == (2, "")
    assert "no command /compct (did you mean /compact" in typo.stderr
    assert typo.sessions == []


@pytest.mark.smoke
def test_ctrl_c_stops_the_query_and_twice_the_program(tmp_path: Path) -> None:
    never = threading.Event()

    def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
        if FRANCE in json.dumps(body["messages"]):
            return [Text("It is Paris.")]
        if results:
            never.wait(DEADLINE)
        return [Use(LIST, {"path": ""})]

    with scripted_model(reply) as url:
        env = model_environment(tmp_path, url, TERM="dumb", UA_NOTIFY="off")
        with terminal(tmp_path, "--plain", "--allow", LIST, columns=200, env=env) as screen:
            screen.wait_for("You: ")
            screen.type(RESEARCH + "\n")
            screen.wait_for("Tool call list_directory finished")
            screen.type("\x03")
            screen.wait_for(
                "Stopping the query.", "Interrupted after ", lambda text: text.rstrip().endswith("You:")
            )
            # It counts anew.
            screen.type("\x03")
            screen.wait_for("Press Ctrl+C again to quit.")
            screen.type(FRANCE + "\n")
            screen.wait_for("It is Paris.", "Done in ", lambda text: text.rstrip().endswith("You:"))
            screen.type("What is half\x03")
            screen.wait_for(lambda text: "again to quit." in text.partition("What is half")[2])
            screen.type("\x03")
            assert screen.end() == 130
            written = screen.output
        never.set()
    assert_plain(written)
    assert "\a" not in written
    assert "Traceback" not in written
    (folder,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    events = read_journal(folder / "journal.jsonl").events
    assert [e.status for e in events if isinstance(e, ev.QueryFinished)] == ["interrupted", "success"]
    assert isinstance(events[-1], ev.SessionFinished)


def test_an_end_at_once_leaves_the_interrupt_key_of_the_terminal(tmp_path: Path) -> None:
    env = environment(tmp_path, TERM="dumb")
    with terminal(tmp_path, "--plain", "--demo", columns=200, env=env) as screen:
        screen.wait_for("You: ")
        screen.type("\x03\x03\x03")
        screen.wait_until(lambda: not screen.read())
        assert "stopped before everything was saved" in screen.output
        assert termios.tcgetattr(screen.child.child_fd)[6][termios.VINTR] == b"\x03"
        assert screen.end() == 130


def test_a_dumb_terminal_gets_no_full_screen_but_one_line_that_says_how(tmp_path: Path) -> None:
    with terminal(tmp_path, "--demo", columns=200, env=environment(tmp_path, TERM="dumb")) as screen:
        assert screen.end() == 2
        written = screen.output
        assert_plain(written)
        assert written.count("\n") == 1
        assert "TERM is dumb" in written
        assert "ua-tui --plain" in written
    assert not (tmp_path / "AGENT_RUN_WORKSPACES").exists()
