from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from core.events.types import ArtifactSaved, ObserverFinished, ReportChecked
from core.evidence.files import load_check
from core.evidence.records import Claim, Verdict
from core.observation import ToolResult
from observers import report_check
from observers.base import ObserverContext
from observers.evidence import check
from observers.execution.run import Run, perform
from observers.report_check import ReportChecker

Make = Callable[..., ToolResult]
WRITER = "mcp__local_toolkit__write_local_file"
CLAIMS = (
    Claim(kind="figure", verdict=Verdict.TRACED, text="9", start=0, end=1),
    Claim(kind="figure", verdict=Verdict.UNTRACED, text="12", start=2, end=4),
    Claim(kind="link", verdict=Verdict.SEEN, text="a", start=5, end=6),
)


def _claims(*_arguments: Any) -> tuple[Claim, ...]:
    return CLAIMS


@pytest.fixture
def written(context: ObserverContext, result: Make, monkeypatch: pytest.MonkeyPatch) -> ToolResult:
    monkeypatch.setattr(check, "_CHECKERS", (_claims,))
    context.workspace.write("work_products/a.html", "<p>9, 12</p>")
    return result(WRITER, "{}", path="work_products/a.html", content="<p>9, 12</p>")


def test_a_saved_report_is_checked_and_reported(context: ObserverContext, written: ToolResult) -> None:
    observer = ReportChecker()
    assert observer.wants(written.call)
    run = perform(Run(observer.name, WRITER, "t1"), observer, written, context)
    saved, checked, finished = list(run.finished(announced=True))
    assert isinstance(saved, ArtifactSaved)
    assert (saved.path, saved.kind) == ("report_checks/a.html.json", "report_check")
    assert isinstance(checked, ReportChecked)
    assert checked.counts == {"figure": {"traced": 1, "untraced": 1}, "link": {"seen": 1}}
    assert (checked.report, checked.check) == ("work_products/a.html", saved.path)
    assert (checked.unsupported, checked.doubtful, checked.tool_use_id) == (1, 2, "t1")
    assert isinstance(finished, ObserverFinished)
    assert finished.note == checked.summary == "2 figures: 1 traced, 1 untraced · 1 of 1 link seen, not read"
    found = load_check(context.workspace.root, "work_products/a.html")
    assert found is not None
    assert (found.sha256, len(found.claims)) == (checked.sha256, 3)


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
    monkeypatch.setattr(report_check, "_LARGEST", 4)
    outcome = ReportChecker().observe(written, context)
    assert outcome.checked is None
    assert "larger than" in (outcome.note or "")
