from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.added_server import events_of
from tests.e2e.running import command
from tests.e2e.scripted_model import Block, Text, Use
from tests.e2e.serving import free_port, serving
from tests.waiting import wait_until
from ua_tui.core.events.types import ObserverFinished, ToolCallFinished
from ua_tui.core.web_reader import Blacklist

READER = "mcp__web_reader__webReader"
SITE = "https://papers.example"
KEY = "canary-0123456789abcdef"


class Model:
    """Asks for pages one after the other and keeps what it was told of each."""

    def __init__(self, base: Path, calls: Sequence[Use]) -> None:
        self._calls = calls
        self._blacklist = Blacklist(base / "AGENT_RUN_WORKSPACES")
        self.reported: list[str] = []

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Block]:
        if results:
            # What handlers add comes behind the result, and after a while a note of the agent, too.
            roles = [each["role"] for each in body["messages"]]
            last_call = len(roles) - 1 - roles[::-1].index("assistant")
            self.reported.append(json.dumps(body["messages"][last_call:]))
        # The observers run beside the agent: what follows counts on what they wrote.
        refused = any("/refused" in str(call.input) for call in self._calls[:results])
        wait_until(lambda: bool(self._blacklist.entries()) or not refused)
        return (self._calls[results],) if results < len(self._calls) else (Text("Done."),)


async def test_a_reader_that_fails_is_retried_struck_and_at_last_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("Z_AI_API_KEY", KEY)
    monkeypatch.setenv("UA_WEB_READER_URL", f"http://127.0.0.1:{port}/mcp")
    model = Model(
        tmp_path,
        [
            Use(READER, {"url": "https://other.example/slow"}),
            Use(READER, {"url": "https://other.example/fine"}),
            Use(READER, {"url": f"{SITE}/refused"}),
            Use(READER, {"url": f"{SITE}/fine"}),
            Use("mcp__local_toolkit__crawl_parallel", {"urls": [f"{SITE}/fine"]}),
        ],
    )
    # An address that nobody named would ask, once a page was read.
    query = f"Read {SITE}/fine, https://other.example/fine and {SITE}/refused"
    with serving("web_reader_server", port, str(port), KEY):
        events = await events_of(tmp_path, model, query, allow=())
    slow, fine, refused, denied, crawled = model.reported
    assert "try this page once more" in slow
    assert "What it says." in fine
    assert "rejected this address (1214)" in refused
    assert "ua-tui blacklist clear papers.example" in denied
    assert "blacklisted" in crawled
    statuses = [event.status for event in events if isinstance(event, ToolCallFinished)]
    assert statuses == ["error", "success", "error", "denied", "success"]
    notes = [event.note or "" for event in events if isinstance(event, ObserverFinished)]
    assert any("worth another try" in note for note in notes)
    assert any("papers.example is on the blacklist until" in note for note in notes)
    for args, code, said in (
        ((), 0, "papers.example  1       rejected the request (1214)"),
        (("clear", "papers.example"), 0, "cleared papers.example\n"),
        ((), 0, "nothing is on the blacklist\n"),
        (("clear",), 2, ""),
        (("clear", "papers.example"), 2, ""),
    ):
        done = await asyncio.to_thread(command, tmp_path, "blacklist", *args)
        assert (done.code, said in done.stdout) == (code, True)
    (workspace,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    files = [path for path in workspace.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
