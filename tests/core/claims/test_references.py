from __future__ import annotations

import json
from datetime import UTC, datetime

from ua_tui.core.claims.files import ReportCheck
from ua_tui.core.claims.records import Check, Claim, Kind, Passage, Source, State, TextQuote
from ua_tui.core.claims.references import cited, to_bibtex, to_csl, to_ris

READ = datetime(2026, 11, 21, 7, 42, tzinfo=UTC)
FULL = Source(
    kind="article",
    url="https://www.computewire.example/yield?a=1&b={2}",
    title="Yield & cost: 84 % of {stacks}",
    author="Mira de Sá",
    site="Compute Wire",
    published="2026-11-18T09:00:00Z",
    read_at=READ,
    sha256="ab12",
)
BARE = Source(kind="article", url="https://computewire.example/", published="autumn 2025")
SAME_NAME = Source(kind="article", url="https://computewire.example/two", published="2026-01-02")


def test_csl_json_has_every_field_and_leaves_out_what_is_unknown() -> None:
    full, bare, same = json.loads(to_csl([FULL, BARE, SAME_NAME]))
    assert full == {
        "id": "computewire2026",
        "type": "webpage",
        "title": "Yield & cost: 84 % of {stacks}",
        "author": [{"literal": "Mira de Sá"}],
        "container-title": "Compute Wire",
        "issued": {"date-parts": [[2026, 11, 18]]},
        "accessed": {"date-parts": [[2026, 11, 21]]},
        "URL": "https://www.computewire.example/yield?a=1&b={2}",
        "note": "SHA-256 of the text: ab12",
    }
    assert bare == {
        "id": "computewire",
        "type": "webpage",
        "issued": {"literal": "autumn 2025"},
        "URL": "https://computewire.example/",
    }
    assert same["id"] == "computewire2026-2"


def test_ris_has_a_record_of_tagged_lines_for_each() -> None:
    assert to_ris([FULL]).split("\r\n") == [
        "TY  - ELEC",
        "ID  - computewire2026",
        "TI  - Yield & cost: 84 % of {stacks}",
        "AU  - Mira de Sá",
        "T2  - Compute Wire",
        "PY  - 2026",
        "DA  - 2026/11/18",
        "Y2  - 2026/11/21",
        "UR  - https://www.computewire.example/yield?a=1&b={2}",
        "N1  - SHA-256 of the text: ab12",
        "ER  - ",
        "",
        "",
    ]


def test_bibtex_escapes_what_is_special_and_keeps_the_address_readable() -> None:
    assert to_bibtex([FULL]).splitlines() == [
        "@misc{computewire2026,",
        r"  title = {{Yield \& cost: 84 \% of \{stacks\}}},",
        "  author = {{Mira de Sá}},",
        "  organization = {Compute Wire},",
        "  year = {2026},",
        "  month = {11},",
        "  url = {https://www.computewire.example/yield?a=1&b=%7B2%7D},",
        "  urldate = {2026-11-21},",
        "  note = {SHA-256 of the text: ab12},",
        "}",
    ]
    assert "  date = {autumn 2025}," in to_bibtex([BARE])


def test_a_line_break_in_a_title_begins_no_field() -> None:
    planted = Source(kind="article", url="https://a.example/", title="One\r\nER  - \r\nTY  - JOUR\x1b[2J")
    lines = to_ris([planted]).split("\r\n")
    assert [line[:2] for line in lines] == ["TY", "ID", "TI", "UR", "ER", "", ""]
    assert "\x1b" not in to_ris([planted]) + to_bibtex([planted])


def claim(kind: Kind, state: State, source: int, url: str = "", *, was_read: bool = True) -> Claim:
    passages = (Passage(source=source, text="x"),)
    return Claim(
        kind=kind, state=state, quote=TextQuote("the words"), url=url, passages=passages, was_read=was_read
    )


def test_cited_are_the_pages_of_links_else_those_with_the_figures() -> None:
    page, row = "https://a.example/page", "https://b.example/row"
    whole = Source(kind="article", url=page, title="Page", author="Jo", site="A", sha256="ab", read_at=READ)
    sources = (
        whole,
        Source(kind="search_row", url=row, title="Row", sha256="cd", read_at=READ),
        Source(kind="file", path="notes.md", title="Notes", sha256="ef"),
    )
    links = (
        claim("link", "found", 1, row, was_read=False), claim("link", "found", 0, f"{page}/#top"),
        claim("link", "found", 0, page), claim("link", "found", 1, "https://b.example/other", was_read=False),
        claim("link", "never seen", 0, "https://made.up.example/"), claim("link", "found", 2, "notes.md"),
    )  # fmt: skip
    figures = (claim("figure", "differs", 1), claim("figure", "calculated", 0), claim("figure", "found", 2))
    expected = [
        Source(kind="search_row", url=row, title="Row"), whole,
        Source(kind="search_row", url="https://b.example/other", title="the words"),
    ]  # fmt: skip
    for claims, references in (((*figures, *links), expected), (figures, [whole]), ((), [])):
        assert (
            cited(ReportCheck(report="a.md", sha256="", check=Check(claims=claims), sources=sources))
            == references
        )
