from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from tests.collector import Collector, collector
from tests.core.cases import cases_of
from tests.core.telemetry import recorded
from tests.paths import PROJECT
from tests.waiting import PATIENCE, until
from ua_tui.core.concurrency.threads import in_loop
from ua_tui.core.errors import Advice
from ua_tui.core.events import types as ev
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.telemetry.http import ServiceRequest
from ua_tui.core.telemetry.tracer import Trace, Tracer, trace_targets

CASES = cases_of(__file__)

START = datetime(2026, 11, 21, 5, 10, tzinfo=UTC)
SECRET = "hunter2hunter2"


def session() -> list[ev.Event]:
    """A query with a call within a call, of which one fails."""
    return recorded("session.jsonl")


def make(tmp_path: Path, **more: Any) -> Tracer:
    return Tracer(tmp_path / "spans.jsonl", Redactor([SECRET]), state_dir=tmp_path / "state", **more)


Exporting = Callable[..., Tracer]


@pytest.fixture
def exporting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exporting:
    """Makes a tracer that exports to a collector at an address, or to what the environment says."""
    # The exporter would try again for long, if it did.
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")

    def exporting(url: str = "", token: str | None = None, **more: Any) -> Tracer:
        if url:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        return make(tmp_path, exports=Exports.of(token=token, environ=os.environ), token=token, **more)

    return exporting


def spans(tmp_path: Path) -> dict[str, dict[str, Any]]:
    found = [json.loads(line) for line in (tmp_path / "spans.jsonl").read_text().splitlines()]
    named = {}
    for span in found:
        name, reported = span["name"], span["attributes"]
        if name in {"tool_call", "tool_result"}:
            name = reported["tool_id"] if name == "tool_call" else f"{name} {reported['tool_id']}"
        elif name == "reasoning" and name in named:
            name = f"{name} {reported['message_id']}"
        elif name == "mcp.request":
            name = f"{name} {reported['tool']}"
        elif name == "httpx.request":
            name = reported.get("logfire.msg", name)
        assert name not in named
        named[name] = span
    return named


