from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext, Outcome
from ua_tui.observers.output import written_files
from ua_tui.observers.work_products import WorkProducts, is_draft

Make = Callable[..., ToolResult]
WRITER = "mcp__local_toolkit__write_local_file"


def write(
    context: ObserverContext, result: Make, path: str, text: str, tool_use_id: str = "t1"
) -> ToolResult:
    written = context.workspace.write(path, text.encode())
    answer = {"path": path, "size": written.size, "sha256": written.sha256}
    return result(WRITER, answer, tool_use_id, path=path, content=text)


def observe(context: ObserverContext, call: ToolResult) -> Outcome:
    return WorkProducts().observe(call, context)


def copies(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "index.jsonl"}


def index(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "index.jsonl").read_text().splitlines()]


def test_reports_of_one_name_and_second_are_all_kept(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    reports = tmp_path / "SAVED_REPORTS"
    reports.mkdir()
    target = tmp_path / "elsewhere.html"
    target.write_bytes(b"mine")
    (reports / "report_20260310_120000.html").write_bytes(b"earlier")
    (reports / "report_20260310_120000-2.html").symlink_to(target)
    first_call = write(context, result, "work_products/report.html", "one")
    second_call = write(context, result, "work_products/report.html", "two", "t2")
    # The first version was replaced before it was observed.
    first, second = observe(context, first_call), observe(context, second_call)
    again = observe(context, second_call)
    kept = [Path(outcome.artifacts[0].copied_to or "") for outcome in (first, second)]
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]
    assert (reports / "report_20260310_120000.html").read_bytes() == b"earlier"
    assert target.read_bytes() == b"mine"
    assert again.artifacts == ()
    entries = index(reports)
    assert [each["sha256"] for each in entries] == [
        hashlib.sha256(data).hexdigest() for data in (b"one", b"two")
    ]
    assert {each["session"] for each in entries} == {context.workspace.session_id}
    assert [each["saved_as"] for each in entries] == [
        "report_20260310_120000-3.html",
        "report_20260310_120000_v2.html",
    ], "the name says which version is the later one"
    assert [each["replaces"] for each in entries] == [None, "report_20260310_120000-3.html"]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "work_products/../trace.json", "notes/work_products/x", "work_products",
        "work_products/media/a.mp4",
    ],
)  # fmt: skip
def test_only_files_under_work_products_are_copied(
    context: ObserverContext, result: Make, tmp_path: Path, path: str
) -> None:
    outcome = WorkProducts().observe(result("Write", "ok", file_path=path), context)
    assert outcome.artifacts == ()
    assert not (tmp_path / "SAVED_REPORTS").exists()


def test_what_the_toolkit_masked_is_copied_as_it_was_written(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    written = context.workspace.write("work_products/a.md", b"key: [masked]")
    answer = {"path": "work_products/a.md", "size": written.size, "sha256": written.sha256}
    observe(context, result(WRITER, answer, path="work_products/a.md", content="key: secret"))
    assert list(copies(tmp_path / "SAVED_REPORTS").values()) == [b"key: [masked]"]


def test_programs_at_once_lose_no_copy_and_no_line(
    result: Make, context: ObserverContext, tmp_path: Path
) -> None:
    now = context.now()
    contexts = [ObserverContext(Workspace.create(tmp_path, now), now=lambda: now) for _ in range(2)]

    def work(one: ObserverContext) -> None:
        for number in range(20):
            text = f"{one.workspace.session_id} {number}"
            assert observe(one, write(one, result, "work_products/r.md", text, f"t{number}")).items == 1

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, contexts))
    folder = tmp_path / "SAVED_REPORTS"
    kept, lines = copies(folder), index(folder)
    assert len(kept) == len(lines) == len(set(kept.values())) == 40
    assert {line["saved_as"]: line["sha256"] for line in lines} == {
        name: hashlib.sha256(data).hexdigest() for name, data in kept.items()
    }


