from __future__ import annotations

from dataclasses import replace

from core.pipelines import BeforeTool
from tests.tui.fixture_types import Patch
from tui import compose


async def test_every_line_becomes_a_handler(monkeypatch: Patch) -> None:
    def deny(call: BeforeTool) -> BeforeTool:
        return replace(call, denied="not here")

    monkeypatch.setattr(compose, "HANDLERS", (("tool.before_execute", deny, 10),))
    pipelines = compose.default_pipelines()
    call = BeforeTool(tool_use_id="t", name="X", input={})
    assert (await pipelines.run("tool.before_execute", call)).denied == "not here"
