from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import answered, checked, claim, exported, page_of, reported, select, source_of
from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import ArtifactSaved, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.evidence.files import check_path
from ua_tui.core.evidence.records import Evidence, Verdict
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.tui.export.marks import END, START, mark_claims, marked_ids, without_marks

HOSTILE = """<!doctype html><html><head><base href="https://evil.example/"><title></title><script>x</script>
<meta http-equiv="refresh" content="0;url=https://evil.example/"><link rel="stylesheet" href="https://evil.example/a.css">
<style>@import "https://evil.example/b.css"; body { background: url(https://evil.example/c.png) } .tip { display: none }
</style></head><body onload="alert(1)" style="background:url(https://evil.example/d.png)">
<p style="position:fixed" class="tip" id="main">Hello <b onclick="alert(2)">41 %</b></p>
<script>alert(3)</script><svg><script>alert(4)</script><use href="https://evil.example/e.svg"></use></svg>
<img src=x onerror=alert(5)><img srcset="https://evil.example/f.png 2x"><iframe src="https://evil.example/g"></iframe>
<a href="javascript:alert(6)">a</a><a href=" jAvAsCrIpT:alert(7)">b</a><a href="data:text/html,<script>8</script>">c</a>
<a href="//evil.example/">d</a><a href="file:///etc/passwd">e</a><a href="vbscript:x">f</a>
<form action="https://evil.example/"><input name=x><button>Send</button></form><video src="https://evil.example/h"></video>
<object data="https://evil.example/i"></object><embed src="https://evil.example/j"><math><mtext></math>
<noscript><p title="</noscript><img src=x onerror=alert(9)>"></noscript></style></main></body></html><p>after</p>
<table background="https://evil.example/k"><tr><td>cell"""


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def assert_harmless(text: str) -> None:
    page = page_of(text)
    assert not page.xpath(
        "//script|//link|//iframe|//form|//input|//object|//embed|//base|//video|//math|//noscript"
    )
    assert len(page.xpath("//style")) == 1
    assert [each.get("http-equiv") for each in page.xpath("//meta[@http-equiv]")] == [
        "Content-Security-Policy"
    ]
    names = {name for element in page.iter() for name in element.attrib}
    assert not {name for name in names if name.startswith("on")}
    assert not names & {"style", "srcset", "background", "action"}
    assert not [address for address in page.xpath("//@src") if not address.startswith("data:image/")]
    for address in page.xpath("//@href"):
        assert re.match(r"#|https?://|mailto:", address)
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["cats.html", "cats.md", "cats.txt"])
def test_nothing_of_a_hostile_report_is_run_or_loaded(session: Recorded, name: str) -> None:
    path = reported(session, HOSTILE, name)
    checked(session, path, [claim(source_of(HOSTILE, name), "41 %")])
    answered(session, HOSTILE + "\n\n![x](https://evil.example/l.png) [y](javascript:alert(10))")
    text = exported(session.folder)
    assert_harmless(text)
    if name != "cats.txt":
        # The source of a plain text is shown, and nothing else of it is anywhere.
        assert "alert(3)" not in text
    assert "after" in page_of(text).text_content()
    assert exported(session.folder, "json")


def test_markdown_has_no_html_and_no_pictures_to_load(session: Recorded) -> None:
    reported(
        session,
        HOSTILE + "\n\n![x](https://evil.example/l.png) [y](javascript:alert(10))\n\n```\n<b>\n```\n",
        "a.md",
    )
    text = exported(session.folder, "md")
    for line in text.split("\n"):
        assert not re.search(r"(?<!\\)<(?!https?://)[a-z/!]", line, re.IGNORECASE) or line == "<b>"
    assert "![" not in text
    assert "(javascript:" not in text


def test_texts_with_markup_are_only_text(session: Recorded) -> None:
    evil = "</style></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"
    path = reported(session, "<p>41 %</p>")
    evidence = (
        Evidence(source=0, passage=evil, marks=((0, 4), (2, 900), (-3, 2))),
        Evidence(source=99, passage=evil),
    )
    more: dict[str, Any] = {
        "sentence": evil, "section": evil, "note": evil, "remarks": (evil,), "url": evil,
        "evidence": evidence,
    }  # fmt: skip
    checked(session, path, [claim(source_of("<p>41 %</p>"), "41 %", **more)])
    session.add(
        QueryReceived(query_id="q2", text=evil),
        ToolCallStarted(query_id="q2", tool_use_id=evil, name=evil, input={evil: evil}),
        ToolCallFinished(tool_use_id=evil, status="success"),
        ArtifactSaved(path=evil, kind=evil, size=1, sha256=evil, observer="x"),
    )
    (session.folder / "title.txt").write_text(evil)
    text = exported(session.folder)
    assert_harmless(text)
    assert "alert(1)" in page_of(text).text_content()


