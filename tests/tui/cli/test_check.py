from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.observers.knowledge.recorded import Recorded
from tests.pdf_files import pdf_file
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.claims.ledger import Decision, Ledger, ListedClaim
from ua_tui.core.claims.opinion import Opinion, Opinions, digest
from ua_tui.core.claims.records import Check, Claim, Passage, Source, State, TextQuote
from ua_tui.core.storage.folders import SAVED_REPORTS
from ua_tui.core.text import clean
from ua_tui.tui.cli import main
from ua_tui.tui.cli.about import schema_of
from ua_tui.tui.cli.session.check import page_lines
from ua_tui.tui.render.layout import width_of

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
SOURCES = (
    Source(kind="article", title="Cats at work", url="https://cats.example/work"),
    *[Source(kind="search_row", url="https://dogs.example/")] * 2,
    Source(kind="query"),
)
DIFFERS = Claim(
    kind="figure", state="differs", quote=TextQuote("23 percent"), sentence="It used 23 percent.", section="Power",
    passages=(Passage(source=0, text="It used 32 percent.", quote=TextQuote("32 percent")),), instead="32 percent",
)  # fmt: skip
UNSEEN = Claim(kind="link", state="never seen", quote=TextQuote("this"), url="https://invented.example/")
AMBER = Claim(
    kind="figure", state="not found", quote=TextQuote("5 GW"), sentence="It has 5 GW.", note="No page mentions GW.",
)  # fmt: skip
FOUND = Claim(kind="figure", state="found", quote=TextQuote("41 percent"), sentence="Cats have 41 percent.")


def listed(*claims: Claim, **more: Any) -> CheckedReport:
    check = Check(claims=claims, title=more.pop("title", ""), notices=more.pop("notices", ()))
    made = ReportCheck(report="a.md", sha256="0", check=check, sources=SOURCES)
    ledger = Ledger(None, "a.md")
    ledger.opinions = more.pop("opinions", None)
    return CheckedReport.of(made, ledger, file="here/a.md", session="session_1")


def page(report: CheckedReport, width: int | None = None, *, is_table: bool = False) -> list[str]:
    return list(page_lines(report, width, is_table=is_table))


def test_only_doubtful_claims_are_explained_the_riskiest_first() -> None:
    report = listed(FOUND, AMBER, UNSEEN, DIFFERS, title="Cats", notices=("A file is gone.",))
    assert report.red == 2
    assert page(report) == [
        "Cats (here/a.md)",
        "3 figures: 1 found, 1 not found, 1 differs · 0 of 1 link read. Nothing else was checked.",
        "Compared with 1 page, 2 search rows of session_1.",
        "A file is gone.",
        "",
        "✗ differs  23 percent",
        "    Power: It used 23 percent.",
        "    The source says 32 percent.",
        "    “It used 32 percent.”",
        "    Cats at work",
        "    https://cats.example/work",
        "",
        "✗ never seen  this",
        "    https://invented.example/",
        "    This address was never read or found.",
        "",
        "? not found  5 GW",
        "    It has 5 GW.",
        "    No page mentions GW.",
    ]
    assert len(page(listed(FOUND))) == 3


def test_a_long_passage_is_shown_around_what_matters() -> None:
    text = "before " * 400 + "It used 32 percent." + " after" * 400
    passage = Passage(source=0, text=text, quote=TextQuote("32 percent"))
    claim = DIFFERS.as_state("not found", "", (passage,), instead="")
    (line,) = (line for line in page(listed(claim)) if "Nearest: “…" in line)
    assert "It used 32 percent." in line
    assert len(line) < 500


def test_the_table_has_all_claims_with_what_was_decided_and_what_the_model_said() -> None:
    opinion = Opinion(quote=AMBER.quote, sentence=AMBER.sentence, verdict="contradicts", words="two GW",
                      passages=digest(AMBER))  # fmt: skip
    opinions = Opinions(at=NOON, model="small", cost_usd=0.01, opinions=(opinion,))
    report = listed(FOUND, AMBER, DIFFERS, opinions=opinions)
    table = page(report, is_table=True)
    assert "Second opinion from small ($0.01): 1 contradict." in table
    assert [line.split() for line in table[-4:]] == [
        ["STATE", "KIND", "CLAIM", "DECISION", "SOURCE", "OPINION", "SENTENCE"],
        ["✗", "differs", "figure", "23", "percent", "open", "Cats", "at", "work", "It", "used", "23", "percent."],
        ["?", "not", "found", "figure", "5", "GW", "open", "contradicts", "It", "has", "5", "GW."],
        ["·", "found", "figure", "41", "percent", "open", "Cats", "have", "41", "percent."],
    ]  # fmt: skip
    assert "    Second opinion: contradicts: “two GW”" in page(report)
    assert page(report, 60, is_table=True)[-4].split() == ["STATE", "CLAIM", "DECISION", "SENTENCE"]


