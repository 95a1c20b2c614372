from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded, database_of, passages
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.knowledge.forgotten import ForgottenFile
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.cli import main

SESSION = "session_20260310_120000"
QUOKKA = f"{WORKSPACES}/{SESSION}/work_products/quokka.md"


class Terminal(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def base(tmp_path: Path, capsys: Output) -> Path:
    """A folder with two sessions, which are in its knowledge base."""
    Recorded(tmp_path).write_report("quokka", "# Quokkas\n\nA quokka smiles.")
    Recorded(tmp_path, "session_20260311_120000").write_report("numbat", "A numbat eats termites.")
    assert main(["knowledge", "update", "--workspace", str(tmp_path)]) == 0
    capsys.readouterr()
    return tmp_path


def forget(base: Path, *words: str) -> int:
    return main(["knowledge", "forget", *words, "--workspace", str(base)])


def type_at_a_terminal(monkeypatch: Patch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(text))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_a_dry_run_names_what_would_go_and_changes_nothing(base: Path, capsys: Output) -> None:
    before = passages(database_of(base))
    assert forget(base, "--match", "quokka smiles", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "To forget: 1 document with 1 passage." in shown
    for name in ("Quokkas", SESSION):
        assert name in shown
    assert forget(base, "--match", "quokka smiles", "--dry-run", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["forgotten"], found["documents"], found["titles"]) == (False, 1, ["Quokkas"])
    assert passages(database_of(base)) == before
    assert not ForgottenFile(database_of(base)).path.exists()
    assert (base / QUOKKA).exists()


def test_what_is_not_indexed_yet_may_match_later(base: Path, capsys: Output) -> None:
    Recorded(base, "session_20260401_120000").write_report("wombat", "A wombat digs.")
    assert forget(base, "--match", "wombat", "--yes") == 1
    assert (
        "1 session may have content that is not indexed yet; `ua-tui knowledge update` indexes it"
        in capsys.readouterr().err
    )


def test_what_is_forgotten_does_not_come_back(base: Path, capsys: Output) -> None:
    assert forget(base, "--match", "quokka smiles", "--yes") == 0
    assert "Forgotten: 1 document" in capsys.readouterr().out
    for action in ("update", "rebuild"):
        assert main(["knowledge", action, "--workspace", str(base)]) == 0
        assert passages(database_of(base), "quokka smiles") == []
    assert len(passages(database_of(base), "numbat")) == 1
    assert (base / QUOKKA).exists()
    assert b"smiles" not in database_of(base).read_bytes()


def test_a_session_is_forgotten_by_its_name(base: Path, capsys: Output) -> None:
    assert forget(base, "--session", "20260310_120000", "--yes") == 0
    assert {folder for folder, _, _ in passages(database_of(base))} == {"session_20260311_120000"}
    assert main(["knowledge", "rebuild", "--workspace", str(base)]) == 0
    assert {folder for folder, _, _ in passages(database_of(base))} == {"session_20260311_120000"}


@pytest.mark.parametrize(("answer", "code"), [("YES\n", 0), ("\n", 1), ("", 1)])
def test_at_a_terminal_it_asks(
    base: Path, capsys: Output, monkeypatch: Patch, answer: str, code: int
) -> None:
    type_at_a_terminal(monkeypatch, answer)
    assert forget(base, "--match", "quokka smiles") == code
    shown = capsys.readouterr()
    assert shown.out.index("Quokkas") < shown.out.index("Forget this?")
    assert ("nothing was forgotten" in shown.err) == bool(code)
    assert len(passages(database_of(base), "quokka smiles")) == code


def test_what_matches_nothing_is_not_clear_or_not_confirmed_changes_nothing(
    base: Path, capsys: Output
) -> None:
    before = passages(database_of(base))
    for code, words, problem in (
        (1, ("--match", "zyzzyva", "--yes"), "nothing was forgotten"),
        (1, ("--source", "https://nowhere.example/", "--yes"), "nothing was forgotten"),
        (2, ("--session", "tomorrow", "--yes"), "tomorrow"),
        (2, ("--match", "quokka since:nonsense", "--yes"), "not clear"),
        # Nobody is asked without a terminal.
        (2, ("--match", "quokka"), "--yes removes it"),
    ):
        assert forget(base, *words) == code
        assert problem in capsys.readouterr().err
    assert passages(database_of(base)) == before
    assert (base / QUOKKA).exists()
