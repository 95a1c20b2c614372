"""A password is in no process list, no output, no file and no error, whatever happens to the connection."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.e2e.running import DEADLINE, environment, program
from tests.postgres_server import Cluster, Database
from tests.tui.cli.test_arguments import CASES
from ua_tui.tui.cli import main
from ua_tui.tui.cli.arguments import COMMANDS


def secret() -> str:
    """A password that no other program has on its command line."""
    return f"planted-{uuid4().hex}"


class ProcessList:
    """The command lines of all processes, again and again, while the block runs: which had one of the words?"""

    def __init__(self, *words: str) -> None:
        self._words = [word.encode() for word in words]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.seen = 0
        self.found: set[bytes] = set()

    def __enter__(self) -> ProcessList:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = path.read_bytes()
                except OSError:
                    continue
                self.seen += b"ua-tui" in line
                if any(word in line for word in self._words):
                    self.found.add(line)


@pytest.fixture
def role(cluster: Cluster, team_database: Database) -> Iterator[tuple[str, str]]:
    """The address over TCP of a role with a password that owns the tables, and that password."""
    word = secret()
    name = cluster.make_role(f"s{team_database.name}", word)
    team_database.execute(f'GRANT owner TO "{name}"')
    yield team_database.tcp.replace("owner@", f"{name}@"), word
    team_database.execute(f'REVOKE owner FROM "{name}"')


def start(home: Path, password: str, *given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program(), *given],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
        cwd=home,
        env=environment(home, PGPASSWORD=password, PGCONNECT_TIMEOUT="60"),
    )


@pytest.mark.slow
def test_a_password_of_the_environment_is_nowhere(tmp_path: Path, role: tuple[str, str]) -> None:
    url, word = role
    wrong = secret()
    nobody = "postgresql://mary@127.0.0.1:1/desk"
    runs = [
        (("team", "migrate", "--to", url), word, 0),
        (("doctor", "--json", "--to", url), word, 0),
        (("team", "status", "--to", nobody), wrong, 1),
        (("batch", "queries.txt", "--to", url), wrong, 1),
        (("worker", "--from", url), wrong, 1),
        (("fleet", "--json", "--from", url), word, 0),
    ]
    (tmp_path / "queries.txt").write_text("why?\n")
    with ProcessList(word, wrong) as processes:
        done = [(start(tmp_path, password, *given), code) for given, password, code in runs]
    assert [each.returncode for each, _ in done] == [code for _, code in done], done[0][0].stderr
    assert processes.seen
    assert not processes.found
    for each, _ in done:
        assert word not in each.stdout + each.stderr
        assert wrong not in each.stdout + each.stderr
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        content = path.read_bytes()
        assert word.encode() not in content, path
        assert wrong.encode() not in content, path


def _addresses() -> Iterator[tuple[str, str]]:
    """Every command that takes the address of a database, and its option."""
    for name, command in COMMANDS.items():
        if name is not None:
            for option in {"--to", "--from"} & {*command.arguments}:
                yield name, option


def test_an_address_with_a_password_is_refused_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "queries.txt").write_text("why?\n")
    found = list(_addresses())
    assert {("doctor", "--to"), ("team", "--to"), ("worker", "--from")} <= set(found)
    for command, option in found:
        others = ["queries.txt" if other == "FILE" else other for other in CASES[command][0]]
        word = secret()
        assert main([command, *others, option, f"postgresql://mary:{word}@127.0.0.1:1/desk"]) == 2, command
        reported = capsys.readouterr()
        assert "has a password" in reported.err, command
        assert word not in reported.out + reported.err
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "queries.txt"]
