from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.observers.knowledge.recorded import Recorded, database_of, passages
from tests.tui.fixture_types import Output, Patch
from ua_tui.observers.knowledge import catch_up
from ua_tui.tui.cli import main

SESSION = "session_20260310_120000"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with two sessions."""
    Recorded(tmp_path).write_report("quokka", "A quokka smiles.")
    Recorded(tmp_path, "session_20260311_120000").write_report("numbat", "A numbat eats termites.")
    return tmp_path


def knowledge(base: Path, *words: str) -> int:
    return main(["knowledge", *words, "--workspace", str(base)])


def test_it_says_what_is_missing_and_update_adds_it(base: Path, capsys: Output, monkeypatch: Patch) -> None:
    assert knowledge(base) == 0
    before = capsys.readouterr().out
    assert "not created yet" in before
    assert not database_of(base).exists()
    assert knowledge(base, "update") == 0
    after = capsys.readouterr().out
    assert "2 reports" in after
    assert "2 queries" in after
    assert "not read yet" not in after
    Recorded(base, "session_20260312_120000").write_report("wombat", "A wombat digs.")
    assert knowledge(base) == 0
    assert "not read yet session_20260312_120000" in capsys.readouterr().out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert knowledge(base, "update") == 0
    # The line does not stay, though the sessions after this one have nothing new.
    assert capsys.readouterr().err == "1 of 3 sessions\r\r\x1b[K"


def test_the_state_as_json_counts_what_is_there(base: Path, capsys: Output) -> None:
    assert knowledge(base, "update", "--json") == 0
    state = json.loads(capsys.readouterr().out)
    assert state["path"] == str(database_of(base))
    assert (state["exists"], state["sessions"], state["problems"]) == (True, 2, [])
    assert state["documents"]["report"] == 2
    assert state["bytes"] >= database_of(base).stat().st_size
    Recorded(base, "session_20260312_120000")
    assert knowledge(base, "--json") == 0
    (lag,) = json.loads(capsys.readouterr().out)["lagging"]
    assert lag["session"] == "session_20260312_120000"
    assert lag["missing_bytes"] > 0


def test_turned_off_nothing_is_shown_or_made(base: Path, capsys: Output, monkeypatch: Patch) -> None:
    monkeypatch.setenv("UA_KNOWLEDGE", "off")
    assert knowledge(base) == 0
    assert capsys.readouterr().out == "The knowledge base is off (setting knowledge).\n"
    assert knowledge(base, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"path": None}
    for action in (["update"], ["rebuild"], ["forget", "--match", "quokka", "--yes"]):
        assert knowledge(base, *action) == 2
        assert "the knowledge base is off" in capsys.readouterr().err
    assert not database_of(base).exists()


def test_a_damaged_file_is_set_aside_and_made_again(base: Path, capsys: Output) -> None:
    assert knowledge(base, "update") == 0
    capsys.readouterr()
    database_of(base).write_bytes(b"SQLite format 3\0" + b"garbage" * 1000)
    assert knowledge(base) == 1
    assert "problem" in capsys.readouterr().out
    assert knowledge(base, "update") == 0
    captured = capsys.readouterr()
    assert "2 reports" in captured.out
    assert "damaged" in captured.err
    assert len(passages(database_of(base), "quokka")) == 1


def test_a_rebuild_gives_the_same_content(base: Path, capsys: Output) -> None:
    assert knowledge(base, "update") == 0
    before = passages(database_of(base))
    capsys.readouterr()
    assert knowledge(base, "rebuild") == 0
    assert "4 (2 reports" in capsys.readouterr().out
    assert passages(database_of(base)) == before
    assert knowledge(base, "rebuild", "--json") == 0
    assert sum(json.loads(capsys.readouterr().out)["documents"].values()) == 4


def test_an_interrupted_rebuild_is_completed_by_an_update(
    base: Path, capsys: Output, monkeypatch: Patch
) -> None:
    assert knowledge(base, "update") == 0
    before = passages(database_of(base))
    index = catch_up.index_piece

    def index_interrupted(*args: Any) -> Any:
        # Ctrl+C as the kernel sends it to the main thread.
        monkeypatch.undo()
        os.kill(os.getpid(), signal.SIGINT)
        return index(*args)

    monkeypatch.setattr(catch_up, "index_piece", index_interrupted)
    assert threading.current_thread() is threading.main_thread()
    # Whoever started the tests in the background has it ignored.
    before_it = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert knowledge(base, "rebuild") == 130
    finally:
        signal.signal(signal.SIGINT, before_it)
    assert "`ua-tui knowledge update` reads the rest" in capsys.readouterr().err
    assert knowledge(base, "update") == 0
    assert passages(database_of(base)) == before


@pytest.mark.parametrize(("words", "problem"), [
    (["--yes"], "--yes can only be used with forget"),
    (["rebuild", "--dry-run"], "--dry-run can only be used with forget"),
    (["update", "--match", "a"], "--match can only be used with forget"),
    (["forget"], "forget needs --session, --source or --match"),
    (["forget", "--match", " "], "--match is empty"),
])  # fmt: skip
def test_wrong_combinations_are_one_line(base: Path, capsys: Output, words: list[str], problem: str) -> None:
    assert knowledge(base, *words) == 2
    assert capsys.readouterr().err == f"ua-tui knowledge: {problem}; see ua-tui knowledge --help\n"


@pytest.mark.parametrize("action", ["update", "rebuild"])
def test_a_folder_that_is_missing_is_named_and_not_made(tmp_path: Path, capsys: Output, action: str) -> None:
    missing = tmp_path / "reserach"
    assert knowledge(missing, action) == 2
    assert f"there is no folder {missing}" in capsys.readouterr().err
    assert not missing.exists()
