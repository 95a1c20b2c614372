from __future__ import annotations

from pathlib import Path

from tests.e2e.added_server import own_home
from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli import main


def test_the_list_says_what_a_file_replaces(tmp_path: Path, monkeypatch: Patch, capsys: Output) -> None:
    own_home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    for name in ("email-writer", "general-purpose", "reviewer"):
        (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: d\n---\nGo.\n", encoding="utf-8")
    assert main(["agents"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        f"email-writer ({folder}/email-writer.md) replaces the one that ships with ua-tui.",
        f"general-purpose ({folder}/general-purpose.md) replaces the agent's built-in sub-agent general-purpose.",
    ]
