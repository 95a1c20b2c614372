from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.claims.decisions import Decisions, count_decisions
from ua_tui.core.claims.files import decisions_path
from ua_tui.core.claims.records import Claim, TextQuote
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import seal_session
from ua_tui.tui.cli.folder.trust import adopt

REPORT = "work_products/brief.md"
CLAIM = Claim(kind="figure", state="found", quote=TextQuote("84"), sentence="The yield is 84 percent.")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The decisions that somebody else put into a session."""
    session = Recorded(tmp_path).folder
    path = session / decisions_path(REPORT)
    path.parent.mkdir()
    Decisions(path, REPORT).decide([CLAIM], [0], "accepted", Redactor(), by="somebody else")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seal": "0" * 64}))
    assert count_decisions(path) == (1, False)
    return path


@pytest.mark.parametrize("given", ["the file", "the session", "the folder", "the folder of an own session"])
def test_decisions_are_adopted(
    planted: Path, tmp_path: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = planted.parents[1]
    if "own" in given:
        seal_session(Root(session))
    place = {"the file": planted, "the session": session}.get(given, tmp_path)
    assert adopt(place, yes=False) == 2
    assert count_decisions(planted) == (1, False)
    assert adopt(place, yes=True) == 0
    assert count_decisions(planted) == (1, True)
    assert "1 decision about claims" in capsys.readouterr().out
    decisions = Decisions(planted, REPORT)
    decisions.read()
    assert decisions.summary([CLAIM]) == "Signed: 1 of 1 accepted"


def test_own_and_damaged_decisions_are_not_listed(planted: Path, tmp_path: Path) -> None:
    seal_session(Root(planted.parents[1]))
    adopt(planted, yes=True)
    (planted.parent / "other.md.claims.json").write_text("{")
    assert adopt(tmp_path, yes=True) == 1