def test_claims_with_broken_places_have_no_mark(session: Recorded) -> None:
    text = "<p title='41 %'>41 % of &nbsp; cats</p><!-- 41 % --><script>41 %</script>"
    path = reported(session, text)
    source = source_of(text)
    ranges = [(-5, 3), (9, 3), (0, 10_000_000), (5_000_000, 5_000_001), (0, len(source)), (1, 2), (10, 12), (
        4, 9,
    )]  # fmt: skip
    last = source.rindex("41 %")
    ranges += [(last, last + 4), (source.index("&nbsp") + 2, source.index("&nbsp") + 4)]
    claims = [claim(source, "41 %", n, start=a, end=b) for n, (a, b) in enumerate(ranges, 1)]
    checked(session, path, claims)
    page_text = exported(session.folder)
    assert_harmless(page_text)
    article = select(page_of(page_text), ".report")[0]
    for tip in select(article, ".mark"):
        tail = tip.tail or ""
        tip.getparent().remove(tip)
        assert "\ue000" not in tail
    assert "alert" not in article.text_content()
    assert len(select(page_of(page_text), "#evidence li")) >= len(ranges)


def test_tokens_in_a_report_are_no_marks(session: Recorded) -> None:
    text = f"<p>{START}1\ue002 41 % {END}1\ue002 and {END}2\ue002</p>"
    path = reported(session, text)
    checked(session, path, [claim(text, "41 %", 1), claim(text, "and", 2)])
    page = page_of(exported(session.folder))
    assert [each.text for each in select(page, ".report .q")] == ["41 %", "and"]


def test_marks_never_stand_in_tags() -> None:
    source = (
        "a <b title=\"1 > 2\" id='3'>4</b> &amp; <!-- 5 --> <script>6</script> [7](https://a.example/8) `9`"
    )
    for kind in ("html", "markdown"):
        for start in range(len(source)):
            claims = [claim(source, "a", 1, start=start, end=end) for end in (start + 1, len(source))]
            for each in claims:
                marked = mark_claims(source, kind, [each])
                assert without_marks(marked) == source
                for part in ("<b title=\"1 > 2\" id='3'>", "&amp;", "<!-- 5 -->", "<script>6</script>"):
                    assert part in marked
                assert kind == "html" or "](https://a.example/8)" in marked
                assert marked_ids(marked) <= {1}


def test_addresses_without_end_are_written_at_once(session: Recorded) -> None:
    text = "41 % of https://cats.example/a " + "http://" * 100_000
    path = reported(session, text, "cats.md")
    checked(session, path, [claim(text, "41 %"), claim(text, "cats.example/a", 2)])
    assert "https://cats.example/a [^c2]" in exported(session.folder, "md")


def test_markdown_has_no_markup_of_a_check_or_a_journal(session: Recorded) -> None:
    evil = "<img src=x onerror=alert(1)>"
    path = reported(session, "<p>41 %</p>")
    checked(session, path, [claim("<p>41 %</p>", "41 %")])
    file = session.folder / check_path(path)
    file.write_text(file.read_text().replace("ab" * 32, evil))
    session.add(ArtifactSaved(path="a", kind=evil, size=1, sha256=evil, observer="x"))
    text = exported(session.folder, "md")
    assert "onerror" in text
    assert not re.search(r"(?<!\\)<[a-z/!]", text.replace("<https://", ""))


@pytest.mark.slow
def test_a_report_that_is_too_complex_is_shown_as_its_source(session: Recorded) -> None:
    reported(session, "<div>" * 200_000 + "deep")
    page = page_of(exported(session.folder))
    assert "shown as its source" in page.text_content()


@pytest.mark.slow
def test_a_report_of_many_megabytes_is_cut(session: Recorded) -> None:
    reported(session, "<p>Cats smile.</p>\n" * 1_700_000, "cats.txt")
    text = exported(session.folder)
    assert "Only the beginning of the report" in text
    assert len(text) < 5_000_000


def test_links_are_not_followed(session: Recorded, tmp_path: Path) -> None:
    (tmp_path / "outside.html").write_text("<p>outside</p>")
    path = session.folder / "work_products/cats.html"
    path.symlink_to(tmp_path / "outside.html")
    session.add(
        ArtifactSaved(path="work_products/cats.html", kind="work_product", size=1, sha256="x", observer="x")
    )
    assert "outside" not in exported(session.folder)
    journal = session.folder / JOURNAL
    journal.rename(tmp_path / "journal")
    journal.symlink_to(tmp_path / "journal")
    with pytest.raises(JournalError):
        exported(session.folder)


def test_a_damaged_journal_is_exported_with_a_note(session: Recorded) -> None:
    answered(session)
    later = b'{"event":"from_later","seq":99,"at":"2026-11-21T14:02:00Z"}\n'
    with open(session.folder / JOURNAL, "ab") as file:
        file.write(b"\xff damaged\n" + later + b'{"event":')
    text = exported(session.folder)
    incomplete = "last line of the journal is incomplete"
    for part in ("Damaged lines", "a later version", incomplete, "Which animals smile?"):
        assert part in text


def test_a_verdict_is_shown_for_every_kind(session: Recorded) -> None:
    text = "<p>" + " ".join(f"claim{number}x" for number in range(len(Verdict))) + "</p>"
    path = reported(session, text)
    claims = [claim(text, f"claim{number}x", number + 1, verdict) for number, verdict in enumerate(Verdict)]
    checked(session, path, claims)
    page = page_of(exported(session.folder))
    assert len(select(page, ".report .mark")) == len(select(page, "#evidence li")) == len(Verdict)
