from __future__ import annotations

import shutil
from pathlib import Path

from tests.observers.knowledge.recorded import Recorded
from tests.tui.fixture_types import Output
from ua_tui.tui.cli import main


def test_what_is_no_report_of_a_session_is_refused_before_a_session_begins(
    tmp_path: Path, capsys: Output
) -> None:
    report = tmp_path / "report.html"
    assert main(["again", "--demo", str(report)]) == 2
    report.write_text("<p>41")
    assert main(["again", "--demo", str(report)]) == 2
    missing, strange = capsys.readouterr().err.splitlines()
    assert "cannot be read: No such file or directory" in missing
    assert "is not the report of any session" in strange
    assert not (tmp_path / "AGENT_RUN_WORKSPACES").exists()


def test_what_a_session_has_beside_its_reports_is_not_asked_again(tmp_path: Path, capsys: Output) -> None:
    session = Recorded(tmp_path)
    session.write_report("cats", "# Cats")
    (session.folder / "work_products/mine.txt").write_text("written by hand")
    mine = str(session.folder / "work_products/mine.txt")
    assert main(["again", "--demo", "--workspace", str(tmp_path), mine]) == 2
    assert "mine.txt is not a report of its session" in capsys.readouterr().err
    assert list(session.folder.parent.iterdir()) == [session.folder]


def test_the_query_of_somebody_elses_session_is_not_asked(tmp_path: Path, capsys: Output) -> None:
    session = Recorded(tmp_path)
    session.write_report("cats", "# Cats")
    copied = shutil.copytree(session.folder, session.folder.with_name("session_20260311_120000"))
    assert main(["again", "--demo", "--workspace", str(tmp_path), str(copied / "work_products/cats.md")]) == 2
    assert "was not made by this program for this user" in capsys.readouterr().err
    assert len(list(copied.parent.iterdir())) == 2
