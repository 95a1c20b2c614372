from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]

from tests.tui.comparison.compared import A, B, session_a, session_b
from tests.tui.fixture_types import Output
from ua_tui.tui.cli import main


def test_two_sessions_are_compared_by_their_names_and_as_json(tmp_path: Path, capsys: Output) -> None:
    session_a(tmp_path)
    session_b(tmp_path)
    assert main(["compare", A, "latest", "--workspace", str(tmp_path)]) == 0
    assert "Claims: 0 in common, 1 changed, 1 only A, 1 only B" in capsys.readouterr().out
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
    assert "has no result of a row 4" in capsys.readouterr().err
