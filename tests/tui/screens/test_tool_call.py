from __future__ import annotations

import base64
import io
import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from PIL import Image
from textual.widgets import Input

from tests.tui.files_host import finished as workers_end
from tests.tui.files_host import hosted, screen_text
from tests.tui.fixture_types import Patch
from tests.tui.pane_host import agent_call, call_screen
from tests.tui.viewers.test_viewers import lines
from tests.waiting import PATIENCE, until
from ua_tui.core.events import types as ev
from ua_tui.core.events.units import size
from ua_tui.core.observation import (
    AnyObservation,
    ImageContent,
    McpObservation,
    Observation,
    SubagentObservation,
    TextContent,
    WorkbenchObservation,
)
from ua_tui.core.storage.large_results import store_large_result
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import is_unsafe
from ua_tui.core.view.calls import FullCall
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.files.artifact_list import ArtifactList
from ua_tui.tui.screens.tool_call.screen import CallView, ToolCallScreen
from ua_tui.tui.viewers.tool_call.body import (
    StoredResult,
    arguments_text,
    call_body,
    notes_of,
    read_stored_result,
    result_text,
)

NAME = "mcp__composio__COMPOSIO_SEARCH_NEWS"


def started(name: str = NAME, **arguments: Any) -> ev.ToolCallStarted:
    return ev.ToolCallStarted(query_id="q", tool_use_id="t", name=name, input=arguments)


def finished(
    observation: AnyObservation | None,
    status: Literal["success", "error", "denied", "cancelled"] = "success",
    duration_ms: float = 1840.0,
) -> ev.ToolCallFinished:
    return ev.ToolCallFinished(
        tool_use_id="t", status=status, observation=observation, duration_ms=duration_ms
    )


def mcp(*blocks: str | ImageContent, **more: Any) -> McpObservation:
    content = tuple(TextContent(block) if isinstance(block, str) else block for block in blocks)
    return McpObservation(tool_name=NAME, tool_use_id="t", server="composio", content=content, **more)


def saved(path: str, call: str | None = None) -> ev.ArtifactSaved:
    return ev.ArtifactSaved(
        path=path, kind="search", size=12_300, sha256="0", observer="search", tool_use_id=call
    )


def text(call: ev.ToolCallStarted, end: ev.ToolCallFinished | None, width: int = 80) -> str:
    return "\n".join(lines(call_body(FullCall(call, end)), width))


def update(screen: ToolCallScreen, *events: ev.Event) -> None:
    for event in events:
        screen.handle_event(event)
    screen.show_record(None)


async def test_a_call_whose_arguments_were_changed_shows_those_that_ran_and_the_change() -> None:
    screen = call_screen(started(query="AI chips"))
    async with hosted(screen=screen, size=(90, 34)) as (app, pilot):
        await until(lambda: 'query: "AI chips"' in screen_text(app))
        answer = ev.PermissionAnswered(
            request_id="p", tool_name=NAME, tool_use_id="t", decision="allow",
            input={"query": "memory"}, changes=["query: AI chips → memory"],
        )  # fmt: skip
        update(screen, answer, finished(mcp("x")))
        await until(lambda: 'query: "memory"' in screen_text(app))
        for shown in ("changed by you", "what you changed", "query: AI chips → memory"):
            assert shown in screen_text(app)
        await pilot.press("a")
        assert app.copied == ['{"query":"memory"}']


async def test_a_finished_call_shows_everything_and_leads_to_its_files() -> None:
    result = json.dumps({"data": {"results": [{"title": "Foundries grow"}]}})
    screen = call_screen(
        started(query="AI chips"),
        finished(mcp(result, truncated=True, recovered=True, stored_at="spill/t.json")),
        [saved("search_results/news.json"), saved("work_products/report.html")],
    )
    async with hosted(screen=screen, size=(90, 34)) as (app, pilot):
        await until(lambda: "Foundries grow" in screen_text(app))
        shown = screen_text(app)
        assert shown.splitlines()[0].rstrip().endswith("done · 1.8s · 52B")
        assert "the full result is shown here" in shown
        assert "full result kept" in shown
        files = [line.split()[:2] for line in shown.splitlines() if line.startswith((" search ", " result "))]
        assert [" ".join(each) for each in files] == [
            "search search_results/news.json", "search work_products/report.html", "result spill/t.json",
        ]  # fmt: skip
        await pilot.press("y")
        await until(lambda: app.copied == [result])
        await pilot.press("a")
        assert app.copied[1:] == ['{"query":"AI chips"}']
        # Trees and text are two sights of the same.
        await pilot.press("m")
        await until(lambda: '"query": "AI chips"' in screen_text(app) and "m rendered" in screen_text(app))
        await pilot.press("m")
        await until(lambda: '"query": "AI chips"' not in screen_text(app))
        await pilot.press("tab", "down", "enter")
        await until(lambda: app.result == "work_products/report.html")


