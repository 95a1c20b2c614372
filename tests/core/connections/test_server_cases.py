"""The cases of MCP servers in `docs/servers.md`: `server_cases.toml` names the test of each row."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.paths import DOCS, PROJECT

CASES = tomllib.loads(Path(__file__).with_name("server_cases.toml").read_text("utf-8"))
TABLE = re.compile(r"^\| (.+?) \|.*\|\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)


def is_defined(test: str) -> bool:
    """Whether the file of a test defines it."""
    file, _, name = test.partition("::")
    return (
        re.search(rf"^(?:async )?def {name}\(", (PROJECT / "tests" / file).read_text("utf-8"), re.M)
        is not None
    )


def test_each_row_of_the_page_has_a_test() -> None:
    page = (DOCS / "servers.md").read_text("utf-8")
    section = page.partition("## What can happen, and what you see\n")[2].partition("\n## ")[0]
    rows = {title: re.findall(r"^\| (.+?) \|", lines, re.M) for title, lines in TABLE.findall(section)}
    assert rows == {title: list(cases) for title, cases in CASES.items()}
    assert sum(map(len, rows.values())) >= 40
    assert [test for cases in CASES.values() for test in cases.values() if not is_defined(test)] == []
