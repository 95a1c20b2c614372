from __future__ import annotations

from typing import Any, Literal

from core.events.types import (
    REPORT_CHECK,
    ArtifactChanged,
    ArtifactSaved,
    ComplianceEnforced,
    ComplianceFailed,
    ObserverFinished,
    ObserverStarted,
    ReportChecked,
)
from core.records.counters import RunMetrics
from tests.tui.pane_host import PaneHost, hosted, rows, started
from tui.panes.observers.pane import ObserversPane, ObserversTheme, Run, render_run
from tui.panes.observers.table import TableStyles, render_table
from tui.render.layout import PLAIN, line_width, plain


def began(run: str, observer: str = "search", call: str = "t") -> ObserverStarted:
    return ObserverStarted(run_id=run, observer=observer, tool_use_id=call)


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


def title(view: ObserversPane) -> str:
    assert view._border_title is not None
    return view._border_title.plain


async def test_a_run_is_one_row_from_start_to_end() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, _):
        view.handle_events([began("r")])
        assert shown(view) == ["… search running"]
        view.handle_events([saved("search_results/news_1.json"), saved("search_results/web_1.json")])
        paths = ["search_results/news_1.json", "search_results/web_1.json"]
        view.handle_events([ended("r", artifacts=paths, items=35, rejected=2, duplicates=1, duration_ms=2.4)])
        assert len(shown(view)) == 1
        row = shown(view)[0]
        assert row.startswith("✓ search news_1.json +1")
        assert row.endswith("35 items, 2 rejected, 1 duplicate   2 ms")
        assert title(view) == "Observers · 2 files · 0 failed"
        view.handle_events([began("s"), ended("s", artifacts=["search_results/unparsed/web_2.txt"])])
        assert shown(view)[1].startswith("✓ search unparsed/web_2.txt")


async def test_the_passages_that_were_indexed_are_counted_once_in_a_row_and_in_the_statistics() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, pilot):
        done = ended("r", observer="knowledge", items=12, note="12 passages", duration_ms=4)
        view.handle_events([began("r", observer="knowledge"), done])
        assert [" ".join(row.split()) for row in shown(view)] == ["✓ knowledge 12 passages 4 ms"]
        await pilot.press("m")
        assert " ".join(filled(view)[1].split()).startswith("knowledge 1 1 0 0 12")


async def test_failed_runs_say_why_and_are_counted() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, pilot):
        view.handle_events(
            [ended("r", "failed", error="ValueError: no such file\nin media.py, line 3", duration_ms=31)]
        )
        assert shown(view)[0].startswith("✗ search ValueError: no such file in media.py")
        assert title(view) == "Observers · 0 files · 1 failed"
        await pilot.press("enter")
        assert [row.strip() for row in shown(view)[1:]] == ["ValueError: no such file", "in media.py, line 3"]
        await pilot.press("enter")
        assert len(shown(view)) == 1


async def test_skipped_runs_say_why_nothing_was_saved() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, _):
        view.handle_events([ended("r", "skipped", note="no results in it"), ended("s", "skipped")])
        assert "no results in it" in shown(view)[0]
        assert "nothing to save" in shown(view)[1]
        assert title(view).startswith("Observers · 0 files · 0 failed")


async def test_copies_to_the_saved_reports_are_shown_whichever_event_comes_first() -> None:
    view = ObserversPane()
    path = "work_products/report.html"
    async with PaneHost(view).run_test(size=(90, 20)):
        copied = saved(path, "products", copied="SAVED_REPORTS/report.html")
        view.handle_events(
            [began("r", "products"), copied, ended("r", observer="products", artifacts=[path])]
        )
        view.handle_events([ended("s", observer="products", call="u", artifacts=["b.html"])])
        assert "SAVED_REPORTS" not in shown(view)[1]
        view.handle_events([saved("b.html", "products", "u", copied="SAVED_REPORTS/b.html")])
        assert "report.html → SAVED_REPORTS" in shown(view)[0]
        assert "b.html → SAVED_REPORTS" in shown(view)[1]
        view.handle_events([ArtifactChanged(path=path, kind="work_product", size=3, sha256="0")])
        assert "report.html → SAVED_REPORTS · changed" in shown(view)[0]
        assert "changed" not in shown(view)[1]


