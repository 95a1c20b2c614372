from __future__ import annotations

import pytest

from tests.bench.evidence.fault_reports import FORMATS, make_report
from tests.observers.evidence.reading.reading import cites, links, page
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.reading.entries import is_list_of_sources

A, B, C = "https://a.de", "https://b.de", "https://c.de"
ENTRIES = (
    f"<h2>Sources</h2><ol><li id=n1><a href={A}>One</a></li><li id=n2>Two, {B}.</li><li id=n3>Three</li></ol>"
)


@pytest.mark.parametrize("number", range(len(FORMATS)))
def test_made_up_reports_cite_what_they_were_made_with(number: int) -> None:
    made = make_report(number)
    text, places = made.report({})
    report = read_report(text.encode(), made.path)
    cited = {
        "revenue": "revenue", "staff": "revenue", "plant": "plant", "survey": "survey", "market": "market",
        "price": "price", "quote": "price",
    }  # fmt: skip
    for place in places:
        kind, _, fact = place.name.partition(" ")
        if kind != "cite":
            continue
        inside = [
            sentence
            for sentence in report.sentences
            if place.start <= sentence.block.offsets[sentence.start] < place.end
        ]
        assert inside
        assert {sentence.cites for sentence in inside} == {(made.url(cited[fact]),)}


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("<sup><a href='#n1'>1</a></sup>", ("a.de",)), ("<a href=#n2>[2]</a>", ("b.de",)), ("[1]", ("a.de",)),
        ("[1][2]", ("a.de", "b.de")), ("[1, 2]", ("a.de", "b.de")), ("[1-3]", ("a.de", "b.de")),
        ("¹", ("a.de",)), ("<sup>1,2</sup>", ("a.de", "b.de")), ("[3]", ()), ("[4]", ()),
        ("<a href=#other>1</a>", ()), (" (2)", ("b.de",)),
    ],
)  # fmt: skip
def test_marks_of_notes(mark: str, expected: tuple[str, ...]) -> None:
    assert cites(f"<p>It rose fast{mark}.</p>{ENTRIES}")[0][1] == expected


@pytest.mark.parametrize("text", ["5 m²", "10² cats", "an array[1]", "step (1) and (2)", "in (2) ways"])
def test_what_is_no_mark(text: str) -> None:
    source = f"<p>{text} here</p>" + (ENTRIES if "[" not in text else "")
    assert links(source) == []


def test_marks_in_markdown() -> None:
    source = (
        f"Up 5.[^1] Down 6.[^b] Same [1]. Odd[^9].\n\n[^1]: {A}\n[^b]: Title of b.\n    More at {B}\n\n"
        f"## Sources\n\n1. [C]({C})\n"
    )
    assert cites(source, "a.md") == [
        ("Up 5.[^1]", ("a.de",)), ("Down 6.[^b]", ("b.de",)), ("Same [1].", ("a.de",)), ("Odd[^9].", ()),
    ]  # fmt: skip
    assert all(block.is_bibliography for block in page(source, "a.md").blocks[1:] if block.kind == "item")


def test_a_mark_may_have_a_link_definition() -> None:
    assert cites(f"Up 5[1]. Down [2][1].\n\n[1]: {A}\n", "a.md") == [
        ("Up 5 1.", ("a.de",)),
        ("Down 2.", ("a.de",)),
    ]


def test_notes_without_a_heading_are_found_by_their_marks() -> None:
    source = f'<p>Up 5<a id="r1" href="#f1">1</a>.</p><hr><p id="f1">1. See {A} <a href="#r1">↩</a></p>'
    assert cites(source) == [("Up 5 1.", ("a.de",))]
    assert page(source).blocks[-1].is_bibliography


def test_a_citation_at_the_end_holds_for_the_sentences_before_it() -> None:
    source = (
        f"First 1. Second 2 ([A]({A})). Third 3. Fourth 4 ([B]({B})).\n\nNo 5. [C]({C}) says 6.\n\n"
        f"X. Y.[^1]\n\n[^1]: {A}\n"
    )
    expected = [(), ("a.de",), ("b.de",), ("b.de",), (), ("c.de",), ("a.de",), ("a.de",)]
    assert [found for _, found in cites(source, "a.md")] == expected


