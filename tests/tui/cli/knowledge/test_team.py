"""`ua-tui find` and `ua-tui knowledge` over the database of a team."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.core.knowledge.postgres.stored import THERE, address_of, fill, found
from tests.core.knowledge.stored import document
from tests.observers.knowledge.recorded import Recorded
from tests.postgres_server import Database
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.knowledge.access import open_store
from ua_tui.tui.cli import main

SESSION = "session_20260310_120000"


@pytest.fixture
def base(tmp_path: Path, team_database: Database, monkeypatch: Patch, capsys: Output) -> Path:
    """A folder with a session, and one of another machine, in the database that the settings name."""
    recorded = Recorded(tmp_path)
    recorded.write_report("quokka", "# The quokka\n\nThe quokka of Rottnest smiles at people with cameras.")
    monkeypatch.setenv("UA_KNOWLEDGE", team_database.url)
    fill(address_of(team_database), THERE, document("A numbat eats termites.", title="The numbat"))
    assert main(["knowledge", "update", "--workspace", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path


def run(base: Path, *arguments: str) -> int:
    return main([*arguments, "--workspace", str(base)])


def test_what_this_and_other_machines_found_is_found(base: Path, capsys: Output) -> None:
    assert run(base, "find", "quokka", "cameras", "--kind", "report") == 0
    title, *_, place = capsys.readouterr().out.splitlines()
    assert title == "The quokka"
    assert Path(place.strip()).is_file()
    assert run(base, "find", "numbat") == 0
    title, *_, place = capsys.readouterr().out.splitlines()
    assert (title, place.strip()) == ("The numbat", f"{THERE}/notes.md")
    assert run(base, "find", "numbat", "--json") == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert (hit["session"], hit["file"]) == (THERE, None)
    assert run(base, "find", "--session", SESSION) == 0
    assert "numbat" not in capsys.readouterr().out
    assert run(base, "find", "--session", "session_1") == 0
    assert "numbat" in capsys.readouterr().out


def test_the_state_names_the_database_and_no_password(
    base: Path, team_database: Database, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "correct-horse")
    assert run(base, "knowledge") == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].startswith(team_database.name)
    assert "2 (" not in shown.splitlines()[1]
    assert run(base, "knowledge", "--json") == 0
    state = json.loads(capsys.readouterr().out)
    assert state["path"] == team_database.url
    assert state["documents"]["article"] == state["documents"]["report"] == 1
    assert state["lagging"] == []
    assert "correct-horse" not in shown


def test_it_is_forgotten_and_read_again(base: Path, team_database: Database, capsys: Output) -> None:
    address = address_of(team_database)
    assert run(base, "knowledge", "forget", "--match", "numbat", "--yes") == 0
    assert "Forgotten: 1 document" in capsys.readouterr().out
    assert found(address, "numbat") == []
    assert run(base, "knowledge", "rebuild") == 0
    assert "documents" in capsys.readouterr().out
    assert found(address, "quokka")
    with open_store(address) as store:
        assert store.cursors()[THERE].seq == 1


def test_a_server_that_is_away_is_reported(tmp_path: Path, monkeypatch: Patch, capsys: Output) -> None:
    monkeypatch.setenv("UA_KNOWLEDGE", "postgresql://me@127.0.0.1:1/team")
    assert run(tmp_path, "find", "quokka") == 2
    assert "no server is listening" in capsys.readouterr().err
    assert run(tmp_path, "knowledge") == 1
    assert "no server is listening" in capsys.readouterr().out
    monkeypatch.setenv("UA_KNOWLEDGE", "postgresql://me:geheim@127.0.0.1:1/team")
    assert run(tmp_path, "find", "quokka") == 2
    assert "geheim" not in capsys.readouterr().err
