from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.bus import Bus
from core.events import types as ev
from core.observation import McpObservation, TextContent
from core.records.journal import DeltaJoiner, Journal, read_journal
from core.records.log import LogFile, SessionLog
from core.records.writer import DerivedFiles
from core.redaction.redactor import Redactor
from core.storage.workspace import Workspace
from core.telemetry.tracer import Tracer
from tests.waiting import PATIENCE

KNOWN = "known-value-0815"
LINK = "https://login.example/connect?state=linkcanary"
HOSTILE = "\x1b]52;c;evil\x07\x9b2J\u202e\u200b\r"


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A session that met secrets and hostile text everywhere, with every sink attached."""
    redactor = Redactor([KNOWN])
    workspace = Workspace.create(tmp_path, datetime(2026, 11, 21, tzinfo=UTC), redactor)
    bus = Bus()
    journal = Journal(workspace.path / "journal.jsonl", redactor)
    joiner = DeltaJoiner(journal.append)
    log = LogFile(workspace.path / "run.log", redactor)
    deriver = DerivedFiles(workspace)
    tracer = Tracer(workspace.path / "spans.jsonl", redactor, state_dir=tmp_path / "state")
    for subscriber in (joiner, SessionLog(log), deriver, tracer):
        bus.subscribe(subscriber)
    tracer.start()

    secrets = {
        "api_key": "apikeycanary",
        "headers": {"x-api-key": "headercanary", "Authorization": "Bearer bearercanary1"},
    }
    output = json.dumps({"text": f"sk-ant-tokencanary {KNOWN} {HOSTILE}", **secrets})
    observation = McpObservation(
        tool_name="n",
        tool_use_id="t",
        server="s",
        content=(TextContent(output),),
        error=f"failed for {KNOWN} {HOSTILE}",
    )
    for event in [
        ev.SessionStarted(session_id="s", workspace="w", cwd="/", version="1"),
        ev.QueryReceived(query_id="q", text=f"use {KNOWN} {HOSTILE}"),
        ev.QueryClassified(query_id="q", decision="COMPLEX", source="model", raw_response=KNOWN + HOSTILE),
        ev.ToolCallStarted(query_id="q", tool_use_id="t", name="n", input={"q": HOSTILE, **secrets}),
        ev.ToolCallFinished(tool_use_id="t", status="error", observation=observation),
        ev.AuthRequired(toolkit="mail", url=LINK),
        ev.TextDelta(query_id="q", message_id="m", text=f"open {LINK} "),
        ev.TextDelta(query_id="q", message_id="m", text=KNOWN + HOSTILE),
        ev.MessageFinished(query_id="q", message_id="m", text=f"open {LINK} {KNOWN}{HOSTILE}"),
        ev.ErrorRaised(where="test", message=KNOWN + HOSTILE, causes=[KNOWN]),
        ev.QueryFinished(
            query_id="q", status="error", error=KNOWN + HOSTILE, text=f"{LINK} {KNOWN}{HOSTILE}"
        ),
        ev.SessionFinished(reason="quit"),
    ]:
        bus.publish(event)
    journal.close()
    log.close()
    await deriver.drain()
    await tracer.close(PATIENCE)
    workspace.close()
    return workspace.path


NAMES = ("journal.jsonl", "run.log", "trace.json", "transcript.md", "summary.txt", "spans.jsonl")


async def test_no_sink_holds_a_secret_or_what_steers_a_terminal(folder: Path) -> None:
    for name in NAMES:
        raw = (folder / name).read_text()
        for secret in (KNOWN, "apikeycanary", "headercanary", "bearercanary1", "tokencanary", "linkcanary"):
            assert secret not in raw, (name, secret)
        assert not set(raw) & set("\x1b\x07\x9b\u202e\u200b\r"), name
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert read_journal(folder / "journal.jsonl").skipped == 0
    trace = json.loads((folder / "trace.json").read_text())
    assert trace["tool_results"][0]["is_error"] is True
    assert trace["iterations"][0]["needs_user_input"] is True
