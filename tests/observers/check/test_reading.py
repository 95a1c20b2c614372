from __future__ import annotations

import threading
import time

import msgspec
import pytest

from tests.observers.check.sources import check, checked
from tests.pdf_files import pdf_file, protected
from ua_tui.core.claims.records import Check, Claim, Source, TextQuote
from ua_tui.core.concurrency.cancellation import Stopped, stoppable
from ua_tui.observers.check.blocks import sentences
from ua_tui.observers.check.reading import read_document

HTML = """<!doctype html><html><head><title>T</title><style>p { x: 1 }</style><script>var a = "11 cats"</script>
</head><body>
<h1>One &amp; only</h1><!-- 12 dogs --><p hidden>13 pigs</p><div style="display: none">14 cows</div>
<p>It is 5&nbsp;km<sup>2</sup> with<br>a mark<sup><a href="#n1">1</a></sup>, see <a href="https://a.example/x">the
  page</a>.\u200b</p>
<ul><li>First</li><li>Second <em>one</em></li></ul>
<table><caption>Sales ($m)</caption><thead><tr><th>Year</th><th>Sales</th></tr></thead>
<tbody><tr><td>2023</td><td>377.0</td></tr></tbody></table>
<figure><svg><text>Peak: 71 km</text></svg><figcaption>A figure.</figcaption></figure>
<pre>a  1
b  2</pre><blockquote>Words of others</blockquote><template>15 hens</template></body></html>"""


def test_reads_what_a_reader_of_html_sees() -> None:
    document = read_document(HTML, "text/html")
    assert document.title == "T"
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("heading", "One & only"),
        ("paragraph", "It is 5 km² with a mark, see the page."),
        ("item", "First"),
        ("item", "Second one"),
        ("caption", "Sales ($m)"),
        ("heading", "Year Sales"),
        ("row", "2023 377.0"),
        ("picture", "Peak: 71 km"),
        ("caption", "A figure."),
        ("code", "a 1"),
        ("code", "b 2"),
        ("quote", "Words of others"),
    ]
    row = document.blocks[6]
    assert [(row.text[cell.start : cell.end], cell.header) for cell in row.cells] == [
        ("2023", "Year"),
        ("377.0", "Sales"),
    ]
    assert row.caption == "Sales ($m)"
    text, links = document.blocks[1].text, document.blocks[1].links
    assert [(text[start:end], url) for start, end, url in links] == [
        ("", "#n1"),
        ("the page", "https://a.example/x"),
    ]


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("It cost €68.[1] In 2015[1] it was less [2].", "It cost €68. In 2015 it was less ."),
        ("It cost €68[3](https://c.example) in 2015. [4](https://d.example) people paid [5].",
         "It cost €68 in 2015. 4 people paid [5]."),
    ],
)  # fmt: skip
def test_numbers_of_sources_are_no_figures(written: str, seen: str) -> None:
    text = f"{written}\n\n[1]: https://a.example\n[2]: https://b.example 'B'\n"
    (block,) = read_document(text, "text/markdown").blocks
    assert block.text == seen


@pytest.mark.parametrize(
    ("attributes", "is_seen"),
    [
        ("hidden", False), ('aria-hidden="true"', False), ('style="font-size:0"', False), ('style="opacity: 0"', False),
        ('style="visibility:collapse"', False), ('style="color:white"', False), ('style="color:#FFF;margin:0"', False),
        ('style="color:white;background:#fff"', False), ('style="position:absolute;left:-9999px"', False),
        ('style="width:0;height:0;overflow:hidden"', False), ('style="color:white;background:navy"', True),
        ('style="color:white" class="badge"', True), ('style="font-size:0.9em"', True), ('style="width:0"', True),
    ],
)  # fmt: skip
def test_leaves_out_what_nobody_sees(attributes: str, is_seen: bool) -> None:
    document = read_document(f"<p>It has <span {attributes}>77</span> seats.</p>", "text/html")
    assert ("77" in document.blocks[0].text) == is_seen


def test_cells_over_rows_and_columns_keep_the_columns() -> None:
    html = (
        "<table><tr><th rowspan=2>Region<th colspan=2>2031<tr><th>Q1<th>Q2"
        "<tr><td rowspan=2>North<td>1<td>2<tr><td>3<td>4<tr><td>South<td>5<td>6</table>"
        "<table><tr><th>Year<td>2030<td>2031<tr><th>Sales<td>10<td>12</table>"
    )
    rows = [block for block in read_document(html, "text/html").blocks if block.kind == "row"]
    assert [[(row.text[cell.start : cell.end], cell.header) for cell in row.cells] for row in rows] == [
        [("North", "Region"), ("1", "2031 Q1"), ("2", "2031 Q2")],
        [("3", "2031 Q1 North"), ("4", "2031 Q2 North")],
        [("South", "Region"), ("5", "2031 Q1"), ("6", "2031 Q2")],
        [("Year", ""), ("2030", ""), ("2031", "")],
        [("Sales", "Year"), ("10", "2030"), ("12", "2031")],
    ]


def test_reads_markdown_with_its_notes() -> None:
    text = (
        "# A\n\nIt is so[^1] and [so][2].\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> Quoted\n\n"
        "[^1]: https://a.example/1\n[2]: https://a.example/2\n"
    )
    document = read_document(text, "text/markdown")
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("heading", "A"), ("paragraph", "It is so and so."), ("heading", "a b"), ("row", "1 2"), ("quote", "Quoted"),
    ]  # fmt: skip
    assert [url for _, _, url in document.blocks[1].links] == ["https://a.example/1", "https://a.example/2"]


