from __future__ import annotations

import base64
import gc
import hashlib
import os
import re
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import (
    PASSAGE,
    answered,
    checked,
    claim,
    exported,
    page_of,
    reported,
    select,
)
from ua_tui.core.claims.files import ledger_path
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.records import Passage, TextQuote
from ua_tui.core.events.types import MessageFinished, SessionFinished, ToolCallFinished, ToolCallStarted
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.tui.export.records import Export

REPORT = "<h1>Cats</h1><p>Of all cats <b>41 %</b> smile, see <a href='https://cats.example/smiles'>the survey</a>.</p>"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def test_a_page_has_all_of_the_session(session: Recorded) -> None:
    session.add(
        ToolCallStarted(query_id="q1", tool_use_id="t1", name="Agent", input={"subagent_type": "expert"}),
        ToolCallStarted(
            query_id="q1", tool_use_id="t2", name="mcp__local_toolkit__crawl_parallel",
            input={"urls": ["https://cats.example/smiles"]}, parent_tool_use_id="t1",
        ),
        ToolCallFinished(tool_use_id="t2", status="error", duration_ms=800),
        ToolCallFinished(tool_use_id="t1", status="success", duration_ms=1_500),
    )  # fmt: skip
    path = reported(session, REPORT)
    checked(session, path, claim("41 %", "not found"))
    answered(session)
    session.add(SessionFinished(reason="quit", queries=1, duration_ms=4_000))
    page = page_of(exported(session.folder))
    headings = [each.text_content() for each in page.iter("h2")]
    assert headings == [
        "Report", "Evidence", "Conversation", "Trace", "Sources", "Saved files", "Costs", "Session",
    ]  # fmt: skip
    assert [each.get("href") for each in select(page, "nav a")] == [
        f"#{each.get('id')}" for each in select(page, "main > section")
    ]
    text = page.text_content()
    summary = "1 figure: 1 not found. Nothing else was checked."
    parts = (summary, PASSAGE, "Which animals smile?", "expert", "$0.02", "1,200")
    assert [part for part in parts if part not in text] == []
    assert page.xpath("//section[@id='conversation']//strong")[0].text == "Cats"
    assert page.xpath("//section[@id='sources']//a/@href") == ["https://cats.example/smiles"]
    outer, inner = select(page, ".calls > li")
    assert (outer.get("class"), inner.get("class")) == ("d0 s-success", "d1 s-error")
    assert float(select(inner, "rect.bar")[0].get("width")) < float(select(outer, "rect.bar")[0].get("width"))


def test_doubtful_claims_are_marked_and_others_shown_on_hover_and_focus(session: Recorded) -> None:
    text = (
        "<h1>Cats</h1><p>Of all <b>forty</b>-one cats 41 % smile, a sixteen-high stack; see"
        " <a href='https://cats.example/'>the 7 surveys</a>.</p>"
        "<blockquote>“Cats pay the bills.”<cite>Jo Doe</cite></blockquote>"
    )
    path = reported(session, text)
    url = "https://cats.example/"
    checked(
        session, path, claim("forty-one", "found"), claim("41 %"), claim("sixteen", "calculated", formula="8 + 8 = 16"),
        claim("the 7 surveys", "never seen", kind="link", url=url, passages=()), claim("7", "not found"),
        claim("Cats pay the bills.", kind="quotation"),
    )  # fmt: skip
    page = page_of(exported(session.folder))
    report = select(page, ".report")[0]
    assert report.text_content() == page_of(text.replace("<cite>", "<br><cite>")).text_content()
    marks = {each.get("data-mark"): each.text for each in select(report, ".q") if each.get("data-mark")}
    assert marks == {"✗ 1": "41 %", "✗ 2": "Cats pay the bills.", "✗ 3": "the ", "? 4": "7"}
    forty, one, differs, sixteen, *linked, quotation = select(report, ".q")
    assert (forty.text, one.text, forty.get("tabindex"), one.get("tabindex")) == ("forty", "-one", "0", None)
    assert forty.get("title").startswith(f"· found — “{PASSAGE}” — Cats & their smiles, cats.example")
    assert (differs.tag, differs.get("href")) == ("a", "#e1")
    assert differs.get("title").startswith("✗ differs. The source says 41 percent. — “About")
    assert sixteen.get("title").startswith("= calculated. 8 + 8 = 16 —")
    assert {each.tag for each in linked} == {"span"}
    assert not page.xpath("//a//a")
    assert quotation.xpath("following::br[1]/following-sibling::cite")[0].text == "Jo Doe"
    # Both ways between the report and the list.
    assert page.xpath("//li[@id='e1']//a[@href='#m1']")
    for each in page.xpath("//a[starts-with(@href, '#')]"):
        assert len(page.xpath(f"//*[@id='{each.get('href')[1:]}']")) == 1


