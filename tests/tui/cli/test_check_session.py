"""`ua-tui check` with sessions that have read something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observers.evidence.sessions import ReadSession
from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli import main

PAGE = "https://cats.example/power"
OTHER = "https://dogs.example/power"
TEXT = (
    "The control room of the operator in Zagreb said on Monday that data centres in Croatia used 41 percent of the "
    "power in 2025. “We have never seen demand rise this fast,” said Ana Kovač, who runs the control room."
)
SUPPORTED = (
    "# Power\n\nIn 2025 data centres in Croatia used 41 percent of the power "
    f"([Cats]({PAGE})). “We have never seen demand rise this fast,” said Ana Kovač ([Cats]({PAGE})).\n"
)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: Patch) -> ReadSession:
    monkeypatch.chdir(tmp_path)
    session = ReadSession(tmp_path)
    session.crawl((PAGE, TEXT))
    return session


def test_a_report_that_is_supported_and_sources_that_disagree(session: ReadSession, capsys: Output) -> None:
    file = session.write("work_products/power.md", SUPPORTED)
    assert main(["check", str(file), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "Not supported" not in shown
    for part in ("✓ traced", "41 percent", "✓ verbatim", "✓ read"):
        assert part in shown
    session.crawl((OTHER, TEXT.replace("41", "36").replace("Monday", "Friday")))
    assert main(["check", str(file)]) == 0
    shown = capsys.readouterr().out
    for part in ("Sources disagree: 1", "41 percent", "36 percent", OTHER):
        assert part in shown


@pytest.mark.parametrize("name", ["power.md", "power.html", "power.txt"])
def test_a_report_with_unsupported_claims(session: ReadSession, capsys: Output, name: str) -> None:
    said = SUPPORTED.replace("41 percent", "57 percent").replace("this fast", "this slowly")
    if name.endswith(".html"):
        link = f'<a href="{PAGE}">Cats</a>'
        said = "<h1>Power</h1>\n" + said.partition("\n\n")[2].replace(f"[Cats]({PAGE})", link)
    if name.endswith(".txt"):
        said = said.replace(f"[Cats]({PAGE})", PAGE)
    file = session.write(f"work_products/{name}", said)
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr().out
    for part in ("Not supported: 2", "57 percent", "≠ altered"):
        assert part in shown
    assert "line 3" in shown or name.endswith(".html")
    assert main(["check", str(file), "--json"]) == 1
    check = json.loads(capsys.readouterr().out)
    assert PAGE in [source.get("url") for source in check["sources"]]
    (claim,) = (claim for claim in check["claims"] if claim["verdict"] == "untraced")
    assert claim["text"] == "57 percent"
    assert name.endswith(".html") or said[claim["start"] : claim["end"]] == "57 percent"
    # A link in a draft that was never seen.
    Path("draft.md").write_text("Read [this](https://invented.example/page).\n")
    assert main(["check", "draft.md", "--session", "latest"]) == 1
    shown = capsys.readouterr().out
    assert "✗ never seen" in shown
    assert "https://invented.example/page" in shown


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_secrets_are_masked(
    session: ReadSession, monkeypatch: Patch, capsys: Output, form: list[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-cats-and-dogs-0123456789")
    said = SUPPORTED.replace("41 percent", "57 percent (sk-ant-api03-cats-and-dogs-0123456789)")
    file = session.write("work_products/power.md", said)
    assert main(["check", str(file), *form]) == 1
    shown = capsys.readouterr().out
    assert "57 percent" in shown
    assert "cats-and-dogs" not in shown
