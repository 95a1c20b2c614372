"""`ua-tui check` with sessions that have read something, and with given files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.session.test_opinion import FakeModel
from tests.observers.check.sessions import ReadSession
from tests.pdf_files import pdf_file
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.claims.files import ledger_path
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.check.session import check_in_session
from ua_tui.tui.cli import main

PAGE = "https://cats.example/power"
TEXT = (
    "Contract prices for stacked memory rose by nine percent in the quarter, the sixth increase in a row. "
    "“We have never seen demand rise this fast,” said Ana Kovač, who runs the control room in Zagreb."
)
TRUE = (
    "# Power\n\nContract prices for stacked memory rose by nine percent in the quarter, the sixth increase in a row "
    f"([Cats]({PAGE})). “We have never seen demand rise this fast,” said Ana Kovač ([Cats]({PAGE})).\n"
)
WRONG = TRUE.replace("nine percent", "23 percent").replace("this fast", "this slowly")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: Patch) -> ReadSession:
    monkeypatch.chdir(tmp_path)
    session = ReadSession(tmp_path)
    session.crawl((PAGE, TEXT))
    return session


def test_several_reports_at_once(session: ReadSession, capsys: Output) -> None:
    files = [
        str(session.write(f"work_products/{name}.md", text)) for name, text in (("a", TRUE), ("b", WRONG))
    ]
    assert main(["check", *files]) == 1
    shown = capsys.readouterr().out
    assert shown.index("a.md)") < shown.index("b.md)") < shown.index("✗ differs  We have")
    assert "✗" not in shown[: shown.index("b.md)")]
    for part in (
        "The source says “We have never seen demand rise this fast",
        PAGE,
        "Compared with 1 page",
    ):
        assert part in shown
    assert main(["check", *files, "nosuch.md", "--json"]) == 2
    captured = capsys.readouterr()
    assert [report["red"] > 0 for report in json.loads(captured.out)] == [False, True]
    assert captured.err.count("\n") == 1
    assert main(["check", files[0], "--table"]) == 0
    assert "· found" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["power.md", "power.html", "power.txt", "power.pdf"])
def test_each_format_against_files_and_folders(
    tmp_path: Path, monkeypatch: Patch, capsys: Output, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    line = 'She said: "We have never seen demand rise this slowly in the control room."'
    texts = {"html": f"<p>{line}</p>".encode(), "pdf": pdf_file([line])}
    Path(name).write_bytes(texts.get(name.rpartition(".")[2], line.encode()))
    Path("notes").mkdir()
    Path("notes/one.md").write_text("Cats sleep.")
    Path("two.txt").write_text(
        "“We have never seen demand rise this fast in the control room,” said Ana Kovač."
    )
    assert main(["check", name, "--sources", "notes", "two.txt"]) == 1
    shown = capsys.readouterr().out
    assert "✗ differs  We have never seen demand rise this slowly" in shown
    assert "Compared with 2 files.\n" in shown
    assert "two.txt" in shown
    # Alone, the other notes say nothing of it.
    assert main(["check", name, "--sources", "notes/one.md"]) == 0
    assert "? not found  We have never" in capsys.readouterr().out


def test_a_link_that_was_never_seen_is_red(session: ReadSession, capsys: Output) -> None:
    Path("draft.md").write_text("Read [this](https://invented.example/page).\n")
    assert main(["check", "draft.md", "--session", "latest"]) == 1
    shown = capsys.readouterr().out
    assert "✗ never seen  this" in shown
    assert "    https://invented.example/page\n" in shown


def test_decisions_are_shown_and_those_of_others_sign_nothing(session: ReadSession, capsys: Output) -> None:
    report = "work_products/power.md"
    file = session.write(report, WRONG)
    check = check_in_session(file.read_bytes(), report, session.folder, Redactor())
    number = next(n for n, claim in enumerate(check.claims) if claim.state == "differs")
    path = session.folder / ledger_path(report)
    path.parent.mkdir()
    Ledger(session.folder, report).decide(check.claims, [number], "rejected", Redactor(), note="wrong year")
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr().out
    for part in (
        f"Signed: 0 of {len(check.claims)} accepted, 1 rejected, ",
        " · rejected\n",
        ": wrong year",
    ):
        assert part in shown
    assert main(["check", str(file), "--json"]) == 1
    (checked,) = json.loads(capsys.readouterr().out)
    assert [claim["decision"]["answer"] for claim in checked["claims"] if "decision" in claim] == ["rejected"]
    path.write_text(path.read_text().replace("wrong year", "planted"))
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "Signed" not in shown
    assert "its decisions do not count" in shown
    path.write_text("{")
    assert main(["check", str(file)]) == 1
    assert "No decisions are shown: " in capsys.readouterr().out


@pytest.mark.parametrize("form", [[], ["--json"], ["--table"]])
def test_secrets_are_masked(
    session: ReadSession, monkeypatch: Patch, capsys: Output, form: list[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-cats-and-dogs-0123456789")
    said = WRONG.replace("in a row", "in a row (sk-ant-api03-cats-and-dogs-0123456789)")
    file = session.write("work_products/power.md", said)
    assert main(["check", str(file), *form]) == 1
    shown = capsys.readouterr().out
    assert "23 percent" in shown
    assert "cats-and-dogs" not in shown


def test_a_second_opinion_is_shown_stored_and_changes_no_state(
    session: ReadSession, monkeypatch: Patch, capsys: Output
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-cats-and-dogs-0123456789")
    model = FakeModel(monkeypatch)
    model.words = "rose by nine percent"
    file = str(session.write("work_products/power.md", WRONG))
    assert main(["check", file, "--json"]) == 1
    before = capsys.readouterr().out
    assert main(["check", file, "--ask-model", "--yes", "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("Ask haiku about ")
    (plain,), (asked,) = json.loads(before), json.loads(captured.out)
    assert [claim["state"] for claim in asked["claims"]] == [claim["state"] for claim in plain["claims"]]
    opinions = [claim["opinion"] for claim in asked["claims"] if "opinion" in claim]
    assert {opinion["verdict"] for opinion in opinions} == {"agrees"}
    assert "second_opinion" not in plain
    # It stays, without another request.
    assert main(["check", file]) == 1
    assert "Second opinion from small-1 ($0.01): " in capsys.readouterr().out
    assert len(model.asked) == 1
    model.fails_at = 0
    assert main(["check", file, "--ask-model", "--yes"]) == 1
    assert "no second opinion: it is overloaded" in capsys.readouterr().err
