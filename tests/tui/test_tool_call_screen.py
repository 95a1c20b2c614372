from __future__ import annotations

import base64
import json
import struct
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import pytest

from core.events import ArtifactSaved, ToolCallFinished, ToolCallStarted
from core.observation import (
    AnyObservation,
    ImageContent,
    McpObservation,
    NativeObservation,
    SubagentObservation,
    TextContent,
    WorkbenchObservation,
)
from core.text import is_unsafe
from tests.tui.files_host import hosted, screen_text, until
from tests.tui.test_viewers import lines
from tui.programs import PAGER, NoProgram, command_of
from tui.screens.tool_call import ToolCallScreen
from tui.viewers.call_body import arguments_text, call_body, notes_of, result_text

NAME = "mcp__composio__COMPOSIO_SEARCH_NEWS"


def started(name: str = NAME, **arguments: Any) -> ToolCallStarted:
    return ToolCallStarted(query_id="q", tool_use_id="t", name=name, input=arguments)


def finished(
    observation: AnyObservation | None,
    status: Literal["success", "error", "denied", "cancelled"] = "success",
    duration_ms: float = 1840.0,
) -> ToolCallFinished:
    return ToolCallFinished(tool_use_id="t", status=status, observation=observation, duration_ms=duration_ms)


def mcp(*blocks: str | ImageContent, **more: Any) -> McpObservation:
    content = tuple(TextContent(block) if isinstance(block, str) else block for block in blocks)
    return McpObservation(tool_name=NAME, tool_use_id="t", server="composio", content=content, **more)


def saved(path: str) -> ArtifactSaved:
    return ArtifactSaved(path=path, kind="search", size=12_300, sha256="0", observer="search")


def text(call: ToolCallStarted, end: ToolCallFinished | None, width: int = 80) -> str:
    return "\n".join(lines(call_body(call, end), width))


async def test_a_finished_call_tells_everything_and_opens_its_files() -> None:
    result = json.dumps({"data": {"results": [{"title": "Foundries grow"}]}})
    screen = ToolCallScreen(
        started(query="AI chips"),
        finished(mcp(result, truncated=True, recovered=True, stored_at="spill/t.json")),
        [saved("search_results/news.json"), saved("work_products/report.html")],
    )
    async with hosted(screen=screen, size=(90, 34)) as (app, pilot):
        await until(lambda: "Foundries grow" in screen_text(app))
        shown = screen_text(app)
        title = shown.splitlines()[0]
        assert title.split()[:3] == ["✓", "SEARCH_NEWS", "composio"]
        assert title.rstrip().endswith("done · 1.8s · 52B")
        assert '"query": "AI chips"' in shown
        assert "the whole of it is shown here" in shown
        assert "search_results/news.json  12K · search" in shown
        assert "spill/t.json  the whole result" in shown
        await pilot.press("y", "a")
        assert app.copied == [result, '{"query":"AI chips"}']
        await pilot.press("tab", "down", "enter")
        assert app.result == "work_products/report.html"


async def test_enter_opens_the_first_file_and_escape_none() -> None:
    async with hosted(screen=ToolCallScreen(started(), finished(mcp("x")), [saved("a/b.json")])) as (
        app,
        pilot,
    ):
        await pilot.press("enter")
        assert app.result == "a/b.json"
    async with hosted(screen=ToolCallScreen(started(), finished(mcp("x")))) as (app, pilot):
        await pilot.press("enter")
        assert isinstance(app.screen, ToolCallScreen), "there is nothing to open"
        await pilot.press("escape")
        assert not isinstance(app.screen, ToolCallScreen)
        assert app.result is None


async def test_a_running_call_is_completed_in_place() -> None:
    screen = ToolCallScreen(started(query="x"))
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: "The call is still running." in screen_text(app))
        assert "running" in screen_text(app).splitlines()[0]
        await pilot.press("y")
        assert app.said == ["There is nothing to copy yet."]
        screen.finish(finished(mcp("all done")), [saved("a/b.json")])
        await until(lambda: "all done" in screen_text(app))
        assert "a/b.json" in screen_text(app)
        assert "done" in screen_text(app).splitlines()[0]


@pytest.mark.parametrize(
    ("status", "mark", "word"),
    [("error", "✗", "failed"), ("denied", "⊘", "denied"), ("cancelled", "⊘", "cancelled")],
)
async def test_the_state_has_a_mark_and_a_word(
    status: Literal["error", "denied", "cancelled"], mark: str, word: str
) -> None:
    async with hosted(screen=ToolCallScreen(started(), finished(None, status))) as (app, _pilot):
        await until(lambda: "no result" in screen_text(app) or "a result" in screen_text(app))
        title = screen_text(app).splitlines()[0]
        assert mark in title
        assert word in title


