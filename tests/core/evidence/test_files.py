from __future__ import annotations

import pytest

from core.evidence.files import report_format


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("work_products/a.html", "html"),
        ("a.XHTML", "html"),
        ("a.md.zst", "markdown"),
        ("a.mdown", "markdown"),
        ("a.text", "text"),
        ("a.html.gz", None),
        ("a.html/b", None),
        ("a.pdf", None),
    ],
)
def test_the_format_of_a_report_is_that_of_its_name(path: str, form: str | None) -> None:
    assert report_format(path) == form
