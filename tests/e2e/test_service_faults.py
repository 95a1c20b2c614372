"""What a person sees for each fault of the model's service: the agent and the fault are real."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.e2e.certificates import certificate, server_context
from tests.e2e.faulty_service import faulty_service
from tests.e2e.live import agent_of, live
from tests.e2e.running import DEADLINE, NOWHERE, model_environment, model_settings, run
from tests.waiting import PATIENCE
from ua_tui.api import open_session
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import AgentSilent, ApiRetry, ErrorRaised, Event, QueryFinished
from ua_tui.core.session.session import Session

TABLE: dict[str, tuple[str, str]] = json.loads(Path(__file__).with_name("service_faults.json").read_text())
"""By fault: the reason and the advice after a query."""
# Every query of one session, as each would start an agent of its own otherwise.
ASK_ALL = """
import asyncio, json, sys
from ua_tui.api import open_session
async def main():
    async with open_session() as session:
        for fault in sys.argv[1:]:
            async for event in session.ask(f"fault {fault}"):
                pass
            print(json.dumps([fault, event.status, event.error]))
asyncio.run(main())
"""
# Longer than a busy machine takes for an answer.
QUICK = {"CLAUDE_CODE_MAX_RETRIES": "0", "API_TIMEOUT_MS": "15000"}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_a_failed_query_has_the_reason_and_the_advice_of_its_fault(tmp_path: Path) -> None:
    with faulty_service() as url:
        done = subprocess.run(
            [sys.executable, "-c", ASK_ALL, *TABLE, "none"],
            cwd=tmp_path,
            env=model_environment(tmp_path, url, **QUICK),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=True,
        )
    *failed, last = map(json.loads, done.stdout.splitlines())
    # The session outlives them all.
    assert last == ["none", "success", None]
    assert [fault for fault, _, _ in failed] == list(TABLE)
    for fault, status, error in failed:
        reason, advice = TABLE[fault]
        assert (status, reason in error, advice in error) == ("error", True, True), (fault, error)
        assert "API Error" not in error, fault
        assert "Traceback" not in error, fault


def test_retries_repeat_what_the_service_said_and_an_absent_program_of_this_machine_is_soon_given_up(
    tmp_path: Path,
) -> None:
    query = ("run", "fault 429 in the folder")
    with faulty_service() as url:
        env = model_environment(tmp_path, url, CLAUDE_CODE_MAX_RETRIES="1")
        busy = run(tmp_path / "busy", *query, env=env)
    gone = run(tmp_path / "gone", *query, env=model_environment(tmp_path, NOWHERE))
    (retry,) = busy.of(ApiRetry)
    assert (retry.error, retry.detail) == ("rate_limit", "30 requests a minute")
    assert "accepts no more requests for now: 30 requests a minute; trying again in " in busy.stderr
    retries = gone.of(ApiRetry)
    assert [(each.attempt, each.max_attempts) for each in retries] == [(1, 3), (2, 3), (3, 3)]
    assert f"Nothing is listening at {NOWHERE} (connection refused); trying again in " in gone.stderr
    assert (gone.code, gone.stdout) == (1, "")
    assert f"the query failed: nothing is listening at {NOWHERE}" in gone.stderr
    # These are the pauses of the agent in between.
    assert sum(each.delay_ms for each in retries) < 10_000


@pytest.mark.slow
async def test_a_service_that_cannot_be_reached_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    own = certificate(tmp_path / "own.pem")
    old = certificate(tmp_path / "old.pem", ends=-timedelta(days=1))
    with (
        socket.socket() as taken,
        faulty_service(server_context(own)) as unknown,
        faulty_service(server_context(old)) as expired,
    ):
        # Nothing listens there, and no other program gets it meanwhile.
        taken.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}"
        for url, more, reason, advice in (
            (unknown, {}, "Self-signed certificate", "NODE_EXTRA_CA_CERTS"),
            (expired, {"NODE_EXTRA_CA_CERTS": str(old)}, "certificate has expired", "clock"),
            (closed, {}, f"nothing is listening at {closed}", "port"),
            ("http://models.invalid", {}, "models.invalid cannot be resolved", "spelling"),
        ):
            with pytest.MonkeyPatch.context() as patch:
                for name, value in more.items():
                    patch.setenv(name, value)
                async with live(model_settings(tmp_path, url)) as here:
                    finished = await here.ask("hello")
            assert finished.status == "error", url
            assert reason in str(finished.error), (url, finished.error)
            assert advice in str(finished.error), (url, finished.error)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ua_tui.core.agent.turn.REPORT_AFTER", 0.6)
    # Longer than a busy machine lets an agent that reacts wait.
    monkeypatch.setattr("ua_tui.core.agent.turn.STEP_SECONDS", PATIENCE)
    monkeypatch.setattr("ua_tui.core.agent.turn._STOP_WITHIN", PATIENCE)
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ):
        monkeypatch.delenv(name)
    for name, value in model_environment(tmp_path, "").items():
        monkeypatch.setenv(name, value)


async def stopped_when_silent(session: Session, query: str, *, suspend: bool = False) -> list[Event]:
    """Ask, stop the query once a silence is reported, and give its events; `suspend` stops the process first."""
    events: list[Event] = []
    stopping: asyncio.Task[None] | None = None
    if suspend:
        os.kill(agent_of(session), signal.SIGSTOP)
    async with asyncio.timeout(3 * PATIENCE):
        async for event in session.ask(query):
            events.append(event)
            if isinstance(event, AgentSilent) and stopping is None:
                stopping = asyncio.create_task(session.interrupt())
    assert stopping is not None
    await stopping
    return events


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
async def test_a_silent_service_and_a_stopped_process_are_named_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with faulty_service() as url:
        async with open_session(base_url=url) as session:
            for fault in ("silent", "stopped-stream", "pings"):
                events = await stopped_when_silent(session, f"fault {fault}")
                silent = next(event for event in events if isinstance(event, AgentSilent))
                assert silent.waits_for == "model", fault
                assert describe(silent).sentence.startswith("No answer from the model's service for "), fault
                assert isinstance(end := events[-1], QueryFinished)
                assert (end.status, end.error) == ("interrupted", None), fault

            monkeypatch.setattr("ua_tui.core.agent.turn.STEP_SECONDS", 1.0)
            monkeypatch.setattr("ua_tui.core.agent.turn._STOP_WITHIN", 2.0)
            events = await stopped_when_silent(session, "hello", suspend=True)
            assert next(event.waits_for for event in events if isinstance(event, AgentSilent)) == "process"
            assert isinstance(end := events[-1], QueryFinished)
            assert end.status == "interrupted"
            assert "did not respond when it was asked to stop, and was ended" in describe(end).sentence
            assert not [event for event in events if isinstance(event, ErrorRaised)]

            # The next query starts it again.
            events = [event async for event in session.ask("hello")]
            assert isinstance(end := events[-1], QueryFinished)
            assert (end.status, end.error) == ("success", None)