@pytest.mark.parametrize("is_table", [False, True])
@pytest.mark.parametrize("width", [20, 40, 100])
def test_lines_fit_a_terminal(width: int, is_table: bool) -> None:
    report = listed(AMBER, DIFFERS, FOUND, title="漢字 " * 40, notices=("A notice " * 20,))
    assert max(map(width_of, page(report, width, is_table=is_table))) <= max(width, 29)


HOSTILE = st.text(st.sampled_from("a \x1b[]\u202e\n\t\x07”“ 5%漢"), max_size=60)
DOUBTFUL: Sequence[State] = ("differs", "not found", "never seen")


@given(HOSTILE, HOSTILE, st.sampled_from(DOUBTFUL), st.none() | st.integers(10, 120), st.booleans())
def test_nothing_steers_the_terminal(
    text: str, other: str, state: State, width: int | None, is_table: bool
) -> None:
    quote = TextQuote(text)
    decision = Decision(
        quote=quote, sentence=other, state=state, at=NOON, by=text, answer="rejected", note=other
    )
    passage = Passage(source=5, text=text, headers=other, quote=TextQuote(other))
    claim = ListedClaim(
        kind="link", state=state, quote=quote, sentence=other, section=text, url=other, note=text, instead=other,
        passages=(passage,), decision=decision,
        opinion=Opinion(quote=quote, sentence=other, verdict="agrees", words=text),
    )  # fmt: skip
    report = CheckedReport(
        file=text, report=text, sha256="0", title=other, session=text, summary="x", red=1, notices=(text,),
        claims=(claim,), sources=(Source(kind="article", title=text, url=other),) * 6,
    )  # fmt: skip
    shown = "\n".join(page(report, width, is_table=is_table))
    assert shown == clean(shown)
    assert "\t" not in shown


@pytest.fixture
def session(tmp_path: Path, monkeypatch: Patch) -> Recorded:
    monkeypatch.chdir(tmp_path)
    session = Recorded(tmp_path)
    (session.folder / "work_products/cats.html").write_text("<p>Cats smile.</p>")
    return session


def give(monkeypatch: Patch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def report_of(capsys: Output) -> str:
    (found,) = json.loads(capsys.readouterr().out)
    return str(found["report"])


def test_the_session_of_a_file_is_found_and_nothing_is_written(
    session: Recorded, tmp_path: Path, capsys: Output
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main(["check", str(session.folder / "work_products/cats.html"), "--json"]) == 0
    assert report_of(capsys) == "work_products/cats.html"
    assert main(["check", str(session.folder / "work_products/cats.html")]) == 0
    shown = capsys.readouterr().out
    assert "No figures, quotations or links. Nothing else was checked.\n" in shown
    assert f"Compared with no sources of {session.folder.name}." in shown
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_saved_report_leads_to_its_session(session: Recorded, tmp_path: Path, capsys: Output) -> None:
    saved = tmp_path / SAVED_REPORTS
    saved.mkdir()
    (saved / "cats-1.html").write_text("<p>Cats smile.</p>")
    entry = {"saved_as": "cats-1.html", "source": "work_products/cats.html", "session": session.folder.name}
    (saved / "index.jsonl").write_text(json.dumps(entry) + "\n")
    assert main(["check", f"{SAVED_REPORTS}/cats-1.html", "--json"]) == 0
    assert report_of(capsys) == "work_products/cats.html"
    # An export is in the same folder, and is no report.
    of_kinds = [f"{SAVED_REPORTS}/exported.{kind}" for kind in ("html", "md", "pdf")]
    for exported in of_kinds:
        assert main(["export", "latest", "-o", exported]) == 0
    capsys.readouterr()
    for exported, options in product(of_kinds, ((), ("--session", "latest"))):
        assert main(["check", f"{SAVED_REPORTS}/cats-1.html", exported, "--json", *options]) == 0
        shown = capsys.readouterr()
        assert [each["file"] for each in json.loads(shown.out)] == [f"{SAVED_REPORTS}/cats-1.html"]
        assert f"{exported} is not checked, because it is an export: name the report itself" in shown.err
        assert main(["check", exported, *options]) == 2
    session.folder.rename(tmp_path / "elsewhere")
    assert main(["check", f"{SAVED_REPORTS}/cats-1.html"]) == 2
    assert "no longer exists: name a session, such as --session latest" in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "pack"), [(".zst", zstandard.compress), (".gz", gzip.compress)])