async def test_a_session_is_a_tree_of_spans(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tracer = make(tmp_path)
    events = session()
    for event in events[:5]:
        tracer(event)
    tracer.start()
    tracer.start()
    for event in events[5:]:
        tracer(event)
    assert await tracer.close(PATIENCE)
    assert await tracer.close()
    found = spans(tmp_path)
    assert {span["context"]["trace_id"] for span in found.values()} == {"0x" + tracer.trace_id}
    expected = json.loads(Path(__file__).with_name("session.json").read_text())
    ids = {span["context"]["span_id"]: name for name, span in found.items()}
    assert {name: ids.get(span["parent_id"]) for name, span in found.items()} == expected["parents"]
    for name, attributes in expected["attributes"].items():
        assert {key: found[name]["attributes"][key] for key in attributes} == attributes, name

    def seconds(name: str) -> list[float]:
        times = (datetime.fromisoformat(found[name][key]) for key in ("start_time", "end_time"))
        return [(time - START).total_seconds() for time in times]

    times = {name: seconds(name) for name in ("query", "t2", "session", "observer_artifact_saved")}
    assert times == {
        "query": [1, 6], "t2": [3, 3.75], "session": [0, 7], "observer_artifact_saved": [4.5, 4.5],
    }  # fmt: skip
    assert [seconds(f"conversation_iteration_{number}") for number in (1, 2)] == [[1, 5], [5, 6]]
    assert found["t2"]["status"]["status_code"] == "ERROR"
    raw = (tmp_path / "spans.jsonl").read_text()
    assert not [text for text in (SECRET, "letmein12", os.uname().nodename) if text in raw]
    assert stat.S_IMODE((tmp_path / "spans.jsonl").stat().st_mode) == 0o600
    assert not tracer.exporting
    assert capfd.readouterr() == ("", "")


async def test_a_second_opinion_is_a_span_of_the_session(tmp_path: Path) -> None:
    tracer = make(tmp_path)
    tracer.start()
    given = ev.OpinionGiven(report="work_products/a.md", model="haiku", counts={"agrees": 2}, cost_usd=0.01)
    for event in (*session()[:-1], given, session()[-1]):
        tracer(event)
    assert await tracer.close(PATIENCE)
    span, root = (spans(tmp_path)[name] for name in ("second_opinion", "session"))
    assert span["parent_id"] == root["context"]["span_id"]
    assert (span["attributes"]["model"], span["attributes"]["cost_usd"]) == ("haiku", 0.01)


async def test_a_request_to_a_service_is_part_of_what_happens_as_it_comes(tmp_path: Path) -> None:
    tracer = make(tmp_path)
    came = int(START.timestamp()) * 1_000_000_000

    def asked(method: str, **more: Any) -> ServiceRequest:
        return ServiceRequest(
            method=method, host="a.example", port=443, route="/api/*", began=came, ended=came + 5, **more
        )

    tracer.on_request(asked("PUT", status=200))
    for event in session()[:2]:
        tracer(event)
    tracer.on_request(asked("GET", status=404))
    tracer.on_request(asked("POST", error="ConnectError"))
    for event in session()[-2:]:
        tracer(event)
    tracer.on_request(asked("DELETE", status=204))
    assert await tracer.close(PATIENCE)
    found = spans(tmp_path)
    early, during, failed, late = (found[f"{each} /api/*"] for each in ("PUT", "GET", "POST", "DELETE"))
    session_id, query_id = (found[name]["context"]["span_id"] for name in ("session", "query"))
    assert found["session"]["parent_id"] is None
    parents = [each["parent_id"] for each in (early, during, failed, late)]
    assert parents == [session_id, query_id, query_id, session_id]
    assert early["kind"] == "SpanKind.CLIENT"
    assert early["attributes"]["server.address"] == "a.example"
    assert [each["status"]["status_code"] for each in (early, during, failed)] == ["UNSET", "ERROR", "ERROR"]
    assert during["attributes"]["http.response.status_code"] == 404
    assert failed["attributes"]["error.type"] == "ConnectError"


async def test_a_request_belongs_to_the_call_that_made_it(tmp_path: Path) -> None:
    tracer = make(tmp_path)
    start = int(START.timestamp()) * 1_000_000_000

    def asked(route: str, call: str) -> None:
        request = ServiceRequest(
            method="GET", host="a.example", port=443, route=route, began=start, ended=start + 5, tool_use_id=call
        )  # fmt: skip
        tracer.on_request(request)

    def call(number: int, name: str, **more: Any) -> ev.ToolCallStarted:
        return ev.ToolCallStarted(
            at=START, query_id="q1", tool_use_id=f"c{number}", name=f"mcp__s__{name}", **more
        )

    def ended(number: int, **more: Any) -> ev.ToolCallFinished:
        return ev.ToolCallFinished(
            at=START + timedelta(seconds=9), tool_use_id=f"c{number}", **{"status": "success", **more}
        )

    for event in session()[:2]:
        tracer(event)
    # Two at once, one of them of a sub-agent, and their requests in any order, also before and after the calls.
    asked("/early", "c1")
    for event in (
        call(1, "one"),
        call(2, "two", parent_tool_use_id="c1"),
        call(3, "asked"),
        call(4, "denied"),
    ):
        tracer(event)
    asked("/two", "c2")
    asked("/one", "c1")
    allowed: dict[str, Any] = {"request_id": "p", "tool_name": "n", "tool_use_id": "c3"}
    tracer(ev.PermissionAsked(at=START, **allowed))
    tracer(ev.PermissionAnswered(at=START + timedelta(seconds=4), decision="allow", **allowed))
    for event in (ended(2), ended(3), ended(1), ended(4, status="error", ran=False), call(5, "open")):
        tracer(event)
    asked("/late", "c2")
    asked("/of-none", "c9")
    waits: dict[str, Any] = {"request_id": "q", "tool_name": "n", "tool_use_id": "c5"}
    tracer(ev.PermissionAsked(at=START, **waits))
    assert await tracer.close(PATIENCE)
    found = spans(tmp_path)
    names = {span["context"]["span_id"]: name for name, span in found.items()}
    assert {name: names[span["parent_id"]] for name, span in found.items() if " " in name} == {
        "mcp.request one": "c1", "mcp.request two": "c2", "mcp.request asked": "c3",
        "GET /early": "mcp.request one", "GET /one": "mcp.request one",
        "GET /two": "mcp.request two", "GET /late": "mcp.request two", "GET /of-none": "conversation_iteration_1",
    } | {f"tool_result c{number}": f"c{number}" for number in (1, 2, 3, 4)}  # fmt: skip
    assert found["mcp.request asked"]["start_time"] == "2026-11-21T05:10:04.000000Z"
    assert found["GET /one"]["attributes"]["url.template"] == "/one"


async def test_what_is_open_at_the_end_is_ended_and_kept(tmp_path: Path) -> None:
    tracer = make(tmp_path)
    # The call is waiting, and a person changes its arguments.
    answered = ev.PermissionAnswered(
        request_id="p", tool_name="Agent", decision="allow", input={"path": "b.md"}, tool_use_id="t1"
    )
    for event in [*session()[:9], answered]:
        tracer(event)
    assert await tracer.close(PATIENCE)
    found = spans(tmp_path)
    said = found["t1"]["attributes"]
    assert said["input_preview"] == said["input.value"] == '{"path":"b.md"}'
    assert {"session", "query", "conversation_iteration_1", "t1", "t2"} <= set(found)
    assert found["t2"]["attributes"]["status"] == "cancelled"


async def test_a_file_is_written_in_any_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    exports = Exports.of(token="t", environ=os.environ, agent=True)
    tracer = make(tmp_path, exports=exports, token="t")
    for event in session():
        tracer(event)
    assert await tracer.agent_environment() == {}
    assert await tracer.close(PATIENCE)
    assert len(spans(tmp_path)) == 20
    assert not tracer.exporting


async def test_a_failure_is_logged_and_never_raised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "spans.jsonl").mkdir()
    failures: asyncio.Queue[Exception] = asyncio.Queue()
    tracer = make(
        tmp_path, exports=Exports(logfire=True), token="not-a-token", on_failure=in_loop(failures.put_nowait)
    )
    with caplog.at_level(logging.ERROR):
        tracer.start()
        assert isinstance(await asyncio.wait_for(failures.get(), PATIENCE), OSError)
        assert await tracer.close(PATIENCE)
    for event in session():
        tracer(event)
    assert tracer.failed
    assert not tracer.exporting
    assert "the session continues without it" in caplog.text


