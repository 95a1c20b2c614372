from __future__ import annotations

import fcntl
import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import NOW, answered, checked, claim, exported, reported
from tests.tui.fixture_types import Output
from ua_tui.core.claims.ledger import Ledger
from ua_tui.core.claims.opinion import Opinions, questions_about, read_reply
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import SessionStarted
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.tui.cli import main
from ua_tui.tui.cli.about import schema_of
from ua_tui.tui.export.formats import ExportFormat, read_export
from ua_tui.tui.export.records import Export

REPORT = "<h1>Cats</h1><p>Of all cats <b>41 %</b> smile, see https://cats.example/smiles.</p>"


REPLY = '{"opinions": [{"id": 0, "opinion": "contradicts", "words": "41 percent"}]}'


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    session = Recorded(tmp_path)
    path = reported(session, REPORT)
    url = "https://cats.example/smiles"
    check = checked(session, path, claim("41 %"), claim(url, "found", kind="link", url=url))
    ledger = Ledger(session.folder, path)
    ledger.decide(check.claims, [0], "rejected", Redactor(), by="Jo", at=NOW, note="Ask *them*.")
    ledger.decide(check.claims, [1], "accepted", Redactor(), by="Jo", at=NOW)
    (question,) = questions_about(check.claims, Redactor())
    said = tuple(read_reply(question, check.claims, REPLY))
    ledger.add(Opinions(at=NOW, model="small", opinions=said), Redactor())
    answered(session)
    return session


def test_json_fits_its_schema(session: Recorded) -> None:
    text = exported(session.folder, "json")
    value = json.loads(text)
    jsonschema.Draft202012Validator(schema_of("export")).validate(value)
    export = msgspec.json.decode(text, type=Export)
    assert export.report is not None
    assert export.check is not None
    assert export.sources[export.check.claims[0].passages[0].source].url == "https://cats.example/smiles"
    first, second = export.check.claims
    assert first.decision is not None
    assert second.decision is not None
    assert first.opinion is not None
    assert (first.decision.answer, first.decision.by, first.decision.note) == (
        "rejected",
        "Jo",
        "Ask *them*.",
    )
    assert (first.opinion.verdict, first.opinion.words) == ("contradicts", "41 percent")
    assert second.decision.answer == "accepted"
    assert export.check.signed == "Signed: 1 of 2 accepted, 1 rejected"
    assert export.check.second_opinion == "Second opinion from small: 1 contradict"
    assert [each.title for each in export.references] == ["Cats & their smiles"]
    assert export.costs.models[0].usage.total == 1_200


def test_the_schema_is_printed(capsys: Output) -> None:
    assert main(["schema", "export"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(schema_of("export")))


def test_markdown_has_the_doubtful_claims_beside_the_sources(session: Recorded) -> None:
    text = exported(session.folder, "md")
    assert "**41 %** ✗¹ smile, see https://cats.example/smiles." in text
    assert (
        "| ✗¹ differs. The source says 41 percent. | It is **41 %**. | About **41 percent** of the cats in the survey "
        "smile. ([Cats & their smiles](<https://cats.example/smiles>), Jo, published 2026-03-09, "
        "read 2026-03-10 12:00 UTC) "
        "| Second opinion: contradicts: “41 percent”. Rejected by Jo, 2026-03-11 00:00 UTC: Ask \\*them\\*. |"
    ) in text
    assert "**Signed: 1 of 2 accepted, 1 rejected**, Jo 2026-03-11 00:00 UTC" in text
    assert (
        "1. [Cats & their smiles](<https://cats.example/smiles>), cats.example, Jo, published 2026-03-09, read 2026"
        in text
    )
    headings = [
        "## Report",
        "### Cats",
        "## Evidence",
        "## References",
        "## Conversation",
        "## Sources",
        "## Saved files",
        "## Session",
    ]
    assert [line for line in text.split("\n") if line.startswith(("## ", "### Cats"))] == headings


@pytest.mark.parametrize(("form", "part"), [
    ("csl", '"title": "Cats & their smiles"'), ("ris", "TI  - Cats & their smiles\r\n"),
    ("bibtex", r"title = {{Cats \& their smiles}}"),
])  # fmt: skip
def test_the_cited_sources_are_exported_as_references(
    session: Recorded, form: ExportFormat, part: str
) -> None:
    text = exported(session.folder, form)
    for each in (part, "https://cats.example/smiles", "Jo", "ab" * 32):
        assert each in text
    reported(session, "Nothing is cited.", "none.md")
    with pytest.raises(SettingsError, match=r"none\.md cites no page"):
        exported(session.folder, form, "none.md")


@pytest.mark.parametrize(("report", "name", "expected"), [
    ("<title>Cats: why they smile</title>", "a.html", "cats-why-they-smile.html"),
    ("# Größe der Städte", "a.md", "grosse-der-stadte.html"), ("<p>x", "my-cats.html", "my-cats.html"),
])  # fmt: skip
def test_the_file_has_the_name_of_the_report(tmp_path: Path, report: str, name: str, expected: str) -> None:
    session = Recorded(tmp_path)
    assert read_export(session.folder, Redactor()).save("html").name == f"{session.folder.name}.html"
    reported(session, report, name)
    written = read_export(session.folder, Redactor()).save("html")
    assert written.parent == session.folder.parent.parent / "SAVED_REPORTS"
    assert written.name == expected
    assert read_export(session.folder, Redactor()).save("html").name == f"{written.stem}-2.html"


def test_a_resumed_session_is_one(session: Recorded) -> None:
    session.add(
        SessionStarted(session_id="s", workspace=str(session.folder), cwd="/", version="2", resumed_from="s")
    )
    answered(session, "Once more.")
    value = json.loads(exported(session.folder, "json"))
    assert value["session"]["state"] == "crashed"
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