def test_a_compressed_file_with_a_given_session(
    session: Recorded, tmp_path: Path, capsys: Output, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / f"draft.md{suffix}").write_bytes(pack(b"Cats smile."))
    for named in ("latest", session.folder.name, str(session.folder)):
        assert main(["check", f"draft.md{suffix}", "--session", named, "--json"]) == 0
        assert report_of(capsys) == "draft.md"


def test_standard_input(session: Recorded, monkeypatch: Patch, capsys: Output) -> None:
    for text, name in (
        (b"<!DOCTYPE html><p>Cats smile.</p>", "html"),
        (b"Cats smile.", "md"),
        (pdf_file(["Cats smile."]), "pdf"),
    ):
        give(monkeypatch, text)
        assert main(["check", "-", "--session", "latest", "--json"]) == 0
        assert report_of(capsys) == f"standard_input.{name}"
    give(monkeypatch, b"Cats smile.")
    assert main(["check", "-"]) == 2
    assert "standard input belongs to no session: name a session" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "reported_error"), [
    (["nosuch.md"], "nosuch.md cannot be read: No such file"),
    (["notes"], "notes is a folder: name the reports in it, such as notes/*.html"),
    (["draft.md"], "draft.md belongs to no session: name a session, such as --session latest, or sources"),
    (["draft.md", "--session", "nosuch"], "there is no session 'nosuch'"),
    (["draft.docx", "--session", "latest"], "draft.docx is not a report: only HTML, Markdown, text and PDF"),
    (["binary.md", "--session", "latest"], "binary.md is not text: name it .pdf if it is a PDF, or save it as text"),
    (["broken.md.zst", "--session", "latest"], "broken.md.zst cannot be read"),
    (["large.md", "--session", "latest"], "large.md is too large: at most 64 MB are read"),
    (["large.md.gz", "--session", "latest"], "large.md.gz"),
    (["broken.pdf", "--session", "latest"], "broken.pdf cannot be checked: The PDF file could not be read: "),
    (["empty.md", "--session", "latest"], "empty.md cannot be checked: The report has no text that can be read."),
    (["a\x1b[31m.md"], "a\ufffd[31m.md cannot be read"),
    (["draft.md", "--sources", "nosuch"], "nosuch"),
    (["draft.md", "--sources", "notes"], "nothing to compare with in notes"),
    (["draft.md", "--sources", "notes", "--session", "latest"], "--session and --sources cannot be used together"),
    (["draft.md", "--session", "latest", "--ask-model"], "without a terminal it needs --yes"),
])  # fmt: skip
def test_what_cannot_be_checked_is_one_line(
    session: Recorded, tmp_path: Path, capsys: Output, given: list[str], reported_error: str
) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("draft.md", "draft.docx", "broken.md.zst"):
        (tmp_path / name).write_text("Cats smile.")
    with open(tmp_path / "large.md", "wb") as large:
        large.truncate((64 << 20) + 1)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (tmp_path / "empty.md").write_bytes(b" \n")
    (tmp_path / "binary.md").write_bytes(b"70 percent\0\xff")
    (tmp_path / "large.md.gz").write_bytes(gzip.compress(bytes((64 << 20) + 1), 1))
    assert main(["check", *given]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert reported_error in captured.err


def test_the_output_fits_its_schema(capsys: Output) -> None:
    assert main(["schema", "check"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema == json.loads(json.dumps(schema_of("check")))
    value = json.loads(msgspec.json.encode([listed(FOUND, AMBER, UNSEEN, DIFFERS)]))
    jsonschema.Draft202012Validator(schema).validate(value)


def test_a_closed_pipe_is_no_error(session: Recorded, monkeypatch: Patch, capfd: Any) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        main(["check", str(session.folder / "work_products/cats.html")])
        monkeypatch.undo()
    assert "Traceback" not in capfd.readouterr().err
