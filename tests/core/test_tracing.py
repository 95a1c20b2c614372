from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from core import events as ev
from core.background import in_loop
from core.observation import McpObservation, TextContent
from core.text import Redactor
from core.tracing import Tracer, trace_targets

START = datetime(2026, 11, 21, 5, 10, tzinfo=UTC)
SECRET = "hunter2hunter2"


def session() -> list[ev.Event]:
    def at(seconds: float) -> datetime:
        return START + timedelta(seconds=seconds)

    observation = McpObservation(
        tool_name="mcp__s__search",
        tool_use_id="t2",
        server="s",
        content=(TextContent("x" * 500),),
        error="it broke",
    )
    return [
        ev.SessionStarted(
            seq=1, at=at(0), session_id="session_x", workspace="/w", cwd="/", version="1", demo=True
        ),
        ev.QueryReceived(seq=2, at=at(1), query_id="q1", text=f"my session auth cookie is {SECRET}"),
        ev.QueryClassified(
            seq=3, at=at(1.5), query_id="q1", decision="COMPLEX", source="rule", raw_response="tools"
        ),
        ev.ToolCallStarted(
            seq=4, at=at(2), query_id="q1", tool_use_id="t1", name="Agent", input={"password": "letmein12"}
        ),
        ev.TextDelta(seq=5, at=at(2), query_id="q1", message_id="m", text="not traced"),
        ev.ToolCallStarted(
            seq=6, at=at(3), query_id="q1", tool_use_id="t2", name="mcp__s__search", parent_tool_use_id="t1"
        ),
        ev.ToolCallFinished(
            seq=7, at=at(4), tool_use_id="t2", status="error", observation=observation, duration_ms=750
        ),
        ev.ToolCallFinished(seq=8, at=at(5), tool_use_id="t1", status="success", duration_ms=3000),
        ev.QueryFinished(
            seq=9, at=at(6), query_id="q1", status="success", duration_ms=5000, turns=2, cost_usd=0.5
        ),
        ev.SessionFinished(seq=10, at=at(7), reason="quit", queries=1, tool_calls=2),
    ]


def make(tmp_path: Path, **more: Any) -> Tracer:
    return Tracer(tmp_path / "spans.jsonl", Redactor([SECRET]), state_dir=tmp_path / "state", **more)


def spans(tmp_path: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for line in (tmp_path / "spans.jsonl").read_text().splitlines()]
    return {span["attributes"].get("tool_id", span["name"]): span for span in found}


