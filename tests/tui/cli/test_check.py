from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import reported
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.evidence.records import Claim, Disagreement, Evidence, ReportCheck, Source, Verdict
from ua_tui.core.storage.folders import SAVED_REPORTS
from ua_tui.core.text import clean
from ua_tui.tui.cli import main
from ua_tui.tui.cli.session.check_page import CheckPage
from ua_tui.tui.render.layout import width_of

REPORT = "# Power\n\nIt used 23 percent.\n"
SOURCES = (
    Source(kind="article", title="Cats at work", url="https://cats.example/work"),
    Source(kind="search_row", url="https://dogs.example/"),
)
UNTRACED = Claim(
    id=1, kind="figure", verdict=Verdict.UNTRACED, text="23 percent", start=18, end=28,
    sentence="It used 23 percent.", at=8, section="Power", note="No source has this figure.",
    evidence=(Evidence(source=0, passage="It used 32 percent.", marks=((8, 18),)),),
)  # fmt: skip
OTHER = Claim(
    id=2, kind="figure", verdict=Verdict.OTHER_SOURCE, text="5 GW", start=9, end=12,
    note="Not in the cited source.",
)  # fmt: skip
NAME = Claim(id=3, kind="name", verdict=Verdict.LOOK, text="Ana Kovač", start=0, end=5)
TRACED = Claim(id=4, kind="figure", verdict=Verdict.TRACED, text="41 percent", start=0, end=2)
DISAGREEMENT = Disagreement(
    subject="cats use … of the power", values=("41 percent", "5 percent"),
    evidence=(Evidence(source=0), Evidence(source=1)), claims=(4,),
)  # fmt: skip


def page(
    claims: Sequence[Claim],
    *,
    width: int | None = None,
    everything: bool = False,
    source: str = REPORT,
    **more: Any,
) -> str:
    check = ReportCheck(report="a.md", sha256="0", claims=tuple(claims), sources=SOURCES, **more)
    starts = [0, *(at + 1 for at, character in enumerate(source) if character == "\n")]
    return "\n".join(CheckPage(width).lines(check, "session_1", starts, everything=everything))


def test_a_claim_that_is_not_supported_is_explained() -> None:
    assert page([UNTRACED]).splitlines() == [
        "1 figure untraced", "Compared with 2 sources of session_1.", "", "Not supported: 1", "",
        "? untraced  23 percent", "    Power, line 3: It used 23 percent.", "    No source has this figure.",
        "    Nearest: “It used 32 percent.” (Cats at work, https://cats.example/work)",
    ]  # fmt: skip


def test_all_kinds_of_findings_are_listed_in_the_order_of_their_weight() -> None:
    shown = page([TRACED, OTHER, NAME, UNTRACED], disagreements=(DISAGREEMENT,), notices=("A file is gone.",))
    parts = [
        "3 figures: 1 traced, 1 in another source, 1 untraced", "A file is gone.", "Not supported: 1",
        "To look at: 2",
        "↗ in another source  5 GW  line 3 · Not in the cited source.",
        "◇ names in no source: Ana Kovač", "Sources disagree: 1", "cats use … of the power",
        "    41 percent  Cats at work, https://cats.example/work", "    5 percent   https://dogs.example/",
    ]  # fmt: skip
    assert [part for part in parts if part not in shown] == []
    assert sorted(parts, key=shown.index) == parts
    assert "Supported" not in shown
    assert "✓ traced  41 percent" in page([TRACED], everything=True)


def test_addresses_remarks_and_the_end_of_a_long_report_are_mentioned() -> None:
    url = "https://a.example/"
    link = Claim(kind="link", verdict=Verdict.INVENTED, text="this", start=0, end=4, url=url)
    assert f"    {url}\n    Nothing that the session read or found has this address." in page([link])
    bare = Claim(kind="link", verdict=Verdict.SEEN, text=url, start=0, end=4, url=url)
    assert page([bare]).count(url) == 1
    odd = Claim(kind="figure", verdict=Verdict.TRACED, text="7", start=0, end=1, remarks=(
        "It has invisible characters.",
    ))  # fmt: skip
    shown = page([odd], is_cut=True, notices=("Only the beginning was checked.",))
    assert "! traced  7  line 1 · It has invisible characters." in shown
    assert shown.count("beginning") == 1
    assert "Not supported" not in shown


@pytest.mark.parametrize("width", [30, 60, 100])
def test_lines_fit_a_terminal(width: int) -> None:
    claims = [UNTRACED, OTHER, NAME]
    more: dict[str, Any] = {"disagreements": (DISAGREEMENT,), "notices": ("A notice " * 20,)}
    shown = page(claims, width=width, **more)
    assert max(map(width_of, shown.splitlines())) <= width
    if width > 40:
        assert shown.split() == page(claims, **more).split()


