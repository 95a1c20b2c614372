from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.files_host import Host, hosted
from tests.tui.pane_host import handle_events
from tests.tui.tree_host import cursor, laid_session, pane_of, rows
from tests.waiting import until
from ua_tui.core.events.types import ArtifactSaved, PermissionAnswered, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import McpObservation
from ua_tui.core.toolkit.articles import article_path
from ua_tui.tui.panes.workspace.provenance import Origins
from ua_tui.tui.panes.workspace.scan import list_folders


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return laid_session(tmp_path)


def other(session: Path, name: str) -> Path:
    """Make another session beside this one."""
    path = session.parent / name
    path.mkdir()
    (path / "run.log").write_text("begun\n")
    return path


def artifact(path: str, call: str | None = "toolu_1", copied_to: str | None = None) -> ArtifactSaved:
    return ArtifactSaved(
        path=path, kind="x", size=1, sha256="0", observer="o", tool_use_id=call, copied_to=copied_to
    )


def call(name: str, given: dict[str, object], id_: str = "toolu_1") -> ToolCallStarted:
    return ToolCallStarted(query_id="q", tool_use_id=id_, name=name, input=given)


async def test_only_the_place_in_sight_is_watched(session: Path) -> None:
    other(session, "session_20261101_050000")
    pane = pane_of(session)
    async with hosted(pane) as (_, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.focus()
        first = pane.tree_view._watch
        assert first is not None
        await pilot.press("t")
        await until(lambda: rows(pane) == ["session_20261101_050000"])
        assert first._stop.is_set()
        (session / "late.txt").write_text("x")
        await pilot.press("t")
        await until(lambda: "late.txt" in rows(pane))
        assert pane.new_files == {session / "late.txt"}


async def test_hostile_sessions_stop_nobody(session: Path) -> None:
    bad = other(session, "session_20261101_050000")
    (bad / "trace.json").mkdir()
    os.mkfifo(bad / "journal.jsonl")
    (bad / "loop").symlink_to(bad)
    os.mkfifo(session.parent / "session_20261102_050000")
    (session.parent / "session_20261103_050000").symlink_to("/")
    os.close(os.open(bad / "huge", os.O_CREAT | os.O_WRONLY))
    os.truncate(bad / "huge", 2 << 30)
    pane = pane_of(session)
    async with hosted(pane, size=(60, 16)) as (app, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.focus()
        await pilot.press("t")
        await until(lambda: rows(pane) == ["session_20261101_050000"])
        await pilot.press("right")
        await until(lambda: len(rows(pane)) == 6)
        assert rows(pane)[1:] == ["  trace.json", "  huge", "  journal.jsonl", "  loop", "  run.log"]
        for _ in range(5):
            await pilot.press("down")
        for key, shown_text in (
            ("p", "No tool call of this session"),
            ("d", "read-only"),
            ("e", "read-only"),
        ):
            await pilot.press(key)
            await until(lambda shown_text=shown_text: any(shown_text in each for each in app.shown_text))  # type: ignore[misc]
        pane.reveal(bad / "loop")
        await until(lambda: cursor(pane) == "loop")
        await pilot.press("Y")
        await until(lambda: "is a" in app.shown_text[-1])


async def test_a_file_that_comes_while_another_place_is_shown_is_not_waited_for_in_vain(
    session: Path,
) -> None:
    other(session, "session_20261101_050000")
    pane = pane_of(session)
    async with hosted(pane, size=(60, 16)) as (_, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.reveal(session / "late.md")
        model = pane.tree_view.model
        pane.focus()
        await pilot.press("t")
        await until(lambda: pane.tree_view.model is not model and not pane.tree_view._scanning)
        (session / "late.md").touch()
        # It was being listed as the other place was chosen.
        model.update(*list_folders([model.request(model.base)]))
        await pilot.press("T")
        await until(lambda: cursor(pane) == "late.md")


@pytest.mark.slow
async def test_ten_thousand_sessions_are_listed_whole(session: Path) -> None:
    for number in range(10_000):
        (session.parent / f"session_{number:05}").mkdir()
    pane = pane_of(session)
    async with hosted(pane, size=(60, 16)) as (_, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.focus()
        await pilot.press("t")
        await until(lambda: len(rows(pane)) == 10_000)
        assert rows(pane)[0] == "session_09999"
        await pilot.press("slash", *"07_77", "backspace", "escape", "slash", *"*0777?", "enter")
        await until(lambda: len(rows(pane)) == 10)
        assert cursor(pane) == "session_07779"


def test_what_is_known_of_where_files_came_from(tmp_path: Path) -> None:
    origins = Origins()
    url = "https://a.example/page"
    handle_events(
        origins,
        [
            call("mcp__local_toolkit__crawl_parallel", {"urls": [url, 7]}, "toolu_4"),
            call("mcp__local_toolkit__write_local_file", {"path": "work_products/a.md"}, "toolu_6"),
            PermissionAnswered(
                request_id="p",
                tool_name="mcp__local_toolkit__write_local_file",
                tool_use_id="toolu_6",
                decision="allow",
                input={"path": "work_products/c.md"},
            ),
            call("mcp__local_toolkit__read_local_file", {"path": "work_products/b.md"}, "toolu_7"),
            artifact("work_products/report.html", "toolu_2", "/reports/report_1.html"),
            artifact("urls.txt", None),
        ],
    )
    stored = McpObservation(
        tool_name="x", tool_use_id="toolu_5", server="s", stored_at="tool_results/toolu_5.json"
    )
    ended = ToolCallFinished(tool_use_id="toolu_5", status="success", observation=stored)
    handle_events(origins, [call("mcp__s__x", {}, "toolu_5"), ended])

    def found(path: str) -> str | None:
        return origins.find(path, str(tmp_path))

    assert found(f"{tmp_path}/{article_path(url)}") == "toolu_4"
    assert found(f"{tmp_path}/work_products/a.md") == "toolu_6"
    assert found(f"{tmp_path}/work_products/c.md") == "toolu_6"
    assert found(f"{tmp_path}/work_products/b.md") is None
    assert found(f"{tmp_path}/work_products/report.html") == "toolu_2"
    assert found("/reports/report_1.html") == "toolu_2"
    assert found(f"{tmp_path}/tool_results/toolu_5.json.zst") == "toolu_5"
    assert found(f"{tmp_path}/urls.txt") is None

    handle_events(
        origins, [call("mcp__local_toolkit__write_local_file", {"path": "work_products/a.md"}, "toolu_8")]
    )
    assert found(f"{tmp_path}/work_products/a.md") == "toolu_8"
    handle_events(origins, [ToolCallFinished(tool_use_id="toolu_8", status="denied")])
    assert found(f"{tmp_path}/work_products/a.md") == "toolu_6", "a call that was denied wrote nothing"


async def test_a_click_on_a_title_shows_that_place(session: Path) -> None:
    other(session, "session_20261101_050000")
    pane = pane_of(session)
    async with hosted(pane, size=(60, 20)) as (app, pilot):
        assert isinstance(app, Host)
        await until(lambda: "run.log" in rows(pane))
        await pilot.click("PlaceTabs", offset=(12, 0))
        await until(lambda: rows(pane) == ["session_20261101_050000"])
        await pilot.click("PlaceTabs", offset=(2, 0))
        await until(lambda: "run.log" in rows(pane))


async def test_a_file_that_went_while_another_place_was_shown_leaves_no_mark(session: Path) -> None:
    other(session, "session_20261101_050000")
    pane = pane_of(session)
    async with hosted(pane, size=(60, 20)) as (_, pilot):
        await until(lambda: "run.log" in rows(pane))
        pane.focus()
        await pilot.press("t")
        handle_events(pane, [artifact("search_results/short_lived.json")])
        assert len(pane.new_files) == 1
        await pilot.press("t")
        await until(lambda: not pane.new_files)