async def test_one_walks_from_the_text_to_the_files_and_back() -> None:
    files = [saved("a/b.json"), saved("c/d.json")]
    screen = call_screen(started(query="x"), finished(mcp("x")), files)
    async with hosted(screen=screen, size=(120, 24)) as (app, pilot):
        view, listed = app.screen.query_one(CallView), app.screen.query_one(ArtifactList)
        await until(lambda: view.row_count and "c/d.json" in screen_text(app))
        await workers_end(app.workers)
        await pilot.press("down", "enter")
        assert isinstance(app.screen, ToolCallScreen), "Enter in the text leads nowhere"
        for down, up in (("down", "up"), ("j", "k")):
            await pilot.press("end", "tab")
            assert (listed.has_focus, listed.highlighted) == (True, 0)
            await pilot.press(down)
            assert listed.highlighted == 1
            await pilot.press(up, "tab")
            assert view.has_focus
        # The keys offered are those that do something.
        await until(lambda: "←→ fold" in screen_text(app))
        assert "Enter open the file" not in screen_text(app)
        await pilot.press("tab", "down")
        await until(lambda: "Enter open the file" in screen_text(app))
        assert "←→ fold" not in screen_text(app)
        await pilot.click("KeyLine", offset=(screen_text(app).splitlines()[-1].index("Enter"), 0))
        await until(lambda: app.result == "c/d.json")
        again = call_screen(started(), finished(mcp("x")), files)
        app.push_screen(again, app._take)
        await until(lambda: again.is_mounted and again.view.row_count and "a/b.json" in screen_text(app))
        await workers_end(app.workers)
        await pilot.pause()
        line = next(y for y, line in enumerate(screen_text(app).splitlines()) if "a/b.json" in line)
        await pilot.click(offset=(12, line))
        await until(lambda: app.result == "a/b.json")


async def test_trees_fold_by_the_keys_of_the_viewer_and_sections_by_their_headings() -> None:
    result = {"results": [{"title": f"Number {n}", "url": "https://e.example"} for n in range(2)], "n": 2}
    screen = call_screen(started(query="chips", deep={"inner": 1}), finished(mcp(json.dumps(result))))
    async with hosted(screen=screen, size=(80, 40)) as (app, pilot):
        await until(lambda: "Number 1" in screen_text(app))
        await pilot.press("F")
        assert 'Number 1"\n' not in screen_text(app)
        assert "▸ deep: {1}" in screen_text(app)
        await pilot.press("E")
        await until(lambda: 'title: "Number 1"' in screen_text(app))
        assert "inner: 1" in screen_text(app)
        await pilot.press("home", "left")
        assert "▸ Arguments" in screen_text(app)
        assert "inner: 1" not in screen_text(app)
        await pilot.press("right", "right", "down")
        assert "inner: 1" in screen_text(app)
        assert 'query: "chips"' in screen_text(app)
        await pilot.press("enter")
        assert "▸ deep: {1}" in screen_text(app)
        await pilot.press("space")
        assert "inner: 1" in screen_text(app)
        await pilot.press("c", "down", "c", "C")
        assert app.copied == ['{"inner":1}', "1", "deep.inner"]
        await pilot.press("left", "left", "left", "left")
        assert "▸ Arguments" in screen_text(app), "folding goes up to the heading"
        line = next(y for y, line in enumerate(screen_text(app).splitlines()) if "Arguments" in line)
        await pilot.click(offset=(10, line))
        assert "deep" in screen_text(app)


