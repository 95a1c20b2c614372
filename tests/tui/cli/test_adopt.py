from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.claims.files import ledger_path
from ua_tui.core.claims.ledger import Ledger, read_content
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
    path = session / ledger_path(REPORT)
    path.parent.mkdir()
    Ledger(session, REPORT).decide([CLAIM], [0], "accepted", Redactor(), by="somebody else")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seal": "0" * 64}))
    assert read_content(path) == (1, 0, False)
    return path


@pytest.mark.parametrize(
    "given", ["the file", "the checks", "the session", "the folder", "the folder of an own session"]
)
def test_decisions_are_adopted(
    planted: Path, tmp_path: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = planted.parents[1]
    if "own" in given:
        seal_session(Root(session))
    place = {"the file": planted, "the checks": planted.parent, "the session": session}.get(given, tmp_path)
    assert adopt(place, yes=False) == 2
    assert read_content(planted) == (1, 0, False)
    assert adopt(place, yes=True) == 0
    assert read_content(planted) == (1, 0, True)
    assert "1 decision about claims" in capsys.readouterr().out
    (listed,) = Ledger(session, REPORT).read().listed([CLAIM])
    assert listed.answer == "accepted"


def test_own_and_damaged_decisions_are_not_listed(planted: Path, tmp_path: Path) -> None:
    seal_session(Root(planted.parents[1]))
    adopt(planted, yes=True)
    (planted.parent / "other.md.claims.json").write_text("{")
    assert adopt(tmp_path, yes=True) == 1
