from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import answered, checked, claim, exported, page_of, reported, select
from ua_tui.core.claims.files import check_path
from ua_tui.core.claims.records import Passage, TextQuote
from ua_tui.core.errors import JournalError
from ua_tui.core.events.types import ArtifactSaved, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.tui.export.convert import harmless_markdown
from ua_tui.tui.export.marks import mark_markdown

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
    checked(session, path, claim("41 %"))
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


MARKDOWN = r"""!![a](https://evil.example/a.png) \\<img src=https://evil.example/b.png>

[b](
javascript:alert(1)) [c](&#106;avascript:alert(2)) [d](javascript\:alert(3)) \[e](vscode://x) [f](java&Tab;script:x)

| [g][x] |
|---|
| [h](ms-msdt:/id) |

[x]:
javascript:alert(4)

[good](https://good.example) and [near](work_products/a.md)
"""


def test_no_spelling_of_a_link_or_picture_leads_elsewhere_in_markdown(session: Recorded) -> None:
    reported(session, MARKDOWN, "a.md")
    answered(session, MARKDOWN)
    text = exported(session.folder, "md")
    parser = MarkdownIt("commonmark").enable("table")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    found = [part for token in parser.parse(text) for part in token.children or [token]]
    assert not [part for part in found if part.type in ("image", "html_inline")]
    links = [str(part.attrs["href"]) for part in found if part.type == "link_open"]
    assert {each for each in links if ":" in each and not each.startswith("https:")} == set()
    assert links.count("https://good.example") == links.count("work_products/a.md") == 2


def test_markup_that_an_html_report_only_shows_is_none_in_markdown(session: Recorded) -> None:
    reported(session, "<p>A tag: &lt;script&gt;alert(1)&lt;/script&gt;</p>")
    assert "A tag: \\<script>alert(1)\\</script>" in exported(session.folder, "md")


def test_texts_with_markup_are_only_text(session: Recorded) -> None:
    evil = "</style></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;"
    path = reported(session, "<p>41 %</p>")
    passages = (Passage(source=0, text=evil, quote=TextQuote("alert"), headers=evil),)
    more: dict[str, Any] = {
        "sentence": evil, "section": evil, "note": evil, "url": evil, "instead": evil, "formula": evil,
        "passages": passages,
    }  # fmt: skip
    checked(
        session, path, claim("41 %", **more), claim("41", "found", **more), claim("x", kind="link", **more)
    )
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


def test_a_run_of_signs_that_begin_no_picture_is_searched_once() -> None:
    # From each sign anew it would take minutes.
    text = "!" * 200_000
    assert harmless_markdown([text, f"{text}[a](b)"]) == [text, "[a](b)"]


def test_claims_that_the_text_does_not_have_are_only_listed(session: Recorded) -> None:
    text = "<p title='7 %'>41 % of &nbsp; &amp;lt; cats</p><!-- 7 % --><script>7 %</script><style>7 %</style>"
    path = reported(session, text)
    checked(session, path, claim("7 %"), claim(""), claim("%"), claim("41 % of"), claim("lt; cats", "found"))
    page_text = exported(session.folder)
    assert_harmless(page_text)
    page = page_of(page_text)
    assert [each.text for each in select(page, ".report .q")] == ["41 % of", "lt; cats"]
    assert select(page, ".report")[0].text_content() == "41 % of \xa0 &lt; cats"
    assert len(select(page, "#evidence li")) == 5


def test_many_claims_in_many_elements_are_marked_at_once(session: Recorded) -> None:
    text = "<p>" + "<b>4</b> <i>5</i> " * 5_000
    path = reported(session, text)
    checked(session, path, *(claim("4 5 " * size) for size in range(1, 300)))
    page = page_of(exported(session.folder))
    assert select(page, ".report")[0].text_content().split() == ["4", "5"] * 5_000


def test_marks_never_stand_in_markup() -> None:
    source = (
        "a <b title=\"1 > 2\" id='3'>4</b> &amp; <!-- 5 --> [7 of 8](https://a.example/8) [9]: `10` **1** _2_"
    )
    for number in range(1, 11):
        marked = mark_markdown(source, [claim(str(number))], lambda number: "✗")
        assert marked.replace(" ✗", "") == source
        for part in (
            "<b title=\"1 > 2\" id='3'>", "&amp;", "<!-- 5 -->", "[7 of 8](https://a.example/8)", "**1**", "_2_",
        ):  # fmt: skip
            assert part in marked


@pytest.mark.parametrize(
    "part",
    ["http://", "[a](", "[", "](", "<a '\"", "<!-- ", "_4", "| 4 ", "> 4\n", "4. ", "41 %!", "41 %\n "],
)
def test_markup_without_end_is_marked_at_once(part: str) -> None:
    text = part * 100_000 + " 41 % of cats."
    marked = mark_markdown(text, [claim("41 %"), claim("of cats", kind="quotation")], lambda number: "✗")
    assert marked.replace(" ✗", "") == text


def test_markdown_has_no_markup_of_a_check_or_a_journal(session: Recorded) -> None:
    evil = "<img src=x onerror=alert(1)>"
    path = reported(session, "<p>41 %</p>")
    checked(session, path, claim("41 %", note=evil, sentence=f"41 % {evil} | x", section=evil))
    file = session.folder / check_path(path)
    file.write_text(file.read_text().replace("ab" * 32, evil))
    session.add(ArtifactSaved(path="a", kind=evil, size=1, sha256=evil, observer="x"))
    text = exported(session.folder, "md")
    assert "onerror" in text
    assert not re.search(r"(?<!\\)<[a-z/!]", text.replace("<https://", ""))
    (row,) = [line for line in text.split("\n") if line.startswith("| ✗¹")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5


def test_a_report_that_is_too_complex_is_shown_as_its_source(
    session: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.tui.export.convert.SECONDS", 0.9)
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