async def test_a_search_goes_through_arguments_and_result_folded_or_not() -> None:
    result = json.dumps({"a": {"b": {"c": "needle one"}}, "w": "word " * 60 + "final", "z": ["x"] * 80})
    screen = call_screen(started(query="a needle"), finished(mcp(result, "text\nneedle two\n")))
    async with hosted(screen=screen, size=(100, 30)) as (app, pilot):
        await until(lambda: "Result" in screen_text(app))
        await pilot.press("F", "slash", *"needle", "enter")
        await until(lambda: "match 1 of 3" in screen_text(app))
        await pilot.press("n")
        await until(lambda: "match 2 of 3" in screen_text(app))
        assert 'c: "needle one"' in screen_text(app)
        # What has no room in its row is read below.
        assert "305 characters" in screen_text(app)
        assert "final" not in screen_text(app)
        await pilot.press("down")
        await until(lambda: "final" in screen_text(app))
        await pilot.press("n")
        await until(lambda: "match 3 of 3" in screen_text(app))
        assert "needle two" in screen_text(app)
        await pilot.press("N")
        await until(lambda: "match 2 of 3" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "match" not in screen_text(app))
        await pilot.press("slash", *"nowhere", "enter")
        await until(lambda: app.shown_text == ["Not found: nowhere"])
        await pilot.press("slash", "escape")
        assert isinstance(app.screen, ToolCallScreen)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)


async def test_a_running_call_is_completed_in_place() -> None:
    began = datetime.now(UTC) - timedelta(minutes=5)
    call = msgspec.structs.replace(started(query="x", deep={"inner": {"most": 1}}), at=began)
    screen = call_screen(call)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: "The call is still running." in screen_text(app))
        assert f"{began:%H:%M} · running · 5m 0" in screen_text(app).splitlines()[0]
        await pilot.press("y")
        assert app.shown_text == ["Nothing to copy yet."]
        await pilot.press("down", "down", "left")
        await until(lambda: "▸ deep: {1}" in screen_text(app))
        await pilot.press("home", "left")
        await until(lambda: "▸ Arguments" in screen_text(app))
        update(screen, finished(mcp("all done")), saved("a/b.json", "t"), saved("c/d.json", "other"))
        await until(lambda: "all done" in screen_text(app))
        assert "▸ Arguments" in screen_text(app), "what was folded stays so"
        assert "a/b.json" in screen_text(app)
        assert "c/d.json" not in screen_text(app)
        assert "done" in screen_text(app).splitlines()[0]
        update(screen, finished(mcp("something else"), "error"))
        await pilot.pause()
        assert "done" in screen_text(app).splitlines()[0], "a call has one end"
        await pilot.press("q")
        assert not isinstance(app.screen, ToolCallScreen)
        assert app.result is None


async def test_the_state_has_a_mark_and_a_word() -> None:
    states: dict[Literal["denied", "cancelled"], str] = {"denied": "⊘ denied", "cancelled": "⊘ cancelled"}
    for status, shown in states.items():
        async with hosted(screen=call_screen(started(), finished(None, status))) as (app, _):
            await until(lambda: "no result" in screen_text(app) or "a result" in screen_text(app))
            title = screen_text(app).splitlines()[0]
            assert all(part in title for part in shown.split())


async def test_untrusted_text_is_shown_literally_everywhere() -> None:
    evil = "[/x] [@click=app.quit]q[/] \x1b]0;owned\x07 \u202e"
    screen = call_screen(
        started(f"mcp__{evil}__{evil}", query=evil, code=f"{evil}\n{evil}"),
        finished(mcp(evil, error=evil, stored_at=f"{evil}.json"), "error"),
        [ev.ArtifactSaved(path=evil, kind=evil, size=1, sha256="0", observer="o", copied_to=evil)],
    )
    async with hosted(screen=screen, size=(120, 40)) as (app, _pilot):
        await until(lambda: "Result" in screen_text(app))
        shown = screen_text(app)
        assert shown.count("[@click=app.quit]q[/]") >= 6
        assert not is_unsafe(shown)


