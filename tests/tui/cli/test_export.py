from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.permissions import permissions_obeyed
from tests.tui.export.exported import answered, reported
from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli import main


@pytest.fixture
def session(tmp_path: Path, monkeypatch: Patch) -> Recorded:
    monkeypatch.chdir(tmp_path)
    session = Recorded(tmp_path)
    reported(session, "<p>Cats smile.</p>")
    answered(session)
    return session


def test_the_file_is_in_the_saved_reports_and_replaces_none(
    session: Recorded, tmp_path: Path, capsys: Output
) -> None:
    name = session.folder.name
    assert main(["export", "latest"]) == 0
    assert f"Exported {name} to {tmp_path}/SAVED_REPORTS/cats.html (" in capsys.readouterr().out
    assert main(["export", name]) == 0
    assert "cats-2.html" in capsys.readouterr().out
    assert main(["export", str(session.folder), "--format", "md"]) == 0
    assert "Cats smile." in (tmp_path / "SAVED_REPORTS/cats.md").read_text()
    assert not list(tmp_path.glob("*.*"))


def test_a_file_of_another_name_and_standard_output(
    session: Recorded, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["export", "latest", "--format", "json", "-o", "-"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["session"]["id"] == session.folder.name
    assert main(["export", "latest", "--report", "cats.html", "-o", "out.html"]) == 0
    assert b"Exported" in capsysbinary.readouterr().out
    before = (tmp_path / "out.html").read_bytes()
    assert main(["export", "latest", "-o", "out.html"]) == 1
    assert b"already exists; choose another name" in capsysbinary.readouterr().err
    assert (tmp_path / "out.html").read_bytes() == before


@pytest.mark.parametrize(("given", "code", "reported_error"), [
    (["nosuch"], 2, "there is no session 'nosuch'"),
    (["latest", "--report", "dogs.html"], 2, "has no report 'dogs.html': it has work_products/cats.html"),
    (["latest", "--report", "../../../etc/passwd"], 2, "has no report"),
    (["latest", "--format", "ris"], 2, "no references to export: work_products/cats.html cites no page"),
    (["latest", "-o", "missing/out.html"], 1, "cannot open the folder"),
    (["latest", "-o", ""], 2, "-o needs a file"),
    (["latest", "-o", "."], 1, "out"),
])  # fmt: skip
def test_what_cannot_be_exported_is_one_line(
    session: Recorded, capsys: Output, given: list[str], code: int, reported_error: str
) -> None:
    assert main(["export", *given]) == code
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    if given[-1] != ".":
        assert reported_error in error


def test_a_folder_that_may_not_be_written(session: Recorded, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "SAVED_REPORTS").mkdir(mode=0o500)
    with permissions_obeyed():
        assert main(["export", "latest"]) == 1
    assert "cannot write" in capsys.readouterr().err