def test_quotations_cite_their_caption_or_the_lines_beside_them() -> None:
    assert page(f"<blockquote cite={A}><p>x</p></blockquote>").blocks[0].cites == (A,)
    assert page(f"<blockquote>Is so.<footer>— <a href={A}>N</a></footer></blockquote>").blocks[0].cites == (
        A,
    )
    assert page(f"> x\n\n— [N]({A})\n", "a.md").blocks[0].cites == (A,)
    assert page(f"> x\n\nSource: [N]({A})\n", "a.md").blocks[0].cites == (A,)
    assert page(f"As [N]({A}) says:\n\n> x\n", "a.md").blocks[1].cites == (A,)
    assert page(f"As [N]({A}) says.\n\n> x\n", "a.md").blocks[1].cites == ()


def test_cells_cite_their_row_or_what_is_beside_the_table() -> None:
    table = f"| a | b |\n|---|---|\n| 1 | [x]({A}) |\n| 2 | 3 |\n"
    assert [found for text, found in cites(table, "a.md") if text.isdigit()] == [("a.de",), (), ()]
    below = f"{table}\nSource: [y]({B})\n"
    assert [found for text, found in cites(below, "a.md") if text.isdigit()] == [
        ("a.de",), ("b.de",), ("b.de",),
    ]  # fmt: skip


def test_a_caption_after_a_table_may_name_its_source() -> None:
    source = f"| a | b |\n|---|---|\n| 1 | 2 |\n\n*Table 1: Sales in euros. Source: [y]({B})*\n"
    assert [found for text, found in cites(source, "a.md") if text.isdigit()] == [("b.de",), ("b.de",)]


@pytest.mark.parametrize("path", ["a.md", "a.html", "a.txt"])
def test_entries_may_be_lines_of_one_paragraph(path: str) -> None:
    lines = [f"[1] One, {A}", "[2] Two, without", f"[3] Three: {C}, page 5"]
    if path == "a.html":
        source = f"<p>Up [1]. Down [2]. Flat [3].</p><h2>Sources</h2><p>{'<br>'.join(lines)}</p>"
    else:
        heading = "## Sources" if path == "a.md" else "SOURCES"
        source = "\n".join(["Up [1]. Down [2]. Flat [3].", "", heading, "", *lines])
    assert [found for _, found in cites(source, path)] == [("a.de",), (), ("c.de",)]


def test_items_cite_only_what_is_in_them() -> None:
    assert cites(f"- one 1\n- two 2 [x]({A})\n", "a.md") == [("one 1", ()), ("two 2 x", ("a.de",))]


def test_a_list_of_sources_ends_at_the_next_heading() -> None:
    source = f"<h2>Sources</h2><p>[1] {A}</p><h3>More</h3><p>[2] {B}</p><h2>End</h2><p>x</p>"
    assert [block.is_bibliography for block in page(source).blocks if block.kind == "paragraph"] == [
        True, True, False,
    ]  # fmt: skip
    source = f"Up [1].\n\n**Sources:**\n\n[1] {A}\n\n[2] {B}\n"
    assert cites(source, "a.md")[0] == ("Up [1].", ("a.de",))


HEADINGS = (
    "Sources", "7. References", "Sources:", "Works cited", "Quellen", "Literaturverzeichnis", "Références", "Fuentes",
    "Notes and references", "Quellen und Anmerkungen", "Key sources", "Fußnoten", "VIII. Bibliography",
)  # fmt: skip
OTHERS = ("Sources of growth", "Energy sources", "", "The list", "Market", "Notes on method")


def test_headings_of_lists_of_sources() -> None:
    assert [heading for heading in (*HEADINGS, *OTHERS) if is_list_of_sources(heading)] == list(HEADINGS)


def test_addresses_that_lead_nowhere_are_no_citations() -> None:
    source = "<p><a href=mailto:a@b.de>m</a> <a href=#x>x</a> <a href=javascript:x>j</a> <a href=../f.json>f</a></p>"
    assert cites(source)[0][1] == ("../f.json",)
