"""What an MCP server asks the person for, with the real agent and a server of the `mcp` package."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.asking_server import PAGE
from tests.e2e.live import Live, live
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.journals import read_journal
from tests.waiting import until
from ua_tui.core.events import types as ev

SERVER = Path(__file__).with_name("asking_server.py")


def calls_a_tool(body: dict[str, Any], _results: int) -> Sequence[Block]:
    """Call the tools of the server that the query names."""
    last = body["messages"][-1]["content"]
    if isinstance(last, list) and any(block.get("type") == "tool_result" for block in last):
        return [Text("Done.")]
    tools = re.findall(r"Call ([\w ]+)\.", json.dumps(body["messages"]))[-1].split()
    return [Use(f"mcp__desk__{tool}") for tool in tools]


async def call(here: Live, *tools: str) -> ev.ElicitationAsked:
    """Have tools called; gives what their server asks."""
    before = len(here.of(ev.ElicitationAsked))
    here.session.submit(f"Call {' '.join(tools)}.")
    await until(lambda: len(here.of(ev.ElicitationAsked)) >= before + len(tools))
    found: ev.ElicitationAsked = here.of(ev.ElicitationAsked)[before]
    return found


async def result(here: Live) -> str:
    """What the last call gave."""
    await here.session.wait_idle()
    observation = here.of(ev.ToolCallFinished)[-1].observation
    return str(observation.error or observation.output)


async def test_a_server_asks_for_a_form_and_a_page_and_gets_what_the_person_answers(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "project").mkdir()
    monkeypatch.chdir(home / "project")
    config = home / ".config" / "ua-tui" / "config.toml"
    config.parent.mkdir(parents=True)
    command = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(SERVER)])}\nacts = 'here'\n"
    config.write_text(f"[mcp_servers.desk]\n{command}")
    with scripted_model(calls_a_tool) as url:
        settings = model_settings(home, url, allow=("mcp__*",))
        async with live(settings, interactive=True) as desk:
            session = desk.session
            asked = await call(desk, "booking")
            assert (asked.server, asked.message) == ("desk", "Which room may I book?")
            assert [(field.name, field.kind, field.required, field.secret) for field in asked.fields] == [
                ("city", "text", True, False),
                ("nights", "integer", False, False),
                ("breakfast", "boolean", False, False),
                ("room", "choice", False, False),
                ("extras", "choices", False, False),
                ("email", "text", False, False),
                ("password", "text", False, True),
            ]
            assert asked.tool_use_id == desk.of(ev.ToolCallStarted)[-1].tool_use_id
            values = {"city": "Oslo", "nights": 2, "extras": ["sauna"], "password": "tr0ub4dor&3xyz"}
            assert session.answer_elicitation(asked.request_id, "accept", values)
            assert "city='Oslo', nights=2" in await result(desk)
            assert not session.answer_elicitation(asked.request_id, "decline")
            given = desk.of(ev.ElicitationAnswered)[-1]
            # What is not given has its default.
            defaults = {"breakfast": False, "room": "single"}
            assert given.values == {**values, **defaults, "password": "[redacted]"}

            # Two requests at once wait beside each other.
            first = await call(desk, "pay", "booking")
            assert (first.mode, first.url) in (("url", PAGE), ("form", ""))
            for each in desk.of(ev.ElicitationAsked)[-2:]:
                session.answer_elicitation(each.request_id, "accept" if each.mode == "url" else "decline")
            await session.wait_idle()
            results = str([event.observation.output for event in desk.of(ev.ToolCallFinished)[-2:]])
            assert "action='accept', content=None" in results
            assert "DeclinedElicitation" in results

            # Whoever stops the query cancels the request.
            asked = await call(desk, "booking")
            await session.interrupt()
            await session.wait_idle()
            assert desk.of(ev.QueryFinished)[-1].status == "interrupted"
            last = desk.of(ev.ElicitationAnswered)[-1]
            assert (last.request_id, last.action, last.by) == (asked.request_id, "cancel", "interrupted")
    folder = session.workspace.path
    assert "pay.example.com/[redacted]" in (folder / "journal.jsonl").read_text()
    for path in ("journal.jsonl", "run.log", "transcript.md"):
        text = (folder / path).read_text()
        assert "tr0ub4dor" not in text
        assert PAGE not in text
    stored = [
        event
        for event in read_journal(folder / "journal.jsonl").events
        if isinstance(event, ev.ElicitationAsked)
    ]
    assert [event.fields for event in stored] == [event.fields for event in desk.of(ev.ElicitationAsked)]
