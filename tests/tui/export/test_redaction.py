from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded
from tests.tui.export.exported import checked, claim, exported, reported, source_of
from tests.tui.fixture_types import Patch
from ua_tui.core.events import types as ev
from ua_tui.core.observation import Observation, TextContent
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.tui.export.formats import FORMATS, ExportFormat
from ua_tui.tui.export.redaction import Redaction, session_folders

KNOWN = "correct-horse-battery-9"
PATTERN = "sk-ant-api03-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg"
LINK = "https://connect.example/auth/Q8fGh2Lw9xTzPq4R"
FORM = "https://forms.example/fill/K2mN8vBx5cYs7dQ"


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.mark.parametrize("form", FORMATS)
def test_no_secret_is_in_an_export(session: Recorded, form: ExportFormat) -> None:
    text = f"<p title='{KNOWN}'>The key is {KNOWN} or {PATTERN.replace('-', '&#45;', 1)}, 41 %.</p>"
    path = reported(session, text, f"cats {KNOWN}.html")
    evil = f"{KNOWN} {PATTERN} {LINK} {FORM}"
    checked(session, path, [claim(source_of(text), "41 %", note=evil, sentence=evil, section=evil)])
    result = Observation(tool_name="x", tool_use_id="t", content=(TextContent(evil),))
    session.add(
        ev.AuthRequired(toolkit="x", url=LINK),
        ev.ElicitationAsked(request_id="r", server="x", url=FORM),
        ev.QueryReceived(query_id="q2", text=evil),
        ev.ToolCallStarted(
            query_id="q2", tool_use_id="t", name=f"mcp__{KNOWN}__x", input={"query": evil, KNOWN: 1}
        ),
        ev.ToolCallFinished(tool_use_id="t", status="error", observation=result),
        ev.ArtifactSaved(path=f"{KNOWN}.md", kind="x", size=1, sha256="x", observer="x"),
        ev.MessageFinished(query_id="q2", message_id="m", text=evil),
        ev.QueryFinished(query_id="q2", status="error", error=evil, text=evil),
    )
    (session.folder / "title.txt").write_text(evil)
    found = exported(session.folder, form, redactor=Redactor([KNOWN]))
    assert "41 %" in found
    for secret in (KNOWN, PATTERN, PATTERN[13:], LINK, FORM, "Q8fGh2Lw9xTzPq4R"):
        assert secret not in found


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_has_no_local_path(
    session: Recorded, tmp_path: Path, form: ExportFormat, monkeypatch: Patch
) -> None:
    home = tmp_path / "home" / "me"
    monkeypatch.setenv("HOME", os.fspath(home))
    folder = session.folder
    paths = f"{folder}/work_products/a.html, {tmp_path}/notes.md, {home}/.ssh, /home/other/x, /Users/jo/y, file://{folder}/z"
    reported(session, f"<p>{paths}</p>")
    session.add(
        ev.ToolCallStarted(query_id="q1", tool_use_id="t", name="Read", input={
            "file_path": f"{folder}/a.md", "b": f"\n{home}",
        }),
        ev.ToolCallFinished(tool_use_id="t", status="success"),
        ev.MessageFinished(query_id="q1", message_id="m", text=paths),
    )  # fmt: skip
    found = exported(folder, form)
    for path in (str(tmp_path), str(home), "/home/other", "/Users/jo", "/root"):
        assert path not in found
    assert "work_products/a.html" in found.replace("\\", "")


def test_addresses_of_the_web_are_no_paths(tmp_path: Path) -> None:
    redaction = Redaction(Redactor(), [("/home/me", "~"), ("/tmp/x", ""), ("/tmp", "…")])
    cases = {
        "https://a.example/home/me/x": "https://a.example/home/me/x", "/home/me": "~", "/home/me/a": "~/a",
        "/home/menu": "~", "(/tmp/x/y.md)": "(y.md)", "/tmp/x": ".", "/tmp/xy": "…/xy",
        '{"a":"\\n/home/me/b"}': '{"a":"\\n~/b"}', "C:\\Users\\jo\\a": "~\\a", "a/root/b": "a/root/b",
        "/root/b": "~/b", "/rooted": "/rooted",
    }  # fmt: skip
    assert {text: redaction.text(text) for text in cases} == cases
    assert session_folders(tmp_path, [str(tmp_path)])


def test_words_of_the_format_stay_whatever_is_secret(session: Recorded) -> None:
    assert '"state": "interrupted"' in exported(session.folder, "json", redactor=Redactor(["interrupted"]))
