"""Composio in a real session: the real command line and SDK, a scripted model, and the stand-in on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.composio_server import KEY, Fault, StandIn, stand_in
from tests.e2e.live import live
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.paths import PROJECT
from tests.waiting import until
from ua_tui.core.agent import assembly
from ua_tui.core.connections.composio.native import Modifier
from ua_tui.core.events.types import ArtifactSaved, ErrorRaised, ObserverStarted
from ua_tui.core.pipelines import Pipelines
from ua_tui.tui import compose
from ua_tui.tui.compose import default_pipelines

SLUG = "COMPOSIO_MULTI_EXECUTE_TOOL"
NEWS = f"mcp__composio__{SLUG}"
SEARCH = {
    "thought": "news",
    "tools": [{"tool_slug": "COMPOSIO_SEARCH_NEWS", "arguments": {"query": "memory", "limit": 3}}],
}
HELD = json.loads((PROJECT / "tests/core/agent/composio_held.json").read_text(encoding="utf-8"))
TABLE = b"a,b\n1,2\n"
REFUSED = b'{"error":{"message":"Invalid API key","slug":"UNAUTHORIZED","status":401}}'


class Model:
    """Makes the calls it is told to, one for each query, and keeps how the tools were described."""

    def __init__(self) -> None:
        self.next = Use(NEWS, SEARCH)
        self.descriptions: dict[str, str] = {}

    def __call__(self, body: dict[str, Any], _results: int) -> list[Block]:
        self.descriptions = {tool["name"]: tool.get("description", "") for tool in body.get("tools", [])}
        last = body["messages"][-1]["content"]
        done = isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)
        return [Text("Done.")] if done else [self.next]


@pytest.fixture
def service() -> Iterator[StandIn]:
    with stand_in({"table.csv": TABLE}) as here:
        yield here


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["mcp", "native"])
async def test_calls_are_seen_in_both_modes_and_an_expired_session_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: StandIn, mode: str
) -> None:
    seen: list[str] = []

    def before(tool: str, _toolkit: str, params: Any) -> Any:
        seen.append(f"before {tool} {params['arguments']['thought']}")
        # The end of the program waits for no call.
        assert threading.current_thread().daemon
        return params

    def after(tool: str, _toolkit: str, response: Any) -> Any:
        seen.append(f"after {tool} {response['successful']}")
        return response

    def schema(tool: str, _toolkit: str, offered: Any) -> Any:
        offered.description = f"{offered.description} Modified."
        return offered

    def pipelines(*given: Any) -> Pipelines:
        made = default_pipelines(*given)
        made.register("tool.before_execute", lambda payload: seen.append(f"pipeline before {payload.name}"))
        made.register("tool.after_execute", lambda payload: seen.append(f"pipeline after {payload.name}"))
        return made

    monkeypatch.setattr(compose, "default_pipelines", pipelines)
    modifiers = (Modifier("before", before), Modifier("after", after, [SLUG]), Modifier("schema", schema))
    model = Model()
    async with AsyncExitStack() as stack:
        url = stack.enter_context(scripted_model(model))
        settings = model_settings(
            tmp_path, url, composio_api_key=KEY, composio_base_url=service.url, composio_mode=mode
        )
        here = await stack.enter_async_context(live(settings, "composio", modifiers=modifiers))
        session = here.session
        assert (await here.call("Go")).status == "success"
        await until(lambda: here.of(ArtifactSaved))
        native = [f"before {SLUG} news", f"after {SLUG} True"] if mode == "native" else []
        assert seen == [f"pipeline before {NEWS}", *native, f"pipeline after {NEWS}"]
        assert ("Modified." in model.descriptions[NEWS]) is (mode == "native")

        # A call that is held ends as that.
        held = []
        for recorded in HELD:
            service.faults.clear()
            service.reply_to_calls(recorded["reply"])
            held.append(call := await here.call("Go"))
            assert call.observation is not None
            assert (call.status, call.observation.error) == (recorded["status"], recorded["error"])
            assert json.loads(call.observation.output) == json.loads(recorded[mode])
        service.faults.clear()
        service.services.reply = None

        (first,) = service.sessions
        service.drop_sessions()
        failed = await here.call("Go")
        assert failed.status == "error"
        await until(lambda: len(service.sessions) == 1 and here.status("composio") == "connected")
        assert service.sessions != [first]
        assert any("its session has ended" in event.message for event in here.of(ErrorRaised))
        # By hand it is connected again, too, and keeps its session while that holds.
        kept = service.sessions
        assert session.servers.reconnect("composio") == ""
        await until(lambda: here.status("composio") == "connected")
        assert (await here.call("Go")).status == "success"
        assert service.sessions == kept

        # The toolkit signs in at the session that there is now.
        model.next = Use("mcp__local_toolkit__workbench_download", {"path": "/mnt/files/table.csv"})
        call = await here.call("Go")
        await until(lambda: any(saved.path == "downloads/table.csv" for saved in here.of(ArtifactSaved)))
        (saved,) = [saved for saved in here.of(ArtifactSaved) if saved.kind == "download"]
        assert saved.tool_use_id == call.tool_use_id
        assert (session.workspace.path / saved.path).read_bytes() == TABLE
        model.next = Use("mcp__local_toolkit__workbench_upload", {"path": saved.path})
        assert (await here.call("Go")).status == "denied"
        assert service.asked("PUT ") == 0
        model.next = Use(NEWS, SEARCH)

        monkeypatch.setattr(assembly, "_RENEWED_EVERY", 0.0)
        service.faults.append(Fault("tool_router", 401, REFUSED))
        assert (await here.call("Go")).status == "error"
        await until(lambda: "rejected the key" in str(getattr(here.server("composio"), "last_error", "")))
    observed = {event.tool_use_id for event in here.of(ObserverStarted)}
    assert observed
    assert not observed & {call.tool_use_id for call in held}
    local = session.workspace.path / "spans.jsonl"
    spans = [json.loads(line) for line in local.read_text().splitlines()]
    route = "/api/v3.1/tool_router/session"
    asked = [span for span in spans if span["name"] == "httpx.request"]
    opened = [span["attributes"] for span in asked if span["attributes"]["url.template"] == route]
    assert [each["http.response.status_code"] for each in opened] == [201, 201, 401]
    # Calls of the agent's command line are its own; those of this process belong to the call.
    made = [span for span in asked if span["attributes"]["url.template"] == f"{route}/*/execute"]
    assert bool(made) is (mode == "native")
    sent = {span["context"]["span_id"] for span in spans if span["name"] == "mcp.request"}
    assert {span["parent_id"] for span in made} <= sent
    journal = (session.workspace.path / "journal.jsonl").read_text()
    assert KEY not in journal
    assert "/storage/" not in journal