async def test_a_broken_rule_and_its_enforcement_are_one_row() -> None:
    view = ObserversPane()
    rule: dict[str, Any] = {
        "subagent": "report-creation-expert",
        "rule": "corpus_before_report",
        "message": "Save the corpus.",
    }
    async with PaneHost(view).run_test(size=(90, 20)) as pilot:
        view.handle_events([ComplianceFailed(**rule)])
        assert shown(view)[0].startswith("⊘ compliance corpus before report")
        view.handle_events([ComplianceEnforced(**rule)])
        assert shown(view) == ["⟲ compliance corpus before report → sent back"]
        await pilot.press("enter")
        assert "report-creation-expert: Save the corpus." in shown(view)[1]
        view.handle_events([ComplianceFailed(**rule)])
        assert len(view.entries) == 2


async def test_the_row_of_a_check_says_what_was_found_and_leads_to_the_report() -> None:
    view = ObserversPane()
    host = PaneHost(view)
    async with host.run_test(size=(100, 10)) as pilot:
        path, report = "report_checks/a.html.json", "work_products/a.html"
        found = "2 figures: 1 traced, 1 untraced"
        view.handle_events(
            [
                began("r", REPORT_CHECK),
                saved(path, REPORT_CHECK),
                ReportChecked(
                    report=report, check=path, sha256="", unsupported=1, summary=found, tool_use_id="t"
                ),
                ended("r", observer=REPORT_CHECK, artifacts=[path], rejected=1),
            ]
        )
        (row,) = filled(view)
        assert row.startswith(f"⊘ report_check 1 unsupported  {found}  a.html")
        await pilot.press("enter")
        assert host.opened == [report]


async def test_enter_asks_to_show_the_artifact() -> None:
    view = ObserversPane()
    host = PaneHost(view)
    async with host.run_test(size=(90, 20)) as pilot:
        view.handle_events([ended("r", artifacts=["a.json"]), ended("s", "skipped")])
        await pilot.press("enter", "up", "enter")
        await pilot.pause()
        assert host.opened == ["a.json"]


async def test_other_events_change_nothing_and_empty_says_what_will_come() -> None:
    async with hosted(ObserversPane(), 60, 20) as (view, pilot):
        await pilot.pause()
        assert "appears" in " ".join(shown(view))
        view.handle_events([])
        assert title(view) == "Observers"


async def test_untrusted_text_is_shown_as_text() -> None:
    nasty = "[/x]\x1b]0;t\x07\u202e"
    async with hosted(ObserversPane(), 90, 20) as (view, pilot):
        view.handle_events(
            [
                ended("r", "failed", nasty, error=nasty),
                ended("s", artifacts=[nasty]),
                ended("u", "skipped", note=nasty),
            ]
        )
        view.handle_events([ComplianceFailed(subagent=nasty, rule=nasty, message=nasty)])
        await pilot.press("enter", "home", "enter")
        text = "".join(rows(view))
        assert "[/x]" in text
        assert all(char.isprintable() for char in text)


def test_a_row_never_leaves_its_width() -> None:
    run = Run(key="r", observer="workbench_activity")
    artifacts = ["search_results/composio_search_中文_140214_k3j2.json", "b"]
    run.finish(ended("r", artifacts=artifacts, items=1000, rejected=20, duplicates=3, duration_ms=12_345))
    failed = Run(key="f", observer="media", open=True)
    failed.finish(ended("f", "failed", error="broken " * 50))
    for width in range(1, 130):
        for one in (run, failed, Run(key="x", observer="search")):
            assert all(line_width(line) <= width for line in render_run(one, width, ObserversTheme()))
    wide = plain(render_run(run, 120, ObserversTheme())[0])
    assert wide.endswith("12.3s")
    assert "k3j2.json" in wide


def ran(*runs: tuple[str, Literal["saved", "skipped", "failed"], int, float]) -> list[ObserverFinished]:
    return [
        ended(f"m{number}", status, observer, items=items, duration_ms=took)
        for number, (observer, status, items, took) in enumerate(runs)
    ]


