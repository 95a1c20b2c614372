"""A batch on one machine, for the real program: it is stopped and killed while its sessions send messages."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.jobs_at_work import ALLOWED, SEND, add_outbox
from tests.e2e.running import DEADLINE, environment, model_environment, program, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.terminal import terminal
from tests.waiting import wait_until
from ua_tui.core.events.continuation import RESUMED

COUNT = 4
READING = 'exec "$0" "$@" <queries.txt'
OPTIONS = ("batch", "queries.txt", "--parallel", str(COUNT), "--allow", ALLOWED, "--output", "results.jsonl")


def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
    """Send one message for each query, also when it is resumed, and then answer."""
    text = json.dumps(body["messages"])
    if not body.get("tools"):
        return [Text("Send")]
    number = next(number for number in range(COUNT) if f"Send number {number}" in text)
    resumed = RESUMED in text
    if results == 0 or (resumed and results == 1 and text.count('"tool_use"') < 2):
        return [Use(SEND, {"to": "ann@example.com", "text": f"number {number}", "answers": True})]
    return [Text("It was sent.")]


@contextmanager
def outbox(home: Path) -> Iterator[tuple[Path, Path, dict[str, str]]]:
    """The file of what was sent, the gate behind which it waits, and the environment of the program."""
    (home / "queries.txt").write_text("".join(f"Send number {number}\n" for number in range(COUNT)))
    gate = home / "gate"
    sent = add_outbox(home, gate)
    with scripted_model(reply) as url:
        yield sent, gate, model_environment(home, url)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def results_of(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines_of(home / "results.jsonl")]


@pytest.mark.slow
def test_ctrl_c_lets_messages_go_out_and_the_same_command_sends_none_again(tmp_path: Path) -> None:
    """Also if the queries came from the standard input before, and now come from a file."""
    with outbox(tmp_path) as (sent, gate, surroundings):
        begun = sent.with_name(f"{sent.name}.begun")
        started = ("-c", READING, program(), "batch", "-", *OPTIONS[2:])
        with terminal(tmp_path, *started, env=surroundings, command="sh") as screen:
            screen.wait_until(lambda: len(lines_of(begun)) == COUNT)
            screen.type("\x03")
            screen.wait_for("stopping: running calls have 60 s to finish; Ctrl+C again stops at once")
            assert lines_of(sent) == []
            gate.touch()
            screen.wait_for("interrupted: 4 jobs left; run the same command again to resume")
        assert len(lines_of(sent)) == COUNT
        done = run(tmp_path, *OPTIONS, env=surroundings)
        assert (done.code, "4 jobs: 4 new, 4 sessions resumed" in done.stderr) == (0, True), done.stderr
    assert sorted(lines_of(sent)) == [f"ann@example.com: number {number}" for number in range(COUNT)]
    assert [(each["state"], each["attempt"], each["unknown"]) for each in results_of(tmp_path)] == [
        ("done", 2, [])
    ] * COUNT


@pytest.mark.slow
def test_after_a_kill_what_was_begun_is_not_sent_again_and_the_results_say_so(tmp_path: Path) -> None:
    with outbox(tmp_path) as (sent, gate, surroundings):
        begun = sent.with_name(f"{sent.name}.begun")
        with subprocess.Popen(
            [program(), *OPTIONS], cwd=tmp_path, env=surroundings, stdin=subprocess.DEVNULL
        ) as killed:
            wait_until(lambda: len(lines_of(begun)) == COUNT)
            killed.send_signal(signal.SIGKILL)
        done = run(tmp_path, *OPTIONS, env=surroundings)
        gate.touch()
        assert done.code == 0, done.stderr
        assert "4 queries with actions of unknown outcome" in done.stderr
    assert len(lines_of(begun)) == COUNT
    assert len(lines_of(sent)) <= COUNT
    results = results_of(tmp_path)
    assert [(each["state"], each["attempt"], each["unknown"]) for each in results] == [
        ("done", 2, [SEND])
    ] * COUNT
    assert len({each["session"] for each in results}) == COUNT
    exported = run(tmp_path, "export", results[0]["session"], "--format", "json", env=surroundings)
    assert exported.code == 0, exported.stderr


def test_without_standard_input_a_batch_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("one\n")
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" batch queries.txt <&-', program()],
        cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=DEADLINE,
        start_new_session=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("1 job: 1 new\nua-tui: no API key")