def test_an_error_stands_above_what_came_before_it() -> None:
    observation = WorkbenchObservation(
        tool_name="x", tool_use_id="t", server="composio", stdout="hello\n", stderr="ZeroDivisionError\n",
        error="The code failed", content=(TextContent("The code failed"), TextContent("partial")),
    )  # fmt: skip
    call = started(
        "mcp__composio__COMPOSIO_REMOTE_WORKBENCH", code_to_execute="def f():\n    return 1/0\n", timeout=30
    )
    shown = [line.rstrip() for line in text(call, finished(observation, "error")).splitlines()]
    assert shown == [
        "▾ Error", "  The code failed", "",
        "▾ Arguments", "    timeout: 30", "", "  code_to_execute", "    def f():", "        return 1/0", "",
        "▾ Result" + " " * 64 + "2 blocks", "  stdout", "    hello", "", "  stderr", "    ZeroDivisionError", "",
        "  partial",
    ]  # fmt: skip
    assert result_text(observation).startswith("Error: ")


def picture(width: int, height: int) -> ImageContent:
    file = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(file, "PNG")
    return ImageContent(base64.b64encode(file.getvalue()).decode())


def test_pictures_structured_results_and_empty_ones_are_named() -> None:
    shown = text(started(), finished(mcp("before", picture(20, 12), "after"))).splitlines()
    at = next(y for y, line in enumerate(shown) if "Picture 1" in line)
    assert shown[at].startswith("  Picture 1 · 8")
    assert shown[at].endswith("B · PNG image · 20 × 12 pixels")
    assert [line.strip() for line in shown[at + 2 : at + 8]] == ["▀" * 20] * 6
    assert shown[at + 9] == "  after"
    torn = ImageContent(base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\0\0\x09" * 90).decode())
    assert "Picture 1" in text(started(), finished(mcp(torn)))
    assert "The picture is damaged" in text(started(), finished(mcp(torn)))
    odd = ImageContent("!!not base64!!", "image/x-evil")
    assert "image/x-evil · 14B · It is damaged" in text(started(), finished(mcp(odd)))
    other = ImageContent(base64.b64encode(b"%PDF-").decode(), "application/pdf")
    assert "application/pdf · 5B · Its format is not supported" in text(started(), finished(mcp(other)))
    assert "Empty." in text(started(), finished(mcp("")))
    assert "none" in text(started(), None)
    assert notes_of(mcp("x")) == []
    assert "the rest is lost" in notes_of(mcp("x", truncated=True))[0]
    assert "(no items)" in text(started(), finished(mcp("[]", "more")))


async def test_the_cursor_passes_over_a_picture_and_does_not_stain_it() -> None:
    screen = call_screen(started(), finished(mcp(picture(20, 40), "below")))
    async with hosted(screen=screen) as (app, pilot):
        view = app.screen.query_one(CallView)
        await until(lambda: "▀▀▀" in screen_text(app))
        body = view.cursor_body
        assert body is not None
        await pilot.press("end")
        assert body.entries < 12, "a picture takes a few steps, not one for each row"
        await until(lambda: "below" in screen_text(app))
        await pilot.press("up")
        for y in range(view.size.height):
            for part in view.render_line(y):
                if "▀" in part.text:
                    assert part.style is not None
                    assert part.style.bgcolor is not None
                    assert tuple(part.style.bgcolor.get_truecolor()) == (200, 30, 30)


def test_the_answer_of_a_sub_agent_is_read_as_markdown_and_its_prompt_as_text() -> None:
    answer = SubagentObservation(
        tool_name="Agent", tool_use_id="t", agent="expert", content=(TextContent("# Done\n\n**All** good"),)
    )
    call = started("Agent", subagent_type="expert", prompt="Write **it**.")
    body = call_body(FullCall(call, finished(answer)), record=agent_call("Reading ten pages", 38_000))
    shown = [line.rstrip() for line in lines(body, 60)]
    assert shown == [
        "▾ Last activity" + " " * 38 + "38k tok", "  Reading ten pages", "",
        "▾ Prompt", "  Write **it**.", "", "▾ Arguments", '    subagent_type: "expert"', "",
        "▾ Answer", "  Done", "", "  All good",
    ]  # fmt: skip
    long = started("Agent", prompt="\n".join(f"Step {n}" for n in range(9)))
    assert "▾ Prompt" in lines(call_body(FullCall(long)))[0]
    assert lines(call_body(FullCall(long, finished(answer))))[0] == "▸ Prompt" + " " * 65 + "9 lines"
    written = lines(call_body(FullCall(call, finished(answer)), as_text=True))
    assert "  **All** good" in written


def stored(folder: Path, *blocks: str) -> McpObservation:
    """A result that was too large for its event, in the session's folder."""
    workspace = Workspace(folder, folder)
    seen = mcp(*blocks)
    _, shown = store_large_result(
        msgspec.structs.replace(seen, tool_use_id="big"), workspace, workspace.redactor
    )
    assert isinstance(shown, McpObservation)
    return shown


@pytest.mark.parametrize(("rows", "packed"), [(1_500, False), (30_000, True)])
async def test_a_stored_result_is_read_whole_packed_or_not(tmp_path: Path, rows: int, packed: bool) -> None:
    result = json.dumps(
        {"rows": [{"number": n, "text": "some words"} for n in range(rows)], "more": [], "last": "the end"}
    )
    observation = stored(tmp_path, result, "after it")
    assert observation.stored_at is not None
    assert observation.stored_at.endswith(".zst") is packed
    screen = call_screen(started(), finished(observation), folder=tmp_path)
    async with hosted(screen=screen, size=(100, 30)) as (app, pilot):
        await until(lambda: "▾ rows" in screen_text(app) or "▸ rows" in screen_text(app))
        assert screen_text(app).splitlines()[0].rstrip().endswith(size(len(result) + 8))
        await pilot.press("slash", *"the end", "enter")
        await until(lambda: "match 1 of 1" in screen_text(app))
        assert 'last: "the end"' in screen_text(app)
        await pilot.press("y")
        await until(lambda: app.copied == [f"{result}\nafter it"])
        await pilot.press("tab", "enter")
        await until(lambda: app.result == observation.stored_at)


async def test_the_arguments_are_there_while_a_result_is_still_read(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    go_on = threading.Event()

    def slow(observation: Observation, folder: Path | None) -> StoredResult:
        go_on.wait(PATIENCE)
        return read_stored_result(observation, folder)

    monkeypatch.setattr("ua_tui.tui.screens.tool_call.screen.read_stored_result", slow)
    observation = stored(tmp_path, "beginning " + "x " * 100_000 + "the end")
    screen = call_screen(started(query="chips"), finished(observation), folder=tmp_path)
    try:
        async with hosted(screen=screen) as (app, pilot):
            await until(lambda: "Reading the full result…" in screen_text(app))
            assert 'query: "chips"' in screen_text(app)
            await pilot.press("home", "left")
            assert "▸ Arguments" in screen_text(app)
            go_on.set()
            await until(lambda: "beginning" in screen_text(app))
            assert "▸ Arguments" in screen_text(app)
            await pilot.press("end")
            assert "the end" in screen_text(app)
    finally:
        go_on.set()


async def test_a_result_that_is_too_long_for_a_clipboard_is_not_copied(tmp_path: Path) -> None:
    observation = stored(tmp_path, "x " * 9_000_000)
    screen = call_screen(started(), finished(observation), folder=tmp_path)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: "x x x" in screen_text(app))
        await pilot.press("y")
        await until(lambda: app.shown_text)
        assert app.shown_text[0].startswith("Result not copied, as it is too long")
        assert app.copied == []


async def test_the_cursor_stays_in_its_part_when_the_terminal_changes() -> None:
    result = json.dumps({"rows": [{"number": n} for n in range(3)], "last": "here I am"})
    observation = mcp("a long text " * 40, result, picture(20, 12))
    screen = call_screen(started(query="x"), finished(observation), [saved("a/b.json")])
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: "▾ rows: [3]" in screen_text(app))
        await pilot.press("slash", *"here I am", "enter")
        await until(lambda: "match 1 of 1" in screen_text(app))
        body = screen.view.cursor_body
        assert body is not None
        place = body.cursor_place()
        for size in ((20, 5), (1, 1), (200, 50), (80, 24)):
            await pilot.resize_terminal(*size)
            await until(lambda size=size: screen.view.size.width <= size[0])  # type: ignore[misc]  # of this turn
            await workers_end(app.workers)
            assert body.cursor_place() == place
        await until(lambda: 'last: "here I am"' in screen_text(app))