async def test_a_bad_event_does_not_end_tracing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tracer = make(tmp_path)
    events = session()
    tracer(events[0])
    tracer(ev.ToolCallStarted(query_id="q1", tool_use_id=["unhashable"], name="n"))  # type: ignore[arg-type]  # on purpose
    for event in events[1:]:
        tracer(event)
    with caplog.at_level(logging.ERROR):
        assert await tracer.close(PATIENCE)
    assert "tool_call_started could not be traced" in caplog.text
    assert {"session", "query", "t1", "t2"} <= set(spans(tmp_path))


def test_the_subscriber_imports_nothing_heavy() -> None:
    heavy = "{'logfire', 'opentelemetry', 'pydantic'}"
    script = f"import sys, ua_tui.core.telemetry.tracer\nassert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.fixture
def logfire() -> Iterator[Collector]:
    with collector(project="https://logfire.example/me/mine") as found:
        yield found


_SCRIPT = """
import asyncio, sys
from pathlib import Path
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.telemetry.tracer import Tracer
from tests.core.telemetry.test_tracer import session
async def main():
    folder = Path(sys.argv[1])
    token = sys.argv[2] or None
    exports = Exports(logfire=token is not None)
    tracer = Tracer(folder / "spans.jsonl", Redactor(), state_dir=folder / "state", token=token, exports=exports)
    tracer.start()
    for event in session():
        tracer(event)
    assert await tracer.close(60)
    print(tracer.trace.link)
asyncio.run(main())
"""


