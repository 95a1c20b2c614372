from __future__ import annotations

import fcntl
import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import PASSAGE, answered, checked, claim, exported, reported, source_of
from tests.tui.fixture_types import Output
from ua_tui.core.events.types import SessionStarted
from ua_tui.core.evidence.records import Verdict
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.tui.cli import main
from ua_tui.tui.export.records import Export, export_schema

REPORT = "<h1>Cats</h1><p>Of all cats <b>41 %</b> smile, see https://cats.example/smiles.</p>"


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    session = Recorded(tmp_path)
    path = reported(session, REPORT)
    source = source_of(REPORT)
    url = "https://cats.example/smiles"
    checked(session, path, [claim(source, "41 %"), claim(source, url, 2, Verdict.READ, kind="link")])
    answered(session)
    return session


def test_json_fits_its_schema(session: Recorded) -> None:
    text = exported(session.folder, "json")
    value = json.loads(text)
    jsonschema.Draft202012Validator(export_schema()).validate(value)
    export = msgspec.json.decode(text, type=Export)
    assert export.report is not None
    assert export.check is not None
    first = export.check.claims[0]
    assert export.report.source[first.start : first.end] == first.text == "41 %"
    assert export.sources[first.evidence[0].source].url == "https://cats.example/smiles"
    assert export.costs.models[0].usage.total == 1_200


def test_the_schema_is_printed(capsys: Output) -> None:
    assert main(["schema", "export"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(export_schema()))


def test_markdown_has_a_footnote_for_each_claim(session: Recorded) -> None:
    text = exported(session.folder, "md")
    assert "### Cats" in text
    assert "**41 %[^c1]**" in text
    assert "https://cats.example/smiles [^c2]" in text
    assert (
        f"[^c1]: Figure 1: **untraced**. “{PASSAGE}” [Cats & their smiles](<https://cats.example/smiles>)"
        in text
    )
    for heading in ("## Conversation", "## Sources", "## Saved files", "## Session"):
        assert heading in text


def test_a_resumed_session_is_one(session: Recorded) -> None:
    session.add(
        SessionStarted(session_id="s", workspace=str(session.folder), cwd="/", version="2", resumed_from="s")
    )
    answered(session, "Once more.")
    value = json.loads(exported(session.folder, "json"))
    assert value["session"]["state"] == "interrupted"
    assert [each["text"] for query in value["queries"] for each in query["messages"]] == [
        "**Cats** do.",
        "Once more.",
    ]


def test_a_session_that_another_program_runs(session: Recorded) -> None:
    with (session.folder / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (session.folder / JOURNAL).open("ab") as journal:
            journal.write(b'{"event":"query_rec')
        value = json.loads(exported(session.folder, "json"))
        assert value["session"]["state"] == "running"
        assert value["notices"] == []
        assert "session still running" in exported(session.folder)
