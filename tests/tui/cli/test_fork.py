from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.core.session.test_fork import Recorded
from tests.tui.fixture_types import Output
from ua_tui.core.history.session import queries_of
from ua_tui.tui.cli import main


@pytest.mark.parametrize(("at", "left"), [("q2", 1), ("2", 1), ("3", 2), (None, 3)])
def test_without_a_terminal_the_folder_of_the_fork_is_printed(
    tmp_path: Path, capsys: Output, at: str | None, left: int
) -> None:
    session = Recorded(tmp_path).folder
    given = ["--at", at] if at is not None else []
    assert main(["fork", session.name, *given, "--workspace", str(tmp_path)]) == 0
    fork = Path(capsys.readouterr().out.strip())
    assert len(queries_of(fork)) == left
    assert main(["sessions", "--workspace", str(tmp_path)]) == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == [session.name, fork.name]
    assert ("└ " in rows[0], "└ " in rows[1]) == (False, True)
    assert "  $0.00  " in rows[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["latest", "--at", "q9"], "has no query 'q9': it has q1 to q3"),
        (["latest", "--at", "\x1b[2J"], "has no query"),
        (["nowhere"], "there is no session 'nowhere'"),
    ],
)
def test_what_cannot_be_forked_is_said_in_a_line_and_leaves_nothing(
    tmp_path: Path, capsys: Output, given: list[str], said: str
) -> None:
    session = Recorded(tmp_path).folder
    assert main(["fork", *given, "--workspace", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert "\x1b" not in error
    assert list(session.parent.iterdir()) == [session]


def test_a_session_of_somebody_else_is_neither_forked_nor_resumed(tmp_path: Path, capsys: Output) -> None:
    session = Recorded(tmp_path).folder
    copied = shutil.copytree(session, session.with_name("session_20300101_000000"))
    for command in ("fork", "resume"):
        assert main([command, copied.name, "--workspace", str(tmp_path)]) == 2
        assert "can be read, but neither resumed nor forked" in capsys.readouterr().err
    assert {*session.parent.iterdir()} == {session, copied}