@pytest.mark.parametrize("token", ["", "pylf_v1_local_0123456789abcdef"])
def test_spans_leave_the_machine_only_with_a_token(tmp_path: Path, logfire: Collector, token: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "OTEL_"))}
    # A token in the environment that the settings do not pass on counts for nothing.
    environ |= {"LOGFIRE_BASE_URL": logfire.url, "LOGFIRE_TOKEN": "pylf_v1_local_fedcba9876543210"}
    environ |= {"NO_PROXY": "127.0.0.1", "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path), token]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    link = "https://logfire.example/me/mine?q=trace_id" if token else "None"
    assert done.stdout.startswith(link)
    assert len(spans(tmp_path)) == 20
    assert {headers["authorization"] for _, headers in logfire.asked} == ({token} if token else set())
    assert len({span.span_id for span in logfire.spans}) >= (20 if token else 0)
    assert token or logfire.looked == []
    assert list(Path.cwd().glob(".logfire")) == []


@pytest.mark.parametrize(("token", "environ", "others"), CASES["where_spans_go_is_reported"])
def test_where_spans_go_is_reported(token: str | None, environ: dict[str, str], others: list[str]) -> None:
    assert trace_targets(token=token, environ=environ) == ["spans.jsonl in the session's folder", *others]


@pytest.mark.parametrize(("given", "why"), CASES["a_collector_in_trouble_is_reported_once_and_costs_nothing"])
async def test_a_collector_in_trouble_is_reported_once_and_costs_nothing(
    tmp_path: Path, exporting: Exporting, caplog: pytest.LogCaptureFixture, given: dict[str, Any] | None, why: str
) -> None:  # fmt: skip
    reported: asyncio.Queue[tuple[str, Advice]] = asyncio.Queue()
    with collector(**given or {}) as found:
        on_problem = in_loop(lambda *it: reported.put_nowait(it))
        tracer = exporting(found.url if given else "http://127.0.0.1:9", on_problem=on_problem)
        tracer.start()
        events = session()
        for event in events[:-1]:
            tracer(event)
        destination, problem = await asyncio.wait_for(reported.get(), PATIENCE)
        assert (destination, str(problem)) == ("collector", why)
        # Whoever is known to be away is not waited for.
        await tracer.flush(PATIENCE)
        tracer(events[-1])
        # Its retries would take thirty seconds.
        assert await tracer.close(20)
    assert reported.empty()
    assert len([record for record in caplog.records if "export" in record.getMessage()]) == 1
    assert len(spans(tmp_path)) == 20


async def test_trouble_of_logfire_is_named(exporting: Exporting, monkeypatch: pytest.MonkeyPatch) -> None:
    reported: asyncio.Queue[tuple[str, Advice]] = asyncio.Queue()
    with collector() as found, collector(status=401) as logfire:
        monkeypatch.setenv("LOGFIRE_BASE_URL", logfire.url)
        tracer = exporting(found.url, token="t", on_problem=in_loop(lambda *it: reported.put_nowait(it)))
        for event in session():
            tracer(event)
        tracer.start()
        destination, rejected = await asyncio.wait_for(reported.get(), PATIENCE)
        assert (destination, rejected.code) == ("logfire", "export.credentials")
        assert await tracer.close(PATIENCE)
        assert {"session", "query"} <= {span.name for span in found.spans}
    assert reported.empty()


async def test_a_web_page_counts_as_a_failure(
    exporting: Exporting, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reported: list[tuple[str, Advice]] = []
    with collector(page=b"<!doctype html><p>Sign in</p>") as found:
        monkeypatch.setenv("LOGFIRE_BASE_URL", found.url)
        tracer = exporting(token="t", on_problem=lambda *it: reported.append(it))
        for event in session():
            tracer(event)
        tracer.start()
        assert await tracer.close(PATIENCE)
        # It asks for the project in a thread of its own.
        await until(lambda: found.looked)
    ((destination, problem),) = reported
    assert (destination, str(problem)) == (
        "logfire",
        "it returned a web page (200 OK): check LOGFIRE_BASE_URL",
    )
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_flush_sends_what_there_is_and_begins_nothing(tmp_path: Path, exporting: Exporting) -> None:
    alone = make(tmp_path / "alone")
    await alone.flush(PATIENCE)
    assert not (tmp_path / "alone").exists()
    with collector() as found:
        tracer = exporting(found.url)
        for event in session()[:-1]:
            tracer(event)
        await tracer.flush(PATIENCE)
        assert "query" in {span.name for span in found.spans}
        tracer(session()[-1])
        assert await tracer.close(PATIENCE)
        assert {"session", "session_complete"} <= {span.name for span in found.spans}


@pytest.mark.parametrize("flushes", [True, False])
async def test_a_collector_that_hangs_is_reported_and_holds_up_no_end_and_no_file(
    tmp_path: Path, exporting: Exporting, flushes: bool
) -> None:
    reported: list[str] = []
    with collector(hangs=True) as found:
        tracer = exporting(found.url, on_problem=lambda _, why: reported.append(str(why)))
        for event in session():
            tracer(event)
        tracer.start()
        await until(lambda: found.asked)
        if flushes:
            await tracer.flush(0.2)
            remedy = "make sure that it is running, and check OTEL_EXPORTER_OTLP_ENDPOINT"
            assert reported == [f"it did not answer in time: {remedy}"]
        assert not await tracer.close(0.1)
        await until(lambda: (tmp_path / "spans.jsonl").read_text().count("\n") == 20)
    # The log of a tracer that was abandoned would be taken for that of the next test.
    await until(lambda: "tracing" not in {thread.name for thread in threading.enumerate()})


def test_the_link_leads_to_the_trace_in_its_project() -> None:
    assert Trace("0f").link is None
    link = Trace("0f", "https://logfire.example/me/mine/").link
    assert link == "https://logfire.example/me/mine?q=trace_id%3D%270f%27"


async def test_spans_of_children_join_without_their_secrets(
    tmp_path: Path, logfire: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", logfire.url)
    # Unless the user wants them, the agent makes none: they repeat our own.
    without = Exports.of(token=None, environ=os.environ)
    assert await make(tmp_path / "without", exports=without).agent_environment() == {}
    tracer = make(tmp_path, exports=replace(without, agent=True))
    reported = await tracer.agent_environment()
    relay = reported["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
    _, trace_id, root, _ = reported["TRACEPARENT"].split("-")
    for event in session():
        tracer(event)
    ours = _request(bytes.fromhex(trace_id), bytes.fromhex(root), f"https://x.example/?q={SECRET}")
    others = _request(bytes(15) + b"1", bytes.fromhex(root), "https://x.example/")
    async with httpx.AsyncClient(trust_env=False) as client:
        zipped = {"content-encoding": "gzip"}
        assert (await client.post(relay, content=gzip.compress(ours), headers=zipped)).status_code == 200
        assert (await client.post(relay, content=others)).status_code == 200
        assert (await client.post(relay, content=b"no protobuf \xff")).status_code == 200
        # The relay closes the connection of a request that it refuses, and says so: the next one takes another.
        refused = await client.post(relay, content=b"not gzip", headers=zipped)
        assert (refused.status_code, refused.headers["connection"]) == (400, "close")
        guessed = relay.replace("/v1", "x/v1")
        assert (await client.post(guessed, content=ours)).status_code == 404
    assert await tracer.close(PATIENCE)
    assert "claude_code.tool" in {span.name for span in logfire.spans}
    found = spans(tmp_path)
    assert len(found) == 21
    foreign = found["claude_code.tool"]
    assert foreign["parent_id"] == f"0x{root}" == found["session"]["context"]["span_id"]
    assert foreign["attributes"] == CASES["spans_of_children_join_without_their_secrets"]
    assert foreign["events"][0]["attributes"]["exception.message"] == "[redacted]"
    assert SECRET not in (tmp_path / "spans.jsonl").read_text()


def _request(trace_id: bytes, parent: bytes, address: str) -> bytes:
    def text(key: str, value: str) -> KeyValue:
        return KeyValue(key=key, value=AnyValue(string_value=value))

    parts = AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=each) for each in ("a", SECRET)]))
    attributes = [text("url.query", address), text("api_key", "letmein12")]
    attributes += [KeyValue(key="count", value=AnyValue(int_value=3)), KeyValue(key="parts", value=parts)]
    raised = Span.Event(name="exception", attributes=[text("exception.message", SECRET)])
    span = Span(trace_id=trace_id, span_id=b"12345678", parent_span_id=parent, name="claude_code.tool",
                start_time_unix_nano=1, end_time_unix_nano=2, attributes=attributes, events=[raised])  # fmt: skip
    scoped = ResourceSpans(scope_spans=[ScopeSpans(spans=[span])])
    encoded: bytes = ExportTraceServiceRequest(resource_spans=[scoped]).SerializeToString()
    return encoded


async def test_the_queue_is_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tracer = make(tmp_path, most_waiting=6)
    for event in session():
        tracer(event)
    assert await tracer.close(PATIENCE)
    # The thread started at the end: what came first is in the file.
    assert {"session", "query", "t1"} == {"session", "query", "t1", "t2"} & set(spans(tmp_path))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["tracing cannot keep up"]