def test_the_evidence_has_both_texts_with_what_differs(session: Recorded) -> None:
    url = "https://made.up.example/x"
    path = reported(session, f"<p>41 % smile, see <a href='{url}'>this</a>. “Cats in a survey smile.”</p>")
    altered = claim(
        "Cats in a survey smile.", kind="quotation", sentence="“Cats in a survey smile.”",
        instead="cats in the survey smile.",
        passages=(Passage(source=0, text=PASSAGE, quote=TextQuote("cats in the survey smile.")),),
    )  # fmt: skip
    check = checked(
        session, path, claim("41 %"), altered, claim("this", "never seen", kind="link", url=url, passages=()),
        claim("41", "found"),
    )  # fmt: skip
    decisions = Ledger(session.folder, path)
    decisions.decide(check.claims, [0, 3], "accepted", Redactor(), by="Jo")
    decisions.decide(check.claims, [1], "rejected", Redactor(), by="Jo", note="No <b>")
    page = page_of(exported(session.folder))
    listed = page.xpath("//section[@id='evidence']/ol/li")
    assert [each.get("id") for each in listed] == ["e0", "e1", "e2"]
    assert "In the margin of the report: ✗ a source says something else" in page.text_content()
    assert [[mark.text for mark in select(each, "mark")] for each in listed] == [
        ["41 %", "41 percent"], ["Cats", "a", "cats", "the"], ["this"],
    ]  # fmt: skip
    assert url in listed[2].text_content()
    assert "never seen. This address was never read or found." in listed[2].text_content()
    accepted, rejected = select(page, "#evidence > ol .judged")
    assert accepted.text_content().startswith("Accepted by Jo, 20")
    assert rejected.text_content().startswith("Rejected by Jo, 20")
    assert rejected.text_content().endswith(": No <b>")
    assert select(page, "#evidence summary")[0].text == "Other claims: 1 found"
    for part in ("#evidence", "header"):
        assert "Signed: 2 of 4 accepted, 1 rejected, 1 open" in select(page, part)[0].text_content()
    # A check of another version is not used, decisions of somebody else sign nothing, and nothing is written.
    before = sorted(session.folder.rglob("*"))
    file = session.folder / ledger_path(path)
    file.write_text(file.read_text().replace("No <b>", "Yes"))
    page = page_of(exported(session.folder))
    assert "Signed" not in page.text_content()
    assert "was not made by this program for this user" in page.text_content()
    (session.folder / path).write_text("<p>Nothing to check.</p>")
    assert not select(page_of(exported(session.folder)), ".q")
    assert sorted(session.folder.rglob("*")) == before


def test_nothing_is_loaded_or_run_and_a_report_is_optional(session: Recorded) -> None:
    answered(session)
    page = page_of(exported(session.folder))
    assert select(page, ".kind")[0].text == "Session"
    assert "The session has no report." in page.text_content()
    assert [each.text for each in page.iter("h2")][:2] == ["Conversation", "Costs"]
    reported(session, REPORT)
    page = page_of(exported(session.folder))
    assert select(page, ".kind")[0].text == "Report with evidence"
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    (style,) = page.xpath("//style/text()")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'", f"style-src 'sha256-{digest}'", "img-src data:", "base-uri 'none'",
        "form-action 'none'",
    ]  # fmt: skip
    assert not re.search(r"url\(|@import|@font-face", style)
    assert not page.xpath("//script|//link|//iframe|//form|//object|//embed|//base")
    assert not page.xpath("//@style")
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))


def test_pictures_of_the_session_are_embedded(session: Recorded, tmp_path: Path) -> None:
    media = session.folder / "work_products/media"
    media.mkdir()
    (media / "a b.png").write_bytes(PIXEL)
    (media / "big.png").write_bytes(PIXEL + bytes(2 << 20))
    (tmp_path / "outside.png").write_bytes(PIXEL)
    (media / "link.png").symlink_to(tmp_path / "outside.png")
    data = base64.b64encode(PIXEL).decode()
    names = [
        "media/a%20b.png", f"data:image/png;base64,{data}", "media/big.png", "media/link.png", "../../../outside.png",
        "https://cats.example/x.png", "data:image/svg+xml;base64,PHN2Zz4=", f"{tmp_path}/outside.png",
    ]  # fmt: skip
    reported(session, "".join(f"<img src='{name}' alt='A cat'>" for name in names))
    page = page_of(exported(session.folder))
    assert page.xpath("//img/@src") == [f"data:image/png;base64,{data}"] * 2
    assert len(select(page, ".missing")) == 6
    assert "Not included: 6 pictures of the report" in page.text_content()


