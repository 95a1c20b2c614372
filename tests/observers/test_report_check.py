from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.observers.check.sessions import ReadSession, crawled_page
from ua_tui.core.claims.files import load_check
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import ArtifactSaved, ObserverFinished, ReportChecked
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.observation import ToolResult
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers import report_check
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.execution.run import Run, perform
from ua_tui.observers.knowledge.catch_up import index_piece
from ua_tui.observers.report_check import ReportChecker

Make = Callable[..., ToolResult]
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
WRITER = "mcp__local_toolkit__write_local_file"
REPORT = (
    "<p>The otters of the bay weigh 77 kilograms and eat 1,200 fish.</p>"
    '<p><a href="https://invented.example/x">Otters</a></p>'
)


@pytest.fixture
def written(context: ObserverContext, result: Make) -> ToolResult:
    page = crawled_page(
        "https://animals.example/otters",
        "Otters of the bay weigh 77 kilograms.",
        markdown="search_results/crawl_a.md",
    )
    context.workspace.write("extracted_articles/a.json", json.dumps(page))
    context.workspace.write("work_products/a.html", REPORT)
    return result(WRITER, "{}", path="work_products/a.html", content=REPORT)


def test_a_saved_report_is_checked_and_reported(context: ObserverContext, written: ToolResult) -> None:
    observer = ReportChecker()
    assert observer.wants(written.call)
    run = perform(Run(observer.name, WRITER, "t1"), observer, written, context)
    saved, checked, finished = list(run.finished(announced=True))
    assert isinstance(saved, ArtifactSaved)
    assert (saved.path, saved.kind) == ("report_checks/a.html.json", "report_check")
    assert isinstance(checked, ReportChecked)
    assert checked.counts == {"figure": {"found": 1, "not found": 1}, "link": {"never seen": 1}}
    assert (checked.report, checked.check) == ("work_products/a.html", saved.path)
    assert (checked.red, checked.doubtful, checked.tool_use_id) == (1, 2, "t1")
    assert isinstance(finished, ObserverFinished)
    assert finished.note == checked.summary
    assert checked.summary.startswith("2 figures: 1 found, 1 not found · 0 of 1 link read")
    found = load_check(context.workspace.root, "work_products/a.html")
    assert found is not None
    assert (found.sha256, len(found.claims)) == (checked.sha256, 3)


def test_an_event_of_an_older_version_is_read() -> None:
    old = (
        b'{"event":"report_checked","seq":3,"at":"2026-11-20T12:00:00Z","session_id":"s","report":"work_products/a.html",'
        b'"check":"report_checks/a.html.json","sha256":"0","counts":{"figure":{"traced":1,"untraced":1}},'
        b'"unsupported":1,"doubtful":1,"summary":"2 figures: 1 traced, 1 untraced"}'
    )
    event = decode_event(old)
    assert isinstance(event, ReportChecked)
    assert (event.red, event.doubtful) == (0, 1)


def test_the_same_check_is_saved_once(context: ObserverContext, written: ToolResult) -> None:
    first = ReportChecker().observe(written, context)
    again = ReportChecker().observe(written, context)
    assert first.checked is not None
    assert (len(first.artifacts), again.artifacts, again.duplicates) == (1, (), 1)
    assert again.checked is not None
    assert again.checked.summary == first.checked.summary


@pytest.mark.parametrize(
    "path", ["work_products/data.csv", "work_products/media/a.html", "notes/work_products.md"]
)
def test_other_files_are_not_checked(context: ObserverContext, result: Make, path: str) -> None:
    context.workspace.write(path, "9")
    outcome = ReportChecker().observe(result(WRITER, "{}", path=path, content="9"), context)
    assert (outcome.checked, outcome.note) == (None, "not a document that can be checked")


def test_drafts_are_checked_and_failed_writes_are_not(
    context: ObserverContext, result: Make, written: ToolResult
) -> None:
    context.workspace.write("work_products/_draft.md", "9")
    outcome = ReportChecker().observe(result(WRITER, "{}", path="work_products/_draft.md"), context)
    assert outcome.checked is not None
    failed = result(WRITER, "no", error="no", path="work_products/a.html")
    assert ReportChecker().observe(failed, context).note == "the write failed"


def test_a_report_that_is_too_large_is_not_checked(
    context: ObserverContext, written: ToolResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_check, "LARGEST_REPORT", 4)
    outcome = ReportChecker().observe(written, context)
    assert outcome.checked is None
    assert "larger than" in (outcome.note or "")


def test_pages_of_earlier_sessions_are_known(tmp_path: Path, result: Make) -> None:
    url = "https://animals.example/otters"
    earlier = ReadSession(tmp_path)
    earlier.crawl((url, "Otters smile."))
    database = tmp_path / WORKSPACES / FILE
    with open_store(database) as store:
        assert not index_piece(store, earlier.folder, Redactor())
    text = f"[Otters]({url}) smile."
    workspace = Workspace.create(tmp_path, NOON)
    workspace.write("work_products/a.md", text)
    written = result(WRITER, "{}", path="work_products/a.md", content=text)
    for knowledge, state in ((None, "never seen"), (database, "found")):
        outcome = ReportChecker().observe(written, ObserverContext(workspace, knowledge=knowledge))
        assert outcome.checked is not None
        assert outcome.checked.counts == {"link": {state: 1}}
    found = load_check(workspace.root, "work_products/a.md")
    assert found is not None
    assert [(each.kind, each.session) for each in found.sources] == [("earlier", earlier.folder.name)]
    workspace.close()