def test_a_stored_result_that_cannot_be_read_is_reported_beside_its_preview(tmp_path: Path) -> None:
    observation = stored(tmp_path, "beginning " + "x" * 100_000)
    path = tmp_path / str(observation.stored_at)
    assert read_stored_result(observation, tmp_path).problem == ""
    assert read_stored_result(observation, None).problem.endswith(
        f"the full result is in {observation.stored_at}."
    )
    path.write_text("[{")
    assert read_stored_result(observation, tmp_path).problem.endswith("is damaged.")
    path.unlink()
    read = read_stored_result(observation, tmp_path)
    assert read.problem == f"Only a part of the result is shown: {observation.stored_at} no longer exists."
    assert read.observation is observation
    shown = lines(call_body(FullCall(started(), finished(observation)), notes=[read.problem]))
    assert any("no longer exists" in line for line in shown)
    assert any("beginning" in line for line in shown)
    (tmp_path.parent / "secret.json").write_text('[{"type":"text","text":"secret"}]')
    away = msgspec.structs.replace(observation, stored_at="../secret.json")
    assert "stay inside the folder" in read_stored_result(away, tmp_path).problem


def test_a_long_stored_text_is_read_as_it_was(tmp_path: Path) -> None:
    texts = ['quoted " \\ \U0001f600 é\n\t' * 90_000, "\U0001f600" * 400_000, " " * 1_100_000]
    picture_data = "QUJD" * 300_000
    seen = msgspec.structs.replace(mcp(*texts, ImageContent(picture_data, "image/gif")), tool_use_id="long")
    workspace = Workspace(tmp_path, tmp_path)
    _, shown = store_large_result(seen, workspace, workspace.redactor)
    read = read_stored_result(shown, tmp_path)
    assert read.problem == ""
    assert read.observation.content == seen.content