def test_what_lies_beside_the_reports_of_a_session_is_none_of_them(session: Recorded) -> None:
    reported(session, "<p>first</p>", "a.html")
    (session.folder / "work_products/mine.txt").write_text("written by hand")
    page = page_of(exported(session.folder))
    assert select(page, ".report")[0].text_content() == "first"
    assert "mine.txt" not in page.text_content()


def test_a_session_that_was_killed_before_it_recorded_a_report_has_it(
    session: Recorded, tmp_path: Path
) -> None:
    folder = session.folder / "work_products/2026"
    folder.mkdir()
    for name, written_at in (("old.html", 1), ("new.html", 2), ("draft.html", 3), ("new.csv", 4)):
        (folder / name).write_text(f"<p>{name}</p>")
        os.utime(folder / name, (written_at, written_at))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/other.html").write_text("<p>other</p>")
    (session.folder / "work_products/linked").symlink_to(tmp_path / "outside")
    page = page_of(exported(session.folder))
    assert select(page, ".report")[0].text_content() == "new.html"
    assert "work_products/2026/old.html" in page.text_content()
    assert not re.search(r"draft|new\.csv|other", page.text_content())


def test_an_export_does_not_stay_in_memory(session: Recorded) -> None:
    answered(session)
    exported(session.folder)
    gc.collect()
    assert not any(isinstance(each, Export) for each in gc.get_objects())


def test_the_newest_report_or_the_one_that_is_named(session: Recorded) -> None:
    reported(session, "<p>first</p>", "a.html")
    reported(session, "second", "b.md")
    reported(session, "<p>draft</p>", "draft.html")
    assert "<p>second</p>" in exported(session.folder, report="work_products/b.md")
    assert "draft" in select(page_of(exported(session.folder)), ".report")[0].text_content()
    for name in ("a.html", "work_products/a.html", str(session.folder / "work_products/a.html")):
        page = page_of(exported(session.folder, report=name))
        assert select(page, ".report")[0].text_content() == "first"
    assert "work_products/b.md" in select(page, "#session")[0].text_content()


def test_marks_in_markdown_and_text(session: Recorded) -> None:
    text = "# Cats\n\n| what | share |\n|---|---|\n| smile | **41 %** |\n\nSee [12 cats](https://cats.example/12) and https://a.example/7.\n"
    path = reported(session, text, "cats.md")
    parts = ["41 %", "12 cats", "https://a.example/7"]
    checked(session, path, *map(claim, parts))
    page = page_of(exported(session.folder))
    assert [each.text for each in select(page, ".report .q")] == parts
    assert page.xpath("//article//td//strong")[0].text_content() == "41 %"
    marked = exported(session.folder, "md")
    for part in (
        "| smile | **41 %** ✗¹ |",
        "See [12 cats](https://cats.example/12) ✗² and https://a.example/7 ✗³.",
    ):
        assert part in marked
    text = "".join(
        f"<blockquote>“{quote}”<cite>{name}</cite></blockquote>\n"
        for quote, name in (("A 1.", "Jo"), ("B 2.", "Al"))
    )
    path = reported(session, text)
    checked(session, path, claim("A 1.", kind="quotation"), claim("2", "not found"))
    assert "> “A 1.”  \n> Jo ✗¹\n\n> “B 2 ?².”  \n> Al\n" in exported(session.folder, "md")
    path = reported(session, "41 % <b>of</b> cats", "cats.txt")
    checked(session, path, claim("41 %"))
    page = page_of(exported(session.folder))
    assert select(page, ".report .q")[0].text == "41 %"
    assert "<b>of</b>" in select(page, ".report")[0].text_content()


def test_a_long_session_is_cut_with_a_note(session: Recorded) -> None:
    for number in range(2_100):
        session.add(
            ToolCallStarted(
                query_id="q1", tool_use_id=f"t{number}", name="Bash", input={"command": "x" * 50}
            ),
            ToolCallFinished(tool_use_id=f"t{number}", status="success", duration_ms=5),
        )
    session.add(*(MessageFinished(query_id="q1", message_id=f"m{n}", text="x" * 90_000) for n in range(30)))
    text = exported(session.folder)
    assert "Only the last 2,000 of 2,100 calls are included." in text
    assert "The conversation is too long" in text
    assert len(text) < 5_000_000
