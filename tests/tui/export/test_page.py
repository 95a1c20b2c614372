from __future__ import annotations

import base64
import hashlib
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
    source_of,
)
from ua_tui.core.events.types import MessageFinished, SessionFinished, ToolCallFinished, ToolCallStarted
from ua_tui.core.evidence.records import Disagreement, Evidence, Verdict

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
    disagreement = Disagreement(subject="Smiling cats", values=("41 %", "39 %"), evidence=(
        Evidence(source=0, passage=PASSAGE), Evidence(source=0, passage="39 %"),
    ))  # fmt: skip
    checked(session, path, [claim(source_of(REPORT), "41 %", note="No source has it.")], [disagreement])
    answered(session)
    session.add(SessionFinished(reason="quit", queries=1, duration_ms=4_000))
    page = page_of(exported(session.folder))
    headings = [each.text_content() for each in page.iter("h2")]
    assert headings == [
        "Summary", "Report", "Conversation", "Trace", "Evidence", "Sources", "Saved files", "Costs", "Session",
    ]  # fmt: skip
    assert [each.get("href") for each in select(page, "nav a")] == [
        f"#{each.get('id')}" for each in select(page, "main > section")
    ]
    text = page.text_content()
    parts = ("1 figure untraced", "Smiling cats", "39 %", "Which animals smile?", "expert", "$0.02", "1,200")
    assert [part for part in parts if part not in text] == []
    assert page.xpath("//section[@id='conversation']//strong")[0].text == "Cats"
    assert page.xpath("//section[@id='sources']//a/@href") == ["https://cats.example/smiles"]
    outer, inner = select(page, ".calls > li")
    assert (outer.get("class"), inner.get("class")) == ("d0 s-success", "d1 s-error")
    assert float(select(inner, "rect.bar")[0].get("width")) < float(select(outer, "rect.bar")[0].get("width"))


def test_doubtful_claims_are_explained_and_counted(session: Recorded) -> None:
    path = reported(session, REPORT)
    source = source_of(REPORT)
    url = "https://made.up.example/x"
    invented = claim(source, "the survey", 1, Verdict.INVENTED, kind="link", url=url, evidence=())
    checked(session, path, [invented])
    page = page_of(exported(session.folder))
    assert select(page, "#summary h3")[0].text == "1 unsupported claim"
    for part in ("#c1", "#d1", "#e1"):
        shown = select(page, part)[0].text_content()
        assert url in shown
        assert "Nothing that the session read or found has this address." in shown
    checked(session, path, [invented, claim(source, "41 %", 2, Verdict.OTHER_SOURCE)])
    page = page_of(exported(session.folder))
    assert select(page, "#summary h3")[0].text == "2 claims to look at, 1 of them unsupported"
    # A check of another version is not used, and nothing is written.
    before = sorted(session.folder.rglob("*"))
    (session.folder / path).write_text("<p>Nothing to check.</p>")
    assert not select(page_of(exported(session.folder)), ".mark")
    assert sorted(session.folder.rglob("*")) == before


def test_a_mark_stands_at_its_claim_and_shows_the_evidence(session: Recorded) -> None:
    path = reported(session, REPORT)
    source = source_of(REPORT)
    claims = [
        claim(source, "41 %", 1, note="No source has it."),
        claim(source, "the survey", 2, Verdict.READ, kind="link", evidence=()),
    ]
    checked(session, path, claims)
    page = page_of(exported(session.folder))
    (marked,) = select(page, ".report .q.unsupported")
    assert marked.text == "41 %"
    mark = marked.getnext()
    assert select(mark, "a")[0].get("aria-label") == "figure 1: untraced"
    tip = select(mark, "#c1")[0]
    assert select(tip, "mark")[0].text == "41"
    for part in ("No source has it.", PASSAGE, "cats.example", "published 2026-03-09"):
        assert part in tip.text_content()
    # The mark of a link stands behind it, as no link may be inside another.
    link = page.xpath("//article//a[@href='https://cats.example/smiles' and not(ancestor::*[@role='note'])]")[
        0
    ]
    assert link.text_content() == "the survey"
    assert select(link.getnext(), "#c2")
    assert not page.xpath("//a//a")
    # Both ways between the report and the list.
    assert page.xpath("//li[@id='e1']//a[@href='#m1']")
    assert page.xpath("//*[@id='c1']//a[@href='#e1']")
    for link in page.xpath("//a[starts-with(@href, '#')]"):
        assert len(page.xpath(f"//*[@id='{link.get('href')[1:]}']")) == 1


def test_nothing_is_loaded_or_run_and_a_report_is_optional(session: Recorded) -> None:
    answered(session)
    page = page_of(exported(session.folder))
    assert select(page, ".kind")[0].text == "Session"
    assert "The session has no report." in page.text_content()
    assert [each.text for each in page.iter("h2")][:2] == ["Summary", "Conversation"]
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
    assert "6 pictures of the report not included" in page.text_content()


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
    checked(session, path, [claim(text, part, number) for number, part in enumerate(parts, 1)])
    page = page_of(exported(session.folder))
    assert [each.text for each in select(page, ".report .q")] == parts
    assert len(select(page, ".report .mark")) == 3
    assert page.xpath("//article//td//strong")[0].text_content().startswith("41 %")
    path = reported(session, "41 % <b>of</b> cats", "cats.txt")
    checked(session, path, [claim("41 % <b>of</b> cats", "41 %")])
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
