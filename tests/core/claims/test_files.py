from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.claims.files import check_path, ledger_path, load_check, report_format
from ua_tui.core.storage.files import Root

REPORT = "work_products/a.html"
CLAIM = {
    "kind": "figure",
    "state": "found",
    "quote": {"exact": "41"},
    "passages": [{"source": 0, "text": "41"}],
}


def load(folder: Path, content: str | bytes) -> bool:
    file = folder / check_path(REPORT)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_check(Root(folder), REPORT) is not None


def check(*claims: dict[str, Any], **more: Any) -> str:
    whole = {
        "version": 2,
        "report": REPORT,
        "sha256": "0",
        "check": {"claims": claims},
        "sources": [{"kind": "article"}],
    }
    return json.dumps(whole | more)


def test_a_check_is_read_with_fields_of_a_later_version(tmp_path: Path) -> None:
    assert load(tmp_path, check(CLAIM, {**CLAIM, "later": [1]}, later={}))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[" * 100_000,
        b"\xff\xfe\x00",
        check(CLAIM)[:-1],
        check({**CLAIM, "state": "true"}),
        check({**CLAIM, "quote": "41"}),
        check({**CLAIM, "passages": [{"source": 1, "text": "41"}]}),
        check({**CLAIM, "passages": [{"source": -1, "text": "41"}]}),
        check(CLAIM, version=1),
        check(CLAIM, report="work_products/b.html"),
    ],
)
def test_what_is_damaged_or_of_something_else_is_no_check(tmp_path: Path, content: str | bytes) -> None:
    assert not load(tmp_path, content)


def test_a_link_and_a_folder_are_no_check(tmp_path: Path) -> None:
    assert load(tmp_path, check(CLAIM))
    file = tmp_path / check_path(REPORT)
    file.rename(tmp_path / "check")
    file.symlink_to(tmp_path / "check")
    assert load_check(Root(tmp_path), REPORT) is None
    file.unlink()
    file.mkdir()
    assert load_check(Root(tmp_path), REPORT) is None


def test_the_format_of_a_report_is_that_of_its_name() -> None:
    forms = {
        "work_products/a.html": "html", "a.XHTML": "html", "a.md.zst": "markdown", "a.mdown": "markdown",
        "a.text": "text", "a.html.gz": None, "a.html/b": None, "a.pdf": "pdf",
    }  # fmt: skip
    assert {path: report_format(path) for path in forms} == forms


def test_the_decisions_are_beside_the_check_of_their_report() -> None:
    assert check_path("work_products/media_a.html") == "report_checks/media_a.html.json"
    assert ledger_path("work_products/media_a.html") == "report_checks/media_a.html.claims.json"