def test_reads_text_by_paragraphs_and_items() -> None:
    document = read_document("One\nparagraph.\n\n- an item\n- another: https://a.example/x.\n", "text/plain")
    assert [block.text for block in document.blocks] == [
        "One paragraph.",
        "- an item",
        "- another: https://a.example/x.",
    ]
    assert document.blocks[2].links == [(11, 30, "https://a.example/x")]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It cost approx. 5 m. It was Dr. No who paid.", 2),
        ("He paid 3.5 million. “Why?” she asked. Nobody knew!", 3),
        ("Es war am 12. Juni in der 3. Etage. Dann kam er.", 2),
        ("word " * 1_000, 5),
    ],
)
def test_splits_sentences(text: str, count: int) -> None:
    abbreviations = frozenset({"approx", "dr", "no"})
    ranges = list(sentences(text.strip(), abbreviations))
    assert len(ranges) == count
    assert "".join(text.strip()[start:end] for start, end in ranges) == text.strip()


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x00\xff\xfe<html><p>5 km \x00 and \xff", "text/html"),
        (b"", "text/html"),
        (b"<" * 100_000, "text/html"),
        (b"<div>" * 50_000 + b"5 km", "text/html"),
        (b"<table>" * 5_000 + b"<td>5 km", "text/html"),
        (b"<q>" * 5_000 + b"5 km", "text/html"),
        (b"> " * 5_000 + b"5 km", "text/markdown"),
        (b"[" * 20_000, "text/markdown"),
        (b"%PDF-1.7 broken", "application/pdf"),
        ("9,9.9-" * 5_000, "text/plain"),
        ("In all 500 people and 20% of " * 300, "text/plain"),
        ("“" * 20_000, "text/plain"),
        ("12 March 2020, " * 400, "text/plain"),
        ("https://a.example/" + "x/" * 20_000, "text/plain"),
    ],
)
def test_hostile_reports_are_read_in_bounded_time(data: bytes | str, media_type: str) -> None:
    began = time.process_time()
    source = data if isinstance(data, str) else data.decode("utf-8", "replace")
    found = check(data, media_type, [Source(kind="file", text=source[:20_000], url="https://a.example/")])
    assert isinstance(found, Check)
    assert time.process_time() - began < 20


def test_says_what_was_not_looked_at() -> None:
    found = check("word " * 500_000, "text/plain", [])
    assert "Only the first 2,000,000 characters were checked." in found.notices
    assert "No source has any text to compare with." in found.notices


def test_stops() -> None:
    stop = threading.Event()
    stop.set()
    with stoppable(stop), pytest.raises(Stopped):
        check("It is 5 km.", "text/plain", [Source(kind="file", text="It is 5 km.")])


def test_the_summary_says_what_was_compared_and_what_was_not() -> None:
    def claims(kind: str, state: str, count: int) -> list[Claim]:
        return [Claim(kind=kind, state=state, quote=TextQuote("x"))] * count  # type: ignore[arg-type]

    found = Check(claims=(
        *claims("figure", "found", 55), *claims("figure", "calculated", 4), *claims("figure", "not found", 2),
        *claims("figure", "differs", 1), *claims("figure", "not looked at", 9), *claims("quotation", "found", 2),
        *claims("link", "found", 12),
    ))  # fmt: skip
    assert found.summary == (
        "71 figures: 55 found, 4 calculated, 2 not found, 1 differs, 9 not looked at · 2 quotations verbatim"
        " · 12 of 12 links read. Nothing else was checked."
    )
    doubtful = sorted((claim for claim in found.claims if claim.is_doubtful), key=lambda claim: claim.risk)
    assert [claim.state for claim in doubtful] == ["differs", "not found", "not found"]
    assert Check().summary == "No figures, quotations or links. Nothing else was checked."


def test_a_check_is_written_as_json_and_read_again() -> None:
    report = "The [plant](https://source.example/0) has 4,812 people and 99 cats, “so they say of it”."
    found = checked(report, "It has 4,812 people.")
    assert msgspec.json.decode(msgspec.json.encode(found), type=Check) == found


def test_nothing_hidden_is_claimed() -> None:
    found = checked(
        HTML, "There were 11 cats, 12 dogs, 13 pigs, 14 cows and 15 hens.", media_type="text/html"
    )
    assert not {"11", "12", "13", "14", "15"} & {claim.quote.exact for claim in found.claims}


def test_reads_a_pdf_file() -> None:
    data = pdf_file(["The plant in Oldham employs 4,812 people.", ""])
    found = check(
        data, "application/pdf", [Source(kind="file", text="The plant in Oldham employs 4,812 people.")]
    )
    assert [(claim.quote.exact, claim.state) for claim in found.claims] == [("4,812", "found")]
    assert found.notices == ("1 of 2 pages have no text that can be read.",)
    locked = check(protected(data, "secret"), "application/pdf", [])
    assert "The file is protected by a password." in locked.notices


def test_an_address_that_a_pdf_file_may_have_cut_is_not_accused() -> None:
    data = pdf_file(
        ["Read at https://oldham.example/plant-\nhistory and https://oldham.example/staff today."]
    )
    source = Source(kind="file", text="It employs 4,812 people.", url="https://oldham.example/staff")
    found = check(data, "application/pdf", [source])
    assert [(claim.url, claim.state) for claim in found.claims] == [
        ("https://oldham.example/planthistory", "not looked at"),
        ("https://oldham.example/staff", "found"),
    ]
