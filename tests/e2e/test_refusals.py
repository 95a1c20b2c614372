"""A provider that refuses all requests for a while: jobs are put off, and all are answered afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.e2e.running import DEADLINE, model_environment, model_settings, program
from tests.e2e.scripted_model import Text, scripted_model
from tests.postgres_server import Database
from tests.tui.team.test_batch import arguments
from tests.waiting import wait_until
from ua_tui.tui.cli.team.batch import run_batch
from ua_tui.tui.team import local_batch
from ua_tui.tui.team.reporters import Reporter

COUNT = 4
FEW = {"CLAUDE_CODE_MAX_RETRIES": "1"}
ANSWERED = [("done", f"Query {number}", "It is blue.") for number in range(COUNT)]


def queries(home: Path) -> Path:
    path = home / "queries.txt"
    path.write_text("".join(f"Query {number}\n" for number in range(COUNT)))
    return path


def results(text: str) -> list[tuple[str, str, str]]:
    rows = [json.loads(line) for line in text.splitlines()]
    return sorted((each["state"], each["query"], each["answer"]) for each in rows)


@pytest.mark.slow
def test_the_whole_team_waits_and_no_job_fails(home: Path, team_database: Database) -> None:
    refuses = threading.Event()
    refuses.set()
    log, output, errors = home / "worker.log", home / "results.jsonl", home / "batch.log"
    with scripted_model(lambda _body, _results: [Text("It is blue.")], refuses=refuses.is_set) as url:
        surroundings = model_environment(home, url, UA_KNOWLEDGE="off", **FEW)
        with log.open("wb") as to, output.open("wb") as out, errors.open("wb") as err:
            worker = subprocess.Popen(
                [program(), "worker", "--from", team_database.url, "--parallel", "2"],
                cwd=home, env=surroundings, stdin=subprocess.DEVNULL, stdout=to, stderr=to,
            )  # fmt: skip
            batch = subprocess.Popen(
                [program(), "batch", str(queries(home)), "--to", team_database.url, "--json"],
                cwd=home, env=surroundings, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )  # fmt: skip
            try:
                wait_until(lambda: log.read_text().count("put off") == 2, DEADLINE)
                states = "SELECT DISTINCT state FROM job WHERE worker_id IS NULL"
                wait_until(lambda: team_database.execute(states) == [("waiting",)])
                assert team_database.execute("SELECT not_before > now() FROM claiming") == [(True,)]
                refuses.clear()
                team_database.execute("UPDATE claiming SET not_before = now()")
                assert batch.wait(DEADLINE) == 0, errors.read_text()
            finally:
                for each in (worker, batch):
                    each.send_signal(signal.SIGTERM)
                    each.wait(DEADLINE)
    assert results(output.read_text()) == ANSWERED, log.read_text()
    first = json.loads(output.read_text().splitlines()[0])
    assert first["tokens"] > 0
    assert first["model"]


@pytest.mark.slow
async def test_a_batch_of_this_machine_waits_too(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refuses = threading.Event()
    refuses.set()
    lines: list[str] = []

    def hear(_reporter: Reporter, text: str) -> None:
        lines.append(text)
        if "too many requests" in text:
            refuses.clear()

    monkeypatch.setattr(Reporter, "line", hear)
    monkeypatch.setattr(local_batch, "PUT_OFF_SECONDS", 0.01)
    for name, value in FEW.items():
        monkeypatch.setenv(name, value)
    with scripted_model(lambda _body, _results: [Text("It is blue.")], refuses=refuses.is_set) as url:
        args = arguments(str(queries(home)), "--parallel", "2", "--json")
        assert await run_batch(args, model_settings(home, url, knowledge="off"), None) == 0, lines
    assert any("no job starts for" in line for line in lines)
    assert results(capsys.readouterr().out) == ANSWERED
    assert len(list((home / "AGENT_RUN_WORKSPACES").glob("session_*"))) == COUNT
