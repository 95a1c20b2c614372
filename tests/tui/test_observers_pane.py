from __future__ import annotations

from typing import Any, Literal

from core.events import ArtifactSaved, ComplianceEnforced, ComplianceFailed, ObserverFinished, ObserverStarted
from tests.tui.pane_host import PaneHost, rows
from tui.panes.observers import ObserversPane, ObserversTheme, Run, render_run
from tui.text_layout import line_width, plain


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


def shown(view: ObserversPane) -> list[str]:
    return [row.rstrip() for row in rows(view) if row.strip()]


def title(view: ObserversPane) -> str:
    assert view._border_title is not None
    return view._border_title.plain


async def test_a_run_is_one_row_from_start_to_end() -> None:
    view = ObserversPane()
    async with PaneHost(view).run_test(size=(90, 20)):
        view.apply([began("r")])
        assert shown(view) == ["… search             at work"]
        view.apply([saved("search_results/news_1.json"), saved("search_results/web_1.json")])
        paths = ["search_results/news_1.json", "search_results/web_1.json"]
        view.apply([ended("r", artifacts=paths, items=35, rejected=2, duplicates=1, duration_ms=2.4)])
        assert len(shown(view)) == 1
        row = shown(view)[0]
        assert row.startswith("✓ search             news_1.json +1")
        assert row.endswith("35 items, 2 rejected, 1 duplicate   2 ms")
        assert title(view) == "Observers · 2 saved · 0 failed · 2 ms"


async def test_failed_runs_say_why_and_are_counted() -> None:
    view = ObserversPane()
    async with PaneHost(view).run_test(size=(90, 20)) as pilot:
        view.apply(
            [ended("r", "failed", error="ValueError: no such file\nin media.py, line 3", duration_ms=31)]
        )
        assert shown(view)[0].startswith("✗ search             ValueError: no such file in media.py")
        assert title(view) == "Observers · 0 saved · 1 failed · 31 ms"
        await pilot.press("enter")
        assert [row.strip() for row in shown(view)[1:]] == ["ValueError: no such file", "in media.py, line 3"]
        await pilot.press("enter")
        assert len(shown(view)) == 1


async def test_skipped_runs_say_why_nothing_was_saved() -> None:
    view = ObserversPane()
    async with PaneHost(view).run_test(size=(90, 20)):
        view.apply([ended("r", "skipped", note="no results in it"), ended("s", "skipped")])
        assert "no results in it" in shown(view)[0]
        assert "nothing to save" in shown(view)[1]
        assert title(view).startswith("Observers · 0 saved · 0 failed")


async def test_copies_to_the_saved_reports_are_told_whichever_event_comes_first() -> None:
    view = ObserversPane()
    path = "work_products/report.html"
    async with PaneHost(view).run_test(size=(90, 20)):
        copied = saved(path, "products", copied="SAVED_REPORTS/report.html")
        view.apply([began("r", "products"), copied, ended("r", observer="products", artifacts=[path])])
        view.apply([ended("s", observer="products", call="u", artifacts=["b.html"])])
        assert "SAVED_REPORTS" not in shown(view)[1]
        view.apply([saved("b.html", "products", "u", copied="SAVED_REPORTS/b.html")])
        assert "report.html → SAVED_REPORTS" in shown(view)[0]
        assert "b.html → SAVED_REPORTS" in shown(view)[1]


async def test_a_broken_rule_and_its_enforcement_are_one_row() -> None:
    view = ObserversPane()
    rule: dict[str, Any] = {
        "subagent": "report-creation-expert",
        "rule": "corpus_before_report",
        "message": "Save the corpus.",
    }
    async with PaneHost(view).run_test(size=(90, 20)) as pilot:
        view.apply([ComplianceFailed(**rule)])
        assert shown(view)[0].startswith("⊘ compliance         corpus before report")
        view.apply([ComplianceEnforced(**rule)])
        assert shown(view) == ["⟲ compliance         corpus before report → sent back"]
        await pilot.press("enter")
        assert "report-creation-expert: Save the corpus." in shown(view)[1]
        view.apply([ComplianceFailed(**rule)])
        assert len(view.runs) == 2


async def test_enter_asks_to_show_the_artifact() -> None:
    view = ObserversPane()
    host = PaneHost(view)
    async with host.run_test(size=(90, 20)) as pilot:
        view.apply([ended("r", artifacts=["a.json"]), ended("s", "skipped")])
        await pilot.press("enter", "up", "enter")
        await pilot.pause()
        assert host.opened == ["a.json"]


async def test_other_events_change_nothing_and_empty_says_what_will_come() -> None:
    view = ObserversPane()
    async with PaneHost(view).run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        assert "appears" in " ".join(shown(view))
        view.apply([])
        assert title(view) == "Observers"


async def test_untrusted_text_is_shown_as_text() -> None:
    nasty = "[/x]\x1b]0;t\x07\u202e"
    view = ObserversPane()
    async with PaneHost(view).run_test(size=(90, 20)) as pilot:
        view.apply(
            [
                ended("r", "failed", nasty, error=nasty),
                ended("s", artifacts=[nasty]),
                ended("u", "skipped", note=nasty),
            ]
        )
        view.apply([ComplianceFailed(subagent=nasty, rule=nasty, message=nasty)])
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
