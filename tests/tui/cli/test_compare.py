from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.postgres_server import Database
from tests.tui.comparison.compared import A, B, session_a, session_b
from tests.tui.fixture_types import Output
from ua_tui.tui.cli import main


def test_two_sessions_are_compared_by_their_names_and_as_json(tmp_path: Path, capsys: Output) -> None:
    session_a(tmp_path)
    session_b(tmp_path)
    assert main(["compare", A, "latest", "--workspace", str(tmp_path)]) == 0
    assert "Claims: 0 in common, 1 changed, 1 only in A, 1 only in B" in capsys.readouterr().out
    assert main(["compare", A, B, "--json", "--workspace", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["schema", "comparison"]) == 0
    jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out)).validate(found)
    assert found["claims"]["new"][0]["quote"]["exact"] == "600"
    assert "passages" not in found["claims"]["new"][0]
    assert main(["compare", A, "20260310_120000", "--workspace", str(tmp_path)]) == 2
    assert "cannot be compared with itself" in capsys.readouterr().err


def test_jobs_of_a_batch_are_named_by_their_rows(tmp_path: Path, capsys: Output) -> None:
    results = tmp_path / "AGENT_RUN_WORKSPACES/batches/animals.jsonl"
    results.parent.mkdir(parents=True)
    rows = [
        {"number": 1, "folder": str(session_a(tmp_path).folder)},
        {"number": 2, "folder": str(session_b(tmp_path).folder)},
        {"number": 3, "folder": ""},
    ]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{torn")
    assert main(["compare", f"{results}:1", f"{results}:2"]) == 0
    assert B in capsys.readouterr().out
    assert main(["compare", "animals:1", "animals:2", "--workspace", str(tmp_path)]) == 0
    assert B in capsys.readouterr().out
    assert main(["compare", f"{results}:1", f"{results}:3"]) == 2
    assert "row 3 of" in capsys.readouterr().err
    assert main(["compare", f"{results}:1", f"{results}:4"]) == 2
    assert "has no result for row 4" in capsys.readouterr().err
    assert main(["compare", "nosuch:1", A, "--workspace", str(tmp_path)]) == 2
    assert "there is no batch 'nosuch'" in capsys.readouterr().err


def test_a_job_that_ran_elsewhere_is_read_from_the_database_of_the_team(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    ran = session_b(tmp_path / "elsewhere").folder
    team_database.execute("INSERT INTO batch (id) VALUES ('b')")
    team_database.execute("INSERT INTO job (id, batch, query) VALUES ('j', 'b', 'q')")
    # Anybody of the team may give a session the id of a job.
    team_database.execute("INSERT INTO session (id, name) VALUES ('j', 'session_20200101_000000')")
    team_database.execute("INSERT INTO session (id, job, name) VALUES ('s', 'j', %s)", ran.name)
    journal = (ran / "journal.jsonl").read_bytes()
    team_database.execute("INSERT INTO piece VALUES ('s', 'journal.jsonl', 0, %s)", journal)
    results = tmp_path / "animals.jsonl"
    rows = [
        {"number": 1, "folder": str(session_a(tmp_path).folder), "job": "i"},
        {"number": 2, "folder": f"/nowhere/{ran.name}", "job": "j"},
        {"number": 3, "folder": f"/nowhere/{ran.name}", "job": "k"},
        {"number": 4, "folder": f"/nowhere/{ran.name}", "job": "j"},
    ]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["compare", f"{results}:1", f"{results}:2", "--workspace", str(tmp_path)]
    assert main(command) == 2
    assert "is not on this machine; if a worker of a team ran it, set `team`" in capsys.readouterr().err
    monkeypatch.setenv("UA_TEAM", team_database.url)
    before = sorted(tmp_path.rglob("*"))
    assert main(command) == 0
    assert B in capsys.readouterr().out
    assert sorted(tmp_path.rglob("*")) == before
    assert main(["compare", f"{results}:1", f"{results}:3", "--workspace", str(tmp_path)]) != 0
    shown = capsys.readouterr().err
    assert "row 3 of" in shown
    assert "is not on this machine" in shown
    assert "has no session of the job 'k'" in shown
    # Several rows with the same query are one job.
    assert main(["compare", f"{results}:2", f"{results}:4", "--workspace", str(tmp_path)]) == 2
    assert f"{ran.name} cannot be compared with itself" in capsys.readouterr().err
