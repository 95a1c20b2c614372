from __future__ import annotations

import io
import re
import zlib
from typing import Any

import pytest
from pypdf.errors import PyPdfError

from tests.pdf_files import pdf_file, protected
from ua_tui.core.toolkit.extract import NotReadable
from ua_tui.core.toolkit.sources.pdf import article_of, send_pages

LINES = "A first line about memory that is long enough.\nAnd a second line about power and cooling."


def parts_of(data: bytes, most: int = 100) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    send_pages(io.BytesIO(data), parts.append, most=most, characters=10_000)
    return parts


def test_its_text_has_page_marks_and_its_properties() -> None:
    data = pdf_file(
        [LINES, "", LINES], Title="On memory", Author="Ada Example", CreationDate="D:20260311093000Z"
    )
    found = article_of(parts_of(data))
    assert (found.title, found.author, found.date) == ("On memory", "Ada Example", "2026-03-11")
    assert found.text == f"## Page 1\n\n{LINES}\n\n## Page 3\n\n{LINES}"


def test_its_lines_are_paragraphs_without_divided_words() -> None:
    text = (
        "A heading\nThe well-known library has a defi-\nnition of it, and it is the well-\nknown one of the great "
        "GNU-\nProject, in the end.\nIntroduction . . . . . . . . . . . . . . . 7"
    )
    found = article_of(parts_of(pdf_file([text])))
    assert found.text == (
        "## Page 1\n\nA heading\n\nThe well-known library has a definition\nof it, and it is the well-known\n"
        "one of the great GNU-Project,\nin the end.\n\nIntroduction … 7"
    )


def test_its_first_line_is_its_title_if_the_property_is_none() -> None:
    for title in ("", "Microsoft Word - draft 3", "final_v2.indd", "1234"):
        assert article_of(parts_of(pdf_file([LINES], Title=title))).title == LINES.partition("\n")[0]
        assert article_of(parts_of(pdf_file([LINES], CreationDate="yesterday"))).date is None


def test_a_long_one_says_what_is_missing() -> None:
    data = pdf_file([LINES, LINES + "x", LINES, LINES, LINES])
    assert article_of(parts_of(data, most=2)).text.endswith(
        "(The text ends here: pages 3 to 5 were not read.)"
    )
    found = article_of(parts_of(data)[:3], "it takes longer than 20 s")
    assert found.text.endswith("pages 3 to 5 were not read (it takes longer than 20 s).)")
    sent: list[dict[str, Any]] = []
    send_pages(io.BytesIO(data), sent.append, most=100, characters=len(LINES) + 5)
    assert len(sent) == 3


def test_one_without_text_is_refused_with_the_reason() -> None:
    for data, reason, message in (
        (pdf_file([f"Downloaded by a library, page {n}" for n in (1, 2, 3)]), "pdf_without_text", "has 3 pages"),
        (pdf_file(["", "", ""]), "pdf_without_text", "has 3 pages but hardly any text, so it is probably a scan"),
        (pdf_file(["/1/2/3 /4/5/6 /7/8/9 /10/11 " * 20]), "pdf_without_text", "has 1 page but"),
        (protected(pdf_file([LINES]), "secret"), "pdf_encrypted", "password; look for another copy"),
    ):  # fmt: skip
        with pytest.raises(NotReadable, match=message) as caught:
            article_of(parts_of(data))
        assert (caught.value.code, caught.value.reason) == ("not_readable", reason)


def test_a_table_of_numbers_is_a_text() -> None:
    rows = "\n".join(f"{year} 12,345 67,890 1,234.5 44,123 55,321" for year in range(2001, 2011))
    assert "2010 12,345 67,890" in article_of(parts_of(pdf_file([rows] * 3))).text


def test_a_damaged_one_and_one_that_takes_too_long_are_refused() -> None:
    with pytest.raises(PyPdfError):
        parts_of(b"%PDF-1.7\n%binary")
    with pytest.raises(NotReadable, match="is damaged; look for"):
        article_of([])
    damaged = pdf_file([LINES]).replace(b"/Length", b"/Filter /NoSuchFilter /Length")
    with pytest.raises(NotReadable, match="none of its pages can be read"):
        article_of(parts_of(damaged))
    with pytest.raises(NotReadable, match="too complex") as caught:
        article_of([], "it takes longer than 20 s")
    assert caught.value.reason == "too_complex"


def test_one_that_swells_or_goes_in_circles_is_refused() -> None:
    packed = zlib.compress(bytes(80 << 20), 1)
    stream = b"/Length %d /Filter /FlateDecode >>\nstream\n%s" % (len(packed), packed)
    swelling = re.sub(rb"/Length \d+ >>\nstream\n[^\n]*", lambda _: stream, pdf_file([LINES]), count=1)
    with pytest.raises(NotReadable, match="none of its pages can be read"):
        article_of(parts_of(swelling))
    circling = pdf_file(["x", "x"]).replace(b"/Kids [5 0 R 7 0 R]", b"/Kids [2 0 R 2 0 R]")
    with pytest.raises(PyPdfError):
        parts_of(circling)


def test_one_with_an_empty_password_is_read() -> None:
    assert LINES in article_of(parts_of(protected(pdf_file([LINES]), ""))).text