def nanoseconds(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


async def test_a_session_becomes_a_tree_of_spans_with_the_times_of_its_events(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tracer = make(tmp_path)
    events = session()
    for event in events[:5]:
        tracer(event)
    tracer.start()
    tracer.start()
    for event in events[5:]:
        tracer(event)
    assert await tracer.close(30)
    assert await tracer.close()
    found = spans(tmp_path)
    assert set(found) == {"session", "query", "t1", "t2"}
    assert {span["context"]["trace_id"] for span in found.values()} == {"0x" + tracer.trace_id}

    parents = {"session": None, "query": "session", "t1": "query", "t2": "t1"}
    for name, parent in parents.items():
        wanted = found[parent]["context"]["span_id"] if parent else None
        assert found[name]["parent_id"] == wanted
    times = {name: (nanoseconds(s["start_time"]), nanoseconds(s["end_time"])) for name, s in found.items()}
    assert times["query"] == (START + timedelta(seconds=1), START + timedelta(seconds=6))
    assert times["t2"] == (START + timedelta(seconds=3), START + timedelta(seconds=3.75))
    assert times["session"][1] == START + timedelta(seconds=7)

    assert found["session"]["attributes"]["session_id"] == "session_x"
    assert found["query"]["attributes"]["text"] == "my session auth cookie is [redacted]"
    classified = found["query"]["events"][0]
    assert classified["name"] == "query_classification"
    assert classified["attributes"]["decision"] == "COMPLEX"
    call = found["t2"]["attributes"]
    assert (call["tool_name"], call["is_error"], call["content_size"]) == ("mcp__s__search", True, 500)
    assert found["t2"]["status"]["status_code"] == "ERROR"
    assert found["t1"]["attributes"]["is_error"] is False

    raw = (tmp_path / "spans.jsonl").read_text()
    assert SECRET not in raw
    assert "letmein12" not in raw
    assert os.uname().nodename not in raw
    assert stat.S_IMODE((tmp_path / "spans.jsonl").stat().st_mode) == 0o600
    assert not tracer.exporting
    assert capfd.readouterr() == ("", "")


async def test_what_is_open_at_the_end_is_ended_and_kept(tmp_path: Path) -> None:
    tracer = make(tmp_path)
    for event in session()[:6]:
        tracer(event)
    assert await tracer.close(30)
    found = spans(tmp_path)
    assert set(found) == {"session", "query", "t1", "t2"}
    assert found["t2"]["attributes"]["status"] == "cancelled"


async def test_a_failure_is_logged_and_never_raised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "spans.jsonl").mkdir()
    failures: asyncio.Queue[Exception] = asyncio.Queue()
    tracer = make(tmp_path, token="not-a-token", on_failure=in_loop(failures.put_nowait))
    with caplog.at_level(logging.ERROR):
        tracer.start()
        assert isinstance(await asyncio.wait_for(failures.get(), 30), OSError)
        assert await tracer.close(30)
    for event in session():
        tracer(event)
    assert tracer.failed
    assert not tracer.exporting
    assert "the session goes on without it" in caplog.text


async def test_an_event_that_cannot_be_traced_does_not_end_tracing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tracer = make(tmp_path)
    events = session()
    tracer(events[0])
    tracer(ev.ToolCallStarted(query_id="q1", tool_use_id=["unhashable"], name="n"))  # type: ignore[arg-type]  # on purpose
    for event in events[1:]:
        tracer(event)
    with caplog.at_level(logging.ERROR):
        assert await tracer.close(30)
    assert "tool_call_started could not be traced" in caplog.text
    assert set(spans(tmp_path)) == {"session", "query", "t1", "t2"}


def test_the_subscriber_imports_nothing_heavy() -> None:
    script = (
        "import sys, core.tracing\nassert not {'logfire', 'opentelemetry', 'pydantic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture
def collector() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


_SCRIPT = """
import asyncio, sys
from pathlib import Path
from core.text import Redactor
from core.tracing import Tracer
from tests.core.test_tracing import session
async def main():
    folder = Path(sys.argv[1])
    tracer = Tracer(folder / "spans.jsonl", Redactor(), state_dir=folder / "state", token=sys.argv[2] or None)
    tracer.start()
    for event in session():
        tracer(event)
    assert await tracer.close(30)
asyncio.run(main())
"""


@pytest.mark.parametrize("token", ["", "pylf_v1_local_0123456789abcdef"])
def test_spans_leave_the_machine_only_with_a_token(
    tmp_path: Path, collector: tuple[str, list[str]], token: str
) -> None:
    url, asked = collector
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "OTEL_"))}
    # A token in the environment that the settings do not pass on counts for nothing.
    environ |= {
        "LOGFIRE_BASE_URL": url,
        "LOGFIRE_TOKEN": "pylf_v1_local_fedcba9876543210",
        "NO_PROXY": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path), token],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len(spans(tmp_path)) == 4
    assert ("/v1/traces" in asked) == bool(token)
    if not token:
        assert asked == []
    assert list(Path.cwd().glob(".logfire")) == []


@pytest.mark.parametrize(
    ("token", "environ", "others"),
    [
        (None, {}, []),
        ("t", {}, ["Logfire"]),
        ("t", {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://u:s@a.example:43/x"}, ["Logfire", "OTLP at a.example:43"]),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://[::1"}, ["OTLP at an address that cannot be read"]),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, []),
    ],
)  # fmt: skip
def test_where_spans_go_is_told(token: str | None, environ: dict[str, str], others: list[str]) -> None:
    assert trace_targets(token=token, environ=environ) == ["spans.jsonl in the session's folder", *others]
