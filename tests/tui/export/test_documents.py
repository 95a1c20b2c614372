"""Reports as DOCX and PDF, read back."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from PIL import Image
from pypdf import PdfReader

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import NOW, answered, checked, claim, reported
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.tui.app.base_app import LONGEST_NOTIFICATION
from ua_tui.tui.cli import main
from ua_tui.tui.export.documents.blocks import mark_claims, read_blocks, text_of
from ua_tui.tui.export.documents.document import DocumentFormat
from ua_tui.tui.export.formats import read_export
from ua_tui.tui.render.format import first_sentence

URL = "https://cats.example/smiles"
REPORT = f"""<title>Cats</title><h1>Cats of Ωμέγα and Москва</h1><h2>Smiles</h2>
<p>Of all cats <b>41</b>-odd % smile, see <a href="{URL}">the <i>survey</i></a>.</p>
<blockquote>“A cat pays the bills.”<cite>Tomas Heuvel</cite></blockquote>
<ul><li>One<ol start="3"><li>Two</li></ol></li></ul>
<table><tr><th>Name</th><th>Share</th></tr><tr><td>Tom</td><td>41 &lt; 42</td></tr></table>
<pre>if a:\n    b()</pre><p><img src="chart.png" alt="A chart"><img src="gone.png" alt="Gone"></p>"""


def text_of_docx(data: bytes) -> str:
    document = docx.Document(io.BytesIO(data))
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return "\n".join([*(each.text for each in document.paragraphs), *cells])


def text_of_pdf(data: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages)


READERS: dict[DocumentFormat, Callable[[bytes], str]] = {"docx": text_of_docx, "pdf": text_of_pdf}
EACH = pytest.mark.parametrize("form", READERS)


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    session = Recorded(tmp_path)
    answered(session)
    return session


def written(session: Recorded, form: DocumentFormat, redactor: Redactor | None = None) -> str:
    return READERS[form](read_export(session.folder, redactor or Redactor(), now=NOW).encoded(form))


@EACH
def test_a_report_with_its_marks_its_signature_and_its_references(
    session: Recorded, form: DocumentFormat
) -> None:
    Image.new("RGB", (40, 20), "red").save(session.folder / "work_products/chart.png")
    path = reported(session, REPORT)
    quotation = claim("A cat pays the bills.", "not found", kind="quotation", passages=())
    check = checked(session, path, claim("41"), quotation, claim(URL, "found", kind="link", url=URL))
    Ledger(session.folder, path).decide(check.claims, [0], "rejected", Redactor(), by="Jo", at=NOW)
    text = " ".join(written(session, form).split())
    assert "Cats of Ωμέγα and Москва Smiles Of all cats 41-odd [differs from the sources] % smile" in text
    assert "“A cat pays the bills.” Tomas Heuvel [not found in the sources]" in text
    assert "• One 3. Two" in text
    assert "41 < 42" in text
    assert "A chart [Picture: Gone]" in text
    assert re.search(r"Signed: 0 of \d accepted, 1 rejected.*, Jo 2026-03-11", text)
    assert "Not included: 1 picture of the report" in text
    assert (
        f"1. Cats & their smiles, cats.example, Jo, published 2026-03-09, read 2026-03-10 12:00 UTC {URL}"
        in text
    )


def test_word_has_the_parts_as_such(session: Recorded) -> None:
    Image.new("RGB", (40, 20), "red").save(session.folder / "work_products/chart.png")
    checked(session, reported(session, REPORT), claim("41"))
    document = docx.Document(io.BytesIO(read_export(session.folder, Redactor(), now=NOW).encoded("docx")))
    styles = [(each.style.name, each.text) for each in document.paragraphs if each.style is not None]
    assert styles[:2] == [("Title", "Cats of Ωμέγα and Москва"), ("Heading 1", "Smiles")]
    links = [(each.address, each.text) for paragraph in document.paragraphs for each in paragraph.hyperlinks]
    assert (URL, "survey") in links
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows] == [
        ["Name", "Share"],
        ["Tom", "41 < 42"],
    ]
    assert len(document.inline_shapes) == 1
    assert document.core_properties.title == "Cats"
    assert "if a:\n    b()" in [each.text for each in document.paragraphs]


def test_a_pdf_has_an_outline_links_and_fonts(session: Recorded) -> None:
    reported(session, REPORT)
    reader = PdfReader(io.BytesIO(read_export(session.folder, Redactor(), now=NOW).encoded("pdf")))
    assert next(entry.title for entry in reader.outline if not isinstance(entry, list)) == "Smiles"
    annotations = [each.get_object() for page in reader.pages for each in page.get("/Annots", [])]
    assert URL in {each["/A"]["/URI"] for each in annotations}
    assert reader.metadata is not None
    assert reader.metadata.title == "Cats"


@EACH
def test_neither_secrets_nor_markup_of_a_hostile_report(session: Recorded, form: DocumentFormat) -> None:
    reported(
        session,
        "<h1>#panic() $x$ \\u{41}</h1><p>hush-<b>canary</b> \x01\ufffe&#xFFFF;</p>"
        "<script>alert(1)</script>"
        '<a href="javascript:alert(2)">a</a><img src="data:image/png;base64,AAAA"><img src="../../../etc/passwd">'
        f"<table>{'<tr><td rowspan=9999999 colspan=9999999>b</td></tr>' * 3}<tr>{'<td>c</td>' * 70}</tr></table>"
        "<ol start=-1><li>d</ol><li>e",
    )
    text = written(session, form, Redactor(["hush-canary"]))
    assert "#panic() $x$ \\u{41}" in text
    assert "alert(" not in text
    assert "hush" not in text
    assert text.count("c") >= 70


@EACH
@pytest.mark.parametrize("name", ["cats.md", "cats.txt"])
def test_other_reports(session: Recorded, form: DocumentFormat, name: str) -> None:
    reported(session, "# Cats\n\n- One *cat*\n\nTwo\n", name)
    text = written(session, form)
    assert "Cats" in text
    assert ("• One cat" if name == "cats.md" else "- One *cat*").replace(" ", "") in "".join(text.split())


@EACH
def test_the_beginning_of_a_long_report(session: Recorded, form: DocumentFormat) -> None:
    path = reported(session, "<h1>Long</h1>" + ("<p>" + "Cats smile. " * 100 + "</p>") * 8_000)
    checked(session, path)
    data = read_export(session.folder, Redactor(), now=NOW).encoded(form)
    assert len(data) > 10_000
    if form == "docx":
        assert "Only the beginning of the report" in text_of_docx(data)


def test_a_mark_is_behind_the_word_and_in_no_link() -> None:
    text = '<p>Rose by <a href="https://a.example">41 <b>percent</b> or so</a>-ish today, <i>sixteen</i>-high.</p>'
    claims = [claim("41 percent"), claim("sixteen", "not found")]
    (block,) = read_blocks(mark_claims(f"{text}<p>High</p>", claims, lambda each: f"[{each.state}]"))[:1]
    assert text_of(block.runs) == "Rose by 41 percent or so-ish [differs] today, sixteen-high [not found]."
    assert [(each.href, each.style) for each in block.runs if "[" in each.text] == [("", "m"), ("", "m")]


def test_only_tags_and_entities_are_markup() -> None:
    text = "<pre>a 41<br>b</pre><p>See [1](page 2: 42 percent) of __init__<br>and 43<br></p>"
    claims = [claim("41"), claim("42 percent"), claim("__init__"), claim("43", "not found")]
    first, second = read_blocks(mark_claims(text, claims, lambda each: f"[{each.state}]"))
    assert text_of(first.runs) == "a 41 [differs]\nb"
    assert text_of(second.runs) == (
        "See [1](page 2: 42 percent [differs]) of __init__ [differs]\nand 43 [not found]"
    )


def test_a_table_keeps_its_columns() -> None:
    rows = (
        "<tr><th>a</th><th colspan='2'>b</th></tr>"
        "<tr><td rowspan='2'>c</td><td>d</td><td><p>e</p><ul><li>f</li></ul></td></tr>"
        "<tr><td>g</td><td><table><tr><td>h</td></tr></table></td></tr>"
    )
    (table,) = read_blocks(f"<table>{rows}</table>")
    assert [[text_of(cell) for cell in row] for row in table.rows] == [
        ["a", "b", ""],
        ["c", "d", "e\n• f"],
        ["", "g", "h"],
    ]
    assert table.heads == 1


def test_without_a_report_or_a_package_it_says_what_to_do(
    session: Recorded, tmp_path: Path, monkeypatch: Patch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "latest", "--format", "pdf"]) == 2
    assert "the session has none. The formats html, md and json export" in capsys.readouterr().err
    reported(session, "<h1>../Cats: *?</h1>")
    assert main(["export", "latest", "--format", "pdf"]) == 0
    assert (tmp_path / "SAVED_REPORTS/cats.pdf").read_bytes().startswith(b"%PDF-")
    monkeypatch.setattr("ua_tui.tui.export.documents.document.find_spec", lambda _name: None)
    assert main(["export", "latest", "--format", "docx"]) == 2
    refusal = capsys.readouterr().err.strip().removeprefix("ua-tui: ")
    assert refusal.startswith("exporting as docx needs the extra documents, which is not installed: ")
    # A notification has room for the whole command.
    shown = f"Not exported: {refusal}"
    assert first_sentence(shown) == shown
    assert len(shown) <= LONGEST_NOTIFICATION
