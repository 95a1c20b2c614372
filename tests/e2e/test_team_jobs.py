"""Jobs of a batch as sessions: real agents and a real server whose messages cannot be taken back."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.core.team.copied_session import stored_lines
from tests.core.team.stores import add_session, requests, take_over
from tests.e2e.jobs_at_work import (
    ALLOWED,
    SEND,
    NoteStore,
    add_outbox,
    claim_of,
    run,
    tool_results,
)
from tests.e2e.running import DEADLINE, environment, model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.journals import read_journal
from tests.paths import PROJECT
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.waiting import until, until_in_thread
from ua_tui.core.events.continuation import RESUMED
from ua_tui.core.events.types import PermissionAsked, QueryReceived, SessionFinished, SessionStarted
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.storage.workspace import CONVERSATION
from ua_tui.core.team import replica
from ua_tui.core.team.jobs.queue import SILENCE_SECONDS
from ua_tui.core.team.jobs.running import JobStop
from ua_tui.core.team.mailbox import PostgresMailbox
from ua_tui.core.team.records import Answer, Answered, Command, Outcome
from ua_tui.tui.team import job_session
from ua_tui.tui.team.job_session import CLOSE_SECONDS

QUERY = "Send the report to Ann"
SENT = "ann@example.com: report\n"


class Sender:
    """A model that sends one message, tries it again when it is resumed, and then answers.

    With `is_held` the answer to the first attempt never comes.
    """

    def __init__(self, *, answers: bool = True, is_held: bool = False) -> None:
        self.call = Use(SEND, {"to": "ann@example.com", "text": "report", "answers": answers})
        self.is_held = is_held
        self.repeated = False
        self.asked = threading.Event()
        self.last: dict[str, Any] = {}

    def __call__(self, body: dict[str, Any], results: int) -> Sequence[Block]:
        if not body.get("tools"):
            return [Text("Send")]
        resumed = RESUMED in json.dumps(body["messages"])
        if resumed or not self.repeated:
            # A request of the worker that was killed may come late.
            self.last = body
        if resumed and not self.repeated:
            self.repeated = True
            return [self.call]
        if not resumed and results == 0:
            return [self.call]
        if not resumed and self.is_held:
            self.asked.set()
            threading.Event().wait()
        return [Text("It was sent once.")]


@asynccontextmanager
async def worker(home: Path, url: str, team: str = "-") -> AsyncIterator[None]:
    """A worker in a process of its own, which is killed at the end of the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.e2e.jobs_at_work", url, QUERY, team,
        cwd=home,
        env=environment(home, PYTHONPATH=str(PROJECT)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        output, _ = await process.communicate()
        sys.stdout.write(output.decode())


def queries_of(folder: Path) -> list[str]:
    events = read_journal(folder / "journal.jsonl").events
    return [each.text for each in events if isinstance(each, QueryReceived)]


async def test_an_action_whose_end_nobody_knows_is_not_repeated(home: Path) -> None:
    outbox = add_outbox(home)
    model = Sender(answers=False)
    with scripted_model(model) as url:
        async with worker(home, url):
            await until(outbox.exists, DEADLINE)
        (folder,) = (home / "AGENT_RUN_WORKSPACES").glob("session_*")
        settings = model_settings(home, url, allow=(ALLOWED,))
        claim = claim_of(QUERY, attempt=2, folder=str(folder))
        outcome = await run(claim, settings)
        assert (outcome.state, outcome.answer) == ("done", "It was sent once."), outcome
        assert outcome.folder == str(folder)
        assert model.repeated
        assert outbox.read_text() == SENT
        assert "it is not known whether it succeeded" in tool_results(model.last)[-1]
        sent = json.dumps(model.last["messages"])
        assert "somebody has to check" in sent
        assert "make them again, except those named next" in sent
        assert QUERY in sent
        assert [each.startswith(RESUMED) for each in queries_of(folder)] == [False, True]
        assert outcome.cost_usd is not None
        # That it is over was not recorded: nothing runs, and nothing more costs.
        model.last = {}
        again = await run(claim_of(QUERY, attempt=3, folder=str(folder)), settings)
    assert (again.state, again.answer) == ("done", "It was sent once.")
    assert again.cost_usd == pytest.approx(outcome.cost_usd)
    assert model.last == {}


async def test_another_machine_takes_a_session_over_and_repeats_no_action(
    home: Path, team_database: Database
) -> None:
    outbox = add_outbox(home)
    add_session(team_database, claim_of(QUERY).session)
    model = Sender(is_held=True)
    elsewhere = home / "elsewhere"
    with scripted_model(model) as url:
        async with worker(home, url, team_database.url):
            await until(model.asked.is_set, DEADLINE)
            await until_in_thread(lambda: _has_copied(team_database))
        second = await asyncio.to_thread(take_over, team_database, claim_of(QUERY).session)
        settings = model_settings(elsewhere, url, allow=(ALLOWED,))
        store = NoteStore()
        address = Address.parse(team_database.url)
        outcome = await run(claim_of(QUERY, attempt=second.attempt), settings, store=store, address=address)
    assert (outcome.state, outcome.answer) == ("done", "It was sent once."), outcome
    folder = Path(outcome.folder)
    assert folder.parent == elsewhere / "AGENT_RUN_WORKSPACES"
    assert store.folders[-1] == str(folder)
    assert model.repeated
    assert outbox.read_text() == SENT
    assert "sent as number 1" in tool_results(model.last)[-1]
    assert QUERY in json.dumps(model.last["messages"])
    assert [each.startswith(RESUMED) for each in queries_of(folder)] == [False, True]
    assert team_database.execute("SELECT attempt, state FROM action") == [(1, "done")]
    # It is the same session of the team and of the agent, and its copy is complete.
    begun = [
        each for each in read_journal(folder / "journal.jsonl").events if isinstance(each, SessionStarted)
    ]
    assert begun[0].provider_session_id == begun[1].provider_session_id
    rows = "SELECT attempt, state FROM session"
    await until_in_thread(lambda: team_database.execute(rows) == [(2, "done")])
    written = (folder / "journal.jsonl").read_text().splitlines()
    await until_in_thread(lambda: stored_lines(team_database) == written)
    (transcript,) = (folder / CONVERSATION).glob("*.jsonl")
    path, said = f"{CONVERSATION}/{transcript.name}", transcript.read_text().splitlines()
    await until_in_thread(lambda: stored_lines(team_database, path=path) == said)


def _has_copied(database: Database) -> bool:
    """Whether the copy of the first attempt has the result of its call, also in the conversation."""
    (found,) = database.execute(
        "SELECT EXISTS (SELECT FROM piece WHERE position('tool_call_finished'::bytea IN data) > 0)"
        " AND EXISTS (SELECT FROM piece WHERE position('tool_result'::bytea IN data) > 0)"
    )
    return bool(found[0])


async def test_people_answer_and_interrupt_sessions_of_one_worker(
    home: Path, team_database: Database
) -> None:
    outbox = add_outbox(home)
    address = Address.parse(team_database.url)
    asks, held = claim_of(QUERY, id_="1", ask=True), claim_of("Wait", id_="2", ask=True)
    for claim in (asks, held):
        add_session(team_database, claim.session)
    ann, bob = (PostgresMailbox(address, asks.session) for _ in range(2))
    waiting = threading.Event()
    sender = Sender()

    def reply(body: dict[str, Any], results: int) -> Sequence[Block]:
        if "Wait" in json.dumps(body["messages"]):
            waiting.set()
            threading.Event().wait()
        return sender(body, results)

    with scripted_model(reply) as url:
        settings = model_settings(home, url)
        stores = NoteStore(), NoteStore()
        jobs = [
            asyncio.create_task(run(claim, settings, store=store, address=address))
            for claim, store in zip((asks, held), stores, strict=True)
        ]
        questions = await until_in_thread(lambda: asyncio.run(ann.questions()), DEADLINE)
        event = json.loads(questions[0])
        assert event["tool_name"] == SEND
        await until(lambda: stores[0].states == ["running", "needs_you"])
        assert not outbox.exists()
        both = await asyncio.gather(
            *(who.answer(Answer(request=event["request_id"], allow=True)) for who in (ann, bob))
        )
        assert sorted(each.accepted for each in both) == [False, True]
        assert Answered(accepted=True) in both
        await began(waiting.is_set, jobs[1])
        await PostgresMailbox(address, held.session).send(Command(kind="interrupt"))
        done, cancelled = [await ended(job, team_database) for job in jobs]
    assert (done.state, done.answer) == ("done", "It was sent once."), done
    assert outbox.read_text() == SENT
    assert stores[0].states == ["running", "needs_you", "running"]
    assert (cancelled.state, cancelled.error) == ("cancelled", "owner stopped it")
    assert await ann.questions() == []
    assert team_database.execute("SELECT answer FROM question") == [("",)]


async def test_a_question_that_nobody_answers_gives_the_place_back_and_its_answer_counts_later(
    home: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox = add_outbox(home)
    address = Address.parse(team_database.url)
    first = claim_of(QUERY, ask=True)
    ann = PostgresMailbox(address, first.session)
    add_session(team_database, first.session)
    model = Sender()
    with scripted_model(model) as url:
        settings = model_settings(home, url)
        running = asyncio.create_task(run(first, settings, address=address))
        await began(lambda: team_database.execute("SELECT 1 FROM question"), running)
        monkeypatch.setattr(job_session, "QUESTION_SECONDS", 0.0)
        parked = await ended(running, team_database)
        assert parked.state == "parked"
        assert "no one answered its question" in parked.error
        team_database.execute("UPDATE job SET state = 'needs_you', worker_id = NULL")
        (request,) = await requests(ann)
        assert (await ann.answer(Answer(request=request, allow=True))).accepted
        # It waits for a worker by that.
        assert team_database.execute("SELECT state FROM job") == [("waiting",)]
        monkeypatch.setattr(job_session, "QUESTION_SECONDS", 3600.0)
        second = await asyncio.to_thread(take_over, team_database, first.session)
        again = claim_of(QUERY, attempt=second.attempt, ask=True)
        outcome = await ended(run(again, settings, address=address), team_database)
    assert (outcome.state, outcome.answer) == ("done", "It was sent once."), outcome
    assert outbox.read_text() == SENT
    assert await ann.questions() == []
    answered = "SELECT answered_by::text, answer FROM question ORDER BY attempt"
    assert team_database.execute(answered) == [("owner", ""), ("owner", "")]


async def began(holds: Callable[[], object], job: asyncio.Task[Outcome]) -> None:
    """Wait until something holds while a job runs; how the job ended says why it never will."""
    await until_in_thread(lambda: holds() or job.done(), DEADLINE)
    assert not job.done(), job.result()


async def ended(job: Awaitable[Outcome], database: Database) -> Outcome:
    """How a job ends; what the database and the tasks have tells why it does not."""
    running = asyncio.ensure_future(job)
    await asyncio.wait([running], timeout=DEADLINE / 2)
    if running.done():
        return running.result()
    tables = ("session", "question", "command", "action")
    rows = {name: database.execute(f"SELECT * FROM {name}") for name in tables}
    waiting = StringIO()
    for task in asyncio.all_tasks():
        task.print_stack(file=waiting)
    running.cancel()
    pytest.fail(f"the job did not end: {rows}\n{waiting.getvalue()}")


async def test_a_lost_job_ends_at_once_and_the_next_worker_continues(home: Path) -> None:
    held = threading.Event()

    def reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
        if RESUMED in json.dumps(body["messages"]) or not body.get("tools"):
            return [Text("Here is the answer.")]
        if "Half" not in json.dumps([each for each in body["messages"] if each["role"] == "assistant"]):
            return [Text("Half of it."), Use("TodoWrite", {"todos": []})]
        held.set()
        threading.Event().wait()
        return []

    first = claim_of("Work")
    with scripted_model(reply) as url:
        settings = model_settings(home, url)
        stop, store = JobStop(), NoteStore()
        running = asyncio.create_task(run(first, settings, store=store, stop=stop))
        await began(held.is_set, running)
        stop.set()
        assert (await asyncio.wait_for(running, DEADLINE)).state == "waiting"
        claim = claim_of("Work", attempt=2, folder=store.folders[-1])
        outcome = await run(claim, settings)
        assert (outcome.state, outcome.answer) == ("done", "Here is the answer.")
        # The agent that cannot start, and settings that a job may not have.
        broken = model_settings(home, url, cli_path=home / "nothing-here")
        # Of a worker that was lost before it had a folder there is nothing to resume.
        failed = await run(claim_of("Work", id_="3", attempt=2, folder=str(home / "gone")), broken)
        assert failed.state == "failed"
        assert queries_of(Path(failed.folder)) == []
        assert "nothing-here" in failed.error
        refused = await run(claim_of("Work", id_="4", api_key="sk-other"), settings)
        assert refused.state == "failed"
        assert "may not set api_key" in refused.error
    events = read_journal(Path(outcome.folder) / "journal.jsonl").events
    assert len([each for each in events if isinstance(each, SessionStarted)]) == 2
    assert not any(isinstance(each, PermissionAsked) for each in events)


async def test_a_worker_that_is_cut_off_ends_its_session_before_others_may_have_it(
    home: Path, team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresMailbox, "poll_seconds", 0.1)
    monkeypatch.setenv("PGPASSWORD", "owner")
    held = threading.Event()
    # What the network swallows is not given up.
    monkeypatch.setattr(replica, "_ANSWER_S", 3600.0)

    def reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
        held.set()
        threading.Event().wait()
        return []

    claim = claim_of("Wait")
    add_session(team_database, claim.session, owner="owner")
    with TcpProxy("127.0.0.1", cluster.port) as proxy, scripted_model(reply) as url:
        address = Address.parse(proxy.url(team_database.tcp))
        stop, store = JobStop(), NoteStore()
        running = asyncio.create_task(
            run(
                claim,
                model_settings(home, url),
                address=address,
                store=store,
                stop=stop,
            )
        )
        await began(held.is_set, running)
        proxy.pause()
        # A statement waits for its answer.
        await until(lambda: proxy.swallowed)
        stop.set()
        assert (await asyncio.wait_for(running, DEADLINE)).state == "waiting"
        journal = Path(store.folders[-1]) / "journal.jsonl"
        await until(lambda: isinstance(read_journal(journal).events[-1], SessionFinished), DEADLINE)
    # Others may have the job when it was silent for ten seconds more.
    assert ALIVE_SECONDS - SILENCE_SECONDS >= 2 * CLOSE_SECONDS


async def test_what_happens_while_the_database_is_away_is_copied_when_it_is_back(
    home: Path, team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "owner")
    held, answers = threading.Event(), threading.Event()

    def reply(body: dict[str, Any], _results: int) -> Sequence[Block]:
        held.set()
        answers.wait()
        return [Text("It is heliotrope.")]

    claim = claim_of("Work", attempt=2)
    add_session(team_database, claim.session)
    with TcpProxy("127.0.0.1", cluster.port) as proxy, scripted_model(reply) as url:
        address = Address.parse(proxy.url(team_database.tcp))
        running = asyncio.create_task(run(claim, model_settings(home, url), address=address))
        await began(held.is_set, running)
        await until_in_thread(lambda: team_database.execute("SELECT 1 FROM piece"))
        proxy.cut(refuse=True)
        answers.set()
        outcome = await asyncio.wait_for(running, DEADLINE)
        assert (outcome.state, outcome.answer) == ("done", "It is heliotrope.")
        written = (Path(outcome.folder) / "journal.jsonl").read_text().splitlines()
        assert stored_lines(team_database) != written
        proxy.resume()
        await until_in_thread(lambda: stored_lines(team_database) == written)
        await until_in_thread(
            lambda: team_database.execute(
                "SELECT 1 FROM piece WHERE path <> 'journal.jsonl' AND position('heliotrope'::bytea IN data) > 0"
            )
        )
    assert team_database.execute("SELECT state, attempt, finished_at IS NULL FROM session") == [
        ("done", 2, False)
    ]


async def test_without_its_conversation_a_job_begins_again_and_repeats_no_action(home: Path) -> None:
    outbox = add_outbox(home)
    first = claim_of(QUERY)
    model = Sender(is_held=True)
    with scripted_model(model) as url:
        settings = model_settings(home, url, allow=(ALLOWED,))
        store = NoteStore(holds_costs=True)
        running = asyncio.create_task(run(first, settings, store=store))
        await began(model.asked.is_set, running)
        # When the cost is noted, the job is another worker's.
        store.is_mine = False
        store.decided.set()
        assert (await asyncio.wait_for(running, DEADLINE)).state == "waiting"
        folder = Path(store.folders[-1])
        _forget_conversations(home, folder)
        model.is_held = False
        outcome = await run(claim_of(QUERY, attempt=2, folder=str(folder)), settings)
        assert (outcome.state, outcome.answer) == ("done", "It was sent once."), outcome
        assert outbox.read_text() == SENT
        asked = queries_of(folder)
        assert asked[0] == QUERY
        assert asked[1].startswith(f"{QUERY}\n\nThese calls ran before")
        assert SEND in asked[1]
        assert "not run again" in tool_results(model.last)[0]


def _forget_conversations(home: Path, folder: Path) -> None:
    written = home.glob(".local/state/ua-tui/agent/projects/*/*.jsonl")
    for path in (*written, *(folder / CONVERSATION).glob("*.jsonl")):
        path.unlink()