async def test_a_file_that_is_gone_or_leads_away_is_reported_and_not_gone_to(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.json.zst").write_bytes(b"")
    files = [saved("a/b.json"), saved("a/gone.json"), saved("../../etc/passwd")]
    screen = call_screen(started(), finished(mcp("x")), files, folder=tmp_path)
    async with hosted(screen=screen) as (app, pilot):
        await until(lambda: screen_text(app).count("no longer exists") == 2)
        await pilot.press("tab", "down", "enter")
        await until(lambda: len(app.shown_text) == 1)
        assert app.shown_text[0] == "a/gone.json no longer exists. It was deleted or moved after the call."
        await pilot.press("down", "enter")
        await until(lambda: len(app.shown_text) == 2)
        assert "stay inside the folder" in app.shown_text[1]
        assert isinstance(app.screen, ToolCallScreen)
        await pilot.press("up", "up", "enter")
        await until(lambda: app.result == "a/b.json")


@pytest.mark.parametrize(
    "result", ["[" * 50_000, '{"a":' * 5_000, "{broken", '{"a": "' + "x" * 5_000_000 + '"}']
)
def test_hostile_results_are_shown_all_the_same(result: str) -> None:
    body = call_body(FullCall(started(), finished(mcp(result))))
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


async def test_a_table_of_results_in_a_call_is_filtered_and_opens_its_pages(tmp_path: Path) -> None:
    found = [
        {"title": each, "link": f"https://{each}.example/x", "snippet": "s"} for each in ("Copper", "Iron")
    ]
    read = {"type": "article", "url": "https://Copper.example/x", "title": "Copper", "content": "All of it."}
    (tmp_path / "extracted_articles").mkdir()
    (tmp_path / "extracted_articles/x.json").write_text(json.dumps(read))
    screen = call_screen(started(query="q"), finished(mcp(json.dumps({"organic": found}))), folder=tmp_path)
    async with hosted(screen=screen, size=(120, 30)) as (app, pilot):
        await until(lambda: "Copper" in screen_text(app))
        await pilot.press("f")
        assert not app.screen.query_one(Input).display, "the cursor is in no table"
        assert "a copy arguments" in screen_text(app)
        await pilot.press("down", "down", "down")
        await until(lambda: "f filter" in screen_text(app) and "a read page" in screen_text(app))
        assert "a copy arguments" not in screen_text(app)
        await pilot.press("f", *"iron", "enter")
        await until(lambda: "1 with “iron”" in screen_text(app))
        assert "Copper" not in screen_text(app)
        await pilot.press("f", *"zz", "enter")
        await until(lambda: "No row contains “zz”" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "Copper" in screen_text(app))
        await pilot.press("home", "down", "down", "down", "a")
        await until(lambda: "All of it." in screen_text(app))