def test_a_torn_and_a_foreign_line_of_the_index_do_no_harm(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    call = write(context, result, "work_products/r.md", "text")
    digest = hashlib.sha256(b"text").hexdigest()
    folder = tmp_path / "SAVED_REPORTS"
    folder.mkdir()
    odd = {"sha256": digest, "source": "work_products/r.md", "session": context.workspace.session_id}
    lines = [
        f'{{"sha256": "{digest}', json.dumps(odd | {"saved_as": "../../etc/passwd"}), "x" * 200_000, "[]", "[" * 60_000,
    ]  # fmt: skip
    (folder / "index.jsonl").write_text("\n".join(lines) + "\n{torn")
    assert observe(context, call).items == 1
    assert observe(context, call).duplicates == 1
    assert len(copies(folder)) == 1


def test_a_copy_that_was_removed_is_made_again(context: ObserverContext, result: Make) -> None:
    call = write(context, result, "work_products/r.md", "text")
    Path(observe(context, call).artifacts[0].copied_to or "").unlink()
    assert observe(context, call).items == 1


def test_an_index_that_cannot_be_written_is_named_and_the_copy_kept(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    folder, target = tmp_path / "SAVED_REPORTS", tmp_path / "target"
    folder.mkdir()
    target.write_bytes(b"mine\n")
    (folder / "index.jsonl").symlink_to(target)
    outcome = observe(context, write(context, result, "work_products/r.md", "text"))
    assert len(outcome.artifacts) == 1
    assert "not added to the index" in (outcome.note or "")
    assert target.read_bytes() == b"mine\n"


def test_a_folder_for_reports_that_cannot_be_used_is_named(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    call = write(context, result, "work_products/r.md", "text")
    (tmp_path / "SAVED_REPORTS").write_bytes(b"a file in the way")
    with pytest.raises(WorkspaceError, match="SAVED_REPORTS"):
        observe(context, call)


def test_a_write_by_way_of_a_link_to_the_workspace_is_found(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    (tmp_path / "way").symlink_to(context.workspace.path)
    context.workspace.write("work_products/r.md", b"text")
    call = result("Write", "ok", file_path=str(tmp_path / "way/work_products/r.md"))
    assert observe(context, call).items == 1


class Writer:
    """A clock whose every sleep lets others continue to write a file, with pauses in between."""

    PAUSE = 0.4

    def __init__(self, path: Path, *, replaces: bool, ahead: float) -> None:
        self._path = path
        self._ahead = ahead
        self._mode = "wb" if replaces else "ab"
        self._now = self._due = time.time()
        self.parts = [b"begun", b" part", b" part", b" whole"]
        self.sleep(0)

    def monotonic(self) -> float:
        return self._now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self._now += seconds
        if self.parts and self._now >= self._due:
            self._due = self._now + self.PAUSE
            with self._path.open(self._mode) as file:
                file.write(self.parts.pop(0))
            os.utime(self._path, (self._now + self._ahead, self._now + self._ahead))


@pytest.mark.parametrize("ahead", [0, 60], ids=["same-clock", "clock-ahead"])
@pytest.mark.parametrize(
    ("replaces", "whole"), [(False, b"begun part part whole"), (True, b" whole")], ids=["appends", "replaces"]
)
def test_a_file_that_others_continue_to_write_is_copied_once_it_rests(
    context: ObserverContext,
    result: Make,
    monkeypatch: pytest.MonkeyPatch,
    replaces: bool,
    whole: bytes,
    ahead: float,
) -> None:
    path = context.workspace.path / "work_products/slow.md"
    writer = Writer(path, replaces=replaces, ahead=ahead)
    monkeypatch.setattr(written_files, "time", writer)
    outcome = observe(context, result("Write", "ok", file_path=str(path)))
    assert Path(outcome.artifacts[0].copied_to or "").read_bytes() == whole
    assert writer.parts == []


DRAFTS = """
    _notes.md outline.md .hidden Draft-2.md report.tmp report_draft.html report_draft_v2.html report-draft-3.html
    report_20261121_draft.md report_working.md working_draft.md draft_report.md draft-report.md drafts/report.md
    _steps/report.md report.draft.md
"""
FINISHED = """
    working_capital_report.html draft-horses.html nba-draft-2026.html remote-working.html overdraft.html 2026.html
    partial_differential_equations.html temperature.html contemporary.html report_v2.md
"""


@pytest.mark.parametrize(("names", "draft"), [(DRAFTS, True), (FINISHED, False)], ids=["drafts", "finished"])
def test_which_names_are_drafts(names: str, draft: bool) -> None:
    assert [name for name in names.split() if is_draft(f"work_products/{name}") is not draft] == []


@pytest.mark.parametrize("name", ["x.sh", "x.desktop", "market_data.json", "sales_analysis.py"])
def test_only_documents_are_copied(context: ObserverContext, result: Make, tmp_path: Path, name: str) -> None:
    outcome = observe(context, write(context, result, f"work_products/{name}", "text"))
    assert (outcome.artifacts, "not copied" in (outcome.note or "")) == ((), True)
    program = observe(context, write(context, result, "work_products/report.html", "#!/bin/sh"))
    assert program.artifacts == ()
    assert not (tmp_path / "SAVED_REPORTS").exists()


def test_a_link_that_was_made_meanwhile_is_not_followed(
    context: ObserverContext, result: Make, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "SAVED_REPORTS").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="is a link"):
        observe(context, write(context, result, "work_products/report.html", "text"))
    assert list((tmp_path / "elsewhere").iterdir()) == []
