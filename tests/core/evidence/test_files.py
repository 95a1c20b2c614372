from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ua_tui.core.evidence.files import LARGEST, check_path, load_check, report_format
from ua_tui.core.storage.files import Root

REPORT = "work_products/a.html"
CLAIM = {"id": 1, "kind": "figure", "verdict": "traced", "text": "41", "start": 0, "end": 2}


def load(folder: Path, content: str | bytes) -> bool:
    file = folder / check_path(REPORT)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_check(Root(folder), REPORT) is not None


def check(*claims: dict[str, Any], **more: Any) -> str:
    return json.dumps({"version": 1, "report": REPORT, "sha256": "0", "claims": claims, **more})


def test_a_check_is_read_unless_it_is_damaged_or_of_something_else(tmp_path: Path) -> None:
    assert load(tmp_path, check(CLAIM, {**CLAIM, "id": 2, "later": [1]}, later={}))
    contents: list[str | bytes] = ["", "null", "[" * 100_000, b"\xff\xfe\x00", check(CLAIM)[:-1]]
    changes: list[dict[str, Any]] = [
        {"verdict": "true"},
        {"start": "0"},
        {"id": 0},
        {"id": -5},
        {"id": 10**9},
    ]
    contents += [check({**CLAIM, **change}) for change in changes]
    contents += [check(CLAIM, version=2), check(CLAIM, report="work_products/b.html"), check(CLAIM, CLAIM)]
    assert [content for content in contents if load(tmp_path, content)] == []


def test_a_file_that_is_too_large_a_link_or_a_folder_is_no_check(tmp_path: Path) -> None:
    assert not load(tmp_path, " " * LARGEST + check(CLAIM))
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
        "a.text": "text", "a.html.gz": None, "a.html/b": None, "a.pdf": None,
    }  # fmt: skip
    assert {path: report_format(path) for path in forms} == forms
