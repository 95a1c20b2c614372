from __future__ import annotations

from typing import Any, Literal

from tests.tui.pane_host import PaneHost, handle_events, hosted, rows
from ua_tui.core.events.types import (
    ArtifactSaved,
    ObserverFinished,
)
from ua_tui.core.view.records import ObserverRuns
from ua_tui.tui.panes.columns import TableStyles
from ua_tui.tui.panes.observers.pane import (
    FeedRow,
    ObserversPane,
    ObserversTheme,
    render_run,
    render_table,
)
from ua_tui.tui.render.layout import PLAIN, line_width, plain


def ended(
    run: str,
    status: Literal["saved", "skipped", "failed"] = "saved",
    observer: str = "search",
    call: str = "t",
    **fields: Any,
) -> ObserverFinished:
    return ObserverFinished(run_id=run, observer=observer, tool_use_id=call, status=status, **fields)


def saved(path: str, observer: str = "search", call: str = "t", copied: str | None = None) -> ArtifactSaved:
    return ArtifactSaved(
        path=path, kind="k", size=1, sha256="", observer=observer, tool_use_id=call, copied_to=copied
    )


def filled(view: ObserversPane) -> list[str]:
    return [row.rstrip() for row in rows(view) if row.strip()]


def shown(view: ObserversPane) -> list[str]:
    """The rows below the numbers of the observers."""
    found = filled(view)
    rules = [place for place, row in enumerate(found) if set(row.strip()) == {"─"}]
    return found[rules[0] + 1 :] if rules else found


def test_a_row_never_leaves_its_width() -> None:
    run = FeedRow(key="r", observer="workbench_activity")
    artifacts = ["search_results/composio_search_中文_140214_k3j2.json", "b"]
    run.finish(
        ended("r", artifacts=artifacts, items=1000, rejected=20, duplicates=3, duration_ms=12_345), "中文"
    )
    failed = FeedRow(key="f", observer="media", open=True)
    failed.finish(ended("f", "failed", error="broken " * 50), "")
    for width in range(1, 130):
        for one in (run, failed, FeedRow(key="x", observer="search")):
            lines = [line for names in (0, 18) for line in render_run(one, width, ObserversTheme(), names)]
            assert all(line_width(line) <= width for line in lines)
    wide = plain(render_run(run, 120, ObserversTheme(), 18)[0])
    assert wide.endswith("12.3s")
    assert "k3j2.json" in wide


def ran(*runs: tuple[str, Literal["saved", "skipped", "failed"], int, float]) -> list[ObserverFinished]:
    return [
        ended(f"m{number}", status, observer, items=items, duration_ms=took)
        for number, (observer, status, items, took) in enumerate(runs)
    ]


async def test_the_table_stays_while_rows_scroll_and_clicks_meet_their_rows() -> None:
    view = ObserversPane()
    host = PaneHost(view)
    async with host.run_test(size=(90, 16)) as pilot:
        assert "observer" not in "".join(shown(view)[:1])
        await pilot.press("m")
        handle_events(view, [ended(f"r{n}", artifacts=[f"{n}.json"], duration_ms=1) for n in range(40)])
        head = rows(view)[:3]
        assert head[1].split()[:2] == ["search", "40"]
        assert "39.json" in rows(view)[view.scrollable_content_region.height - 1]
        for key in ("up", "pageup", "home"):
            await pilot.press(key)
            assert rows(view)[:3] == head
        assert "0.json" in rows(view)[3]
        await pilot.click(view, offset=(10, 1 + 3 + 2), times=2)
        await pilot.pause()
        assert host.opened == ["2.json"]
        await pilot.press("end")
        assert view.following
        assert view.scroll_offset.y == view.max_scroll_y
        await pilot.resize_terminal(90, 8)
        await pilot.pause()
        assert "39.json" in "".join(rows(view))
        await pilot.resize_terminal(90, 4)
        await pilot.pause()
        await pilot.resize_terminal(90, 30)
        await pilot.pause()
        assert rows(view)[:3] == head
        assert "39.json" in rows(view)[view.scrollable_content_region.height - 1]


async def test_a_table_changes_only_where_a_figure_did() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, pilot):
        handle_events(view, ran(("search", "saved", 20, 2), ("media", "saved", 1, 3)))
        await pilot.press("m")
        before = [view.render_line(y) for y in range(4)]
        handle_events(view, [ended("late", "saved", "media", duration_ms=3)])
        after = [view.render_line(y) for y in range(4)]
        assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, False, True]


def test_the_table_fits_any_room_and_names_failures_first() -> None:
    styles = TableStyles(*[PLAIN] * 5)
    metrics: dict[str, ObserverRuns] = {}
    for number in range(9):
        each = ObserverRuns()
        for _ in range(number + 1):
            each = each.after("failed" if number == 3 else "saved", 99_999, 12_345.0)
        metrics[f"observer_number_{number}_中文"] = each
    for width in range(1, 120):
        for height in range(15):
            lines = render_table(metrics, width, height, styles)
            assert len(lines) <= height
            assert all(line_width(line) <= width for line in lines)
    cut = [plain(line) for line in render_table(metrics, 60, 6, styles)]
    assert ["_3_" in row or "_8_" in row or "_7_" in row for row in cut] == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    assert cut[4] == "+6 more"
    narrow = plain(render_table(metrics, 36, 20, styles)[0])
    assert narrow.split() == ["observer", "runs", "saved", "fail", "p95"]