async def test_untrusted_text_is_shown_literally_everywhere() -> None:
    evil = "[/x] [@click=app.quit]q[/] \x1b]0;owned\x07 \u202e"
    screen = ToolCallScreen(
        started(f"mcp__{evil}__{evil}", query=evil, code=f"{evil}\n{evil}"),
        finished(mcp(evil, error=evil, stored_at=f"{evil}.json"), "error"),
        [ArtifactSaved(path=evil, kind=evil, size=1, sha256="0", observer="o", copied_to=evil)],
    )
    async with hosted(screen=screen, size=(120, 40)) as (app, _pilot):
        await until(lambda: "Result" in screen_text(app))
        shown = screen_text(app)
        assert shown.count("[@click=app.quit]q[/]") >= 6
        assert not is_unsafe(shown)


def test_an_error_stands_above_what_came_before_it() -> None:
    observation = WorkbenchObservation(
        tool_name="x",
        tool_use_id="t",
        server="composio",
        stdout="hello\n",
        stderr="ZeroDivisionError\n",
        error="The code failed",
        content=(TextContent("The code failed"), TextContent("partial")),
    )
    call = started(
        "mcp__composio__COMPOSIO_REMOTE_WORKBENCH", code_to_execute="def f():\n    return 1/0\n", timeout=30
    )
    shown = text(call, finished(observation, "error")).splitlines()
    order = [line.strip() for line in shown if line.strip()]
    assert order == [
        "Error",
        "The code failed",
        "Arguments",
        "{",
        '"timeout": 30',
        "}",
        "code_to_execute:",
        "def f():",
        "return 1/0",
        "Result",
        "stdout:",
        "hello",
        "stderr:",
        "ZeroDivisionError",
        "partial",
    ]
    assert result_text(finished(observation, "error")).startswith("[The tool reported an error.]")


def test_pictures_structured_results_and_empty_ones_are_named() -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\0" * 900
    picture = ImageContent(base64.b64encode(png).decode())
    assert "Picture 1: PNG image, 640 × 480 pixels, 9" in text(started(), finished(mcp(picture)))
    assert "image/x-evil" in text(started(), finished(mcp(ImageContent("!!not base64!!", "image/x-evil"))))
    structured = NativeObservation(tool_name="Read", tool_use_id="t", structured={"lines": 3})
    assert '"lines": 3' in text(started("Read"), finished(structured))
    assert "Empty." in text(started(), finished(mcp("")))
    assert "none" in text(started(), None)


def test_the_answer_of_a_sub_agent_is_read_as_markdown() -> None:
    answer = SubagentObservation(
        tool_name="Agent", tool_use_id="t", agent="expert", content=(TextContent("# Done\n\n**All** good"),)
    )
    shown = text(started("Agent", subagent_type="expert"), finished(answer))
    assert "Done\n\nAll good" in shown


def test_cut_results_are_told() -> None:
    assert notes_of(mcp("x")) == []
    assert "the rest of it is lost" in notes_of(mcp("x", truncated=True))[0]


@pytest.mark.parametrize(
    "result", ["[" * 50_000, '{"a":' * 5_000, "{broken", '{"a": "' + "x" * 5_000_000 + '"}']
)
def test_hostile_results_are_shown_all_the_same(result: str) -> None:
    body = call_body(started(), finished(mcp(result)))
    assert len(lines(body)) > 3


def test_arguments_that_are_no_strict_json_are_written_all_the_same() -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(5_000):
        inner["a"] = inner = {}
    for arguments in ({"x": float("nan")}, {"x": "\ud800"}, {"x": object()}, deep):
        call = started(**arguments)
        assert arguments_text(call)
        assert text(call, None)


async def test_a_call_is_read_in_the_pager_of_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = tmp_path / "read"
    monkeypatch.setenv("PAGER", f"tee '{read}'")
    screen = ToolCallScreen(started(query="AI chips"), finished(mcp("all \x1b[2Jdone")))
    async with hosted(screen=screen) as (app, pilot):
        await pilot.press("P")
        await pilot.pause()
        assert app.said == ["A pager needs a terminal of its own, and there is none here."]
        monkeypatch.setattr(app, "suspend", nullcontext)
        await pilot.press("P")
        text = read.read_text()
        assert '"query": "AI chips"' in text
        assert "done" in text
        assert "\x1b" not in text
        monkeypatch.setenv("PAGER", "no-such-pager -x")
        await pilot.press("P")
        await pilot.pause()
        assert app.said[-1].startswith("The pager 'no-such-pager' of $PAGER cannot be found.")


def test_a_pager_is_found_or_asked_for(tmp_path: Path) -> None:
    with pytest.raises(NoProgram, match="There is no pager"):
        command_of(PAGER, {"PATH": str(tmp_path)})
    with pytest.raises(NoProgram, match="cannot be read"):
        command_of(PAGER, {"PAGER": "less 'x"})
    usual = tmp_path / "less"
    usual.write_text("#!/bin/sh\n")
    usual.chmod(0o755)
    assert command_of(PAGER, {"PATH": str(tmp_path)}) == [str(usual)]
    assert command_of(PAGER, {"PATH": str(tmp_path), "PAGER": "less -S"}) == ["less", "-S"]