HOSTILE = st.text(st.sampled_from("a \x1b[]\u202e\n\t\x07”“ 5%漢"), max_size=60)


@given(HOSTILE, HOSTILE, st.sampled_from(Verdict), st.none() | st.integers(10, 120))
def test_nothing_steers_the_terminal(text: str, other: str, verdict: Verdict, width: int | None) -> None:
    claim = Claim(
        kind="quotation", verdict=verdict, text=text, start=0, end=1, sentence=other, section=text,
        note=other, remarks=(text,), evidence=(Evidence(source=5, passage=other),),
    )  # fmt: skip
    wrong = Disagreement(subject=text, values=(other,), evidence=(Evidence(source=0),))
    shown = page([claim], width=width, everything=True, notices=(text,), disagreements=(wrong,))
    assert shown == clean(shown)
    assert "\t" not in shown


@pytest.fixture
def session(tmp_path: Path, monkeypatch: Patch) -> Recorded:
    monkeypatch.chdir(tmp_path)
    session = Recorded(tmp_path)
    reported(session, "<p>Cats smile.</p>")
    return session


def give(monkeypatch: Patch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_session_of_a_file_is_found_and_nothing_is_written(
    session: Recorded, tmp_path: Path, capsys: Output
) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main(["check", str(session.folder / "work_products/cats.html"), "--json"]) == 0
    check = json.loads(capsys.readouterr().out)
    assert check["report"] == "work_products/cats.html"
    assert main(["check", str(session.folder / "work_products/cats.html")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("nothing to check: no figures, quotations or links\n")
    assert f"of {session.folder.name}." in shown
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_saved_report_leads_to_its_session(session: Recorded, tmp_path: Path, capsys: Output) -> None:
    saved = tmp_path / SAVED_REPORTS
    saved.mkdir()
    (saved / "cats-1.html").write_text("<p>Cats smile.</p>")
    entry = {"saved_as": "cats-1.html", "source": "work_products/cats.html", "session": session.folder.name}
    (saved / "index.jsonl").write_text(json.dumps(entry) + "\n")
    assert main(["check", f"{SAVED_REPORTS}/cats-1.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == "work_products/cats.html"
    session.folder.rename(tmp_path / "elsewhere")
    assert main(["check", f"{SAVED_REPORTS}/cats-1.html"]) == 2
    assert "no longer exists: name another one with --session" in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "pack"), [(".zst", zstandard.compress), (".gz", gzip.compress)])
def test_a_compressed_file_with_a_given_session(
    session: Recorded, tmp_path: Path, capsys: Output, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / f"draft.md{suffix}").write_bytes(pack(b"Cats smile."))
    for named in ("latest", session.folder.name, str(session.folder)):
        assert main(["check", f"draft.md{suffix}", "--session", named, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["report"] == "draft.md"


def test_standard_input(session: Recorded, monkeypatch: Patch, capsys: Output) -> None:
    for text, name in ((b"<!DOCTYPE html><p>Cats smile.</p>", "html"), (b"Cats smile.", "md")):
        give(monkeypatch, text)
        assert main(["check", "-", "--session", "latest", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["report"] == f"standard_input.{name}"
    give(monkeypatch, b"Cats smile.")
    assert main(["check", "-"]) == 2
    assert "needs a session, such as --session latest" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "reported_error"), [
    (["nosuch.md"], "cannot read nosuch.md: No such file"),
    (["."], "cannot read .: "),
    (["draft.md"], "draft.md belongs to no session: name one, such as --session latest"),
    (["draft.md", "--session", "nosuch"], "there is no session 'nosuch'"),
    (["draft.pdf", "--session", "latest"], "draft.pdf is not a report: only HTML, Markdown and text"),
    (["broken.md.zst", "--session", "latest"], "cannot read broken.md.zst"),
    (["large.md", "--session", "latest"], "large.md is too large: at most 64 MB are read"),
    (["large.md.gz", "--session", "latest"], "large.md.gz"),
    (["a\x1b[31m.md"], "cannot read a\ufffd[31m.md"),
])  # fmt: skip
def test_what_cannot_be_checked_is_one_line(
    session: Recorded, tmp_path: Path, capsys: Output, given: list[str], reported_error: str
) -> None:
    for name in ("draft.md", "draft.pdf", "broken.md.zst"):
        (tmp_path / name).write_text("Cats smile.")
    with open(tmp_path / "large.md", "wb") as large:
        large.truncate((64 << 20) + 1)
    (tmp_path / "large.md.gz").write_bytes(gzip.compress(bytes((64 << 20) + 1), 1))
    assert main(["check", *given]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert reported_error in captured.err