async def test_the_rows_come_first_and_m_shows_the_numbers_above_them() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, pilot):
        view.handle_events(
            ran(("search", "saved", 20, 2), ("search", "saved", 15, 9), ("media", "failed", 0, 31))
        )
        rows_alone = shown(view)
        assert filled(view) == rows_alone
        await pilot.press("m")
        table = filled(view)[:4]
        assert [row.split() for row in table[:3]] == [
            ["observer", "runs", "saved", "skip", "fail", "items", "p50", "p95"],
            ["search", "2", "2", "0", "0", "35", "2", "ms", "9", "ms"],
            ["media", "1", "0", "0", "1", "0", "31", "ms", "31", "ms"],
        ]
        assert len({len(row) for row in table}) == 1
        assert shown(view) == rows_alone
        view.handle_events([ended("late", "skipped", "media", duration_ms=1)])
        assert filled(view)[2].split()[1:6] == ["2", "0", "1", "1", "0"]
        await pilot.press("m")
        assert filled(view) == shown(view) == [*rows_alone, shown(view)[-1]]


async def test_numbers_leave_most_of_a_low_pane_to_the_rows() -> None:
    async with hosted(ObserversPane(), 90, 16) as (view, pilot):
        view.handle_events(ran(*((f"observer_{n}", "saved", 1, 2) for n in range(6))))
        await pilot.press("m")
        assert [row.split()[0] for row in filled(view)[:5]] == [
            "observer", "observer_0", "observer_1", "observer_2", "+3",
        ]  # fmt: skip
        assert len(shown(view)) == 6
        await pilot.resize_terminal(90, 6)
        await pilot.pause()
        assert filled(view) == shown(view)


async def test_a_wide_row_names_the_call_and_p_asks_for_it() -> None:
    view = ObserversPane()
    host = PaneHost(view)
    async with host.run_test(size=(90, 20)) as pilot:
        view.handle_events([started("t", "mcp__composio__COMPOSIO_SEARCH_NEWS", query="chips")])
        view.handle_events([began("r"), ended("r", artifacts=["news_1.json"], items=25, duration_ms=2)])
        assert shown(view)[0].split() == [
            "✓",
            "search",
            "SEARCH_NEWS",
            "news_1.json",
            "25",
            "items",
            "2",
            "ms",
        ]
        await pilot.press("p")
        await pilot.pause()
        assert host.opened == ["t"]
        view.handle_events([ComplianceFailed(subagent="a", rule="r", message="m")])
        await pilot.press("end", "p")
        await pilot.pause()
        assert host.opened == ["t"]
        await pilot.resize_terminal(50, 20)
        await pilot.pause()
        assert "SEARCH_NEWS" not in "".join(shown(view))


async def test_the_table_stays_while_rows_scroll_and_clicks_meet_their_rows() -> None:
    view = ObserversPane()
    host = PaneHost(view)
    async with host.run_test(size=(90, 16)) as pilot:
        assert "observer" not in "".join(shown(view)[:1])
        await pilot.press("m")
        view.handle_events([ended(f"r{n}", artifacts=[f"{n}.json"], duration_ms=1) for n in range(40)])
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


async def test_a_table_that_did_not_change_is_not_painted_again() -> None:
    async with hosted(ObserversPane(), 90, 20) as (view, pilot):
        view.handle_events(ran(("search", "saved", 20, 2), ("media", "saved", 1, 3)))
        await pilot.press("m")
        before = [view.render_line(y) for y in range(4)]
        view.handle_events([ended("late", "saved", "media", duration_ms=3)])
        after = [view.render_line(y) for y in range(4)]
        assert [old is new for old, new in zip(before, after, strict=True)] == [True, True, False, True]


def test_the_table_fits_any_room_and_names_failures_first() -> None:
    styles = TableStyles(*[PLAIN] * 5)
    metrics: dict[str, RunMetrics] = {}
    for number in range(9):
        metrics[f"observer_number_{number}_中文"] = each = RunMetrics()
        for _ in range(number + 1):
            each.add("failed" if number == 3 else "saved", 99_999, 12_345.0)
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
