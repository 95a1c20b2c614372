from __future__ import annotations

import asyncio
import getpass
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.core.cases import cases_of
from tests.core.team.stores import (
    SESSION,
    WAITS,
    Received,
    add_session,
    question_of,
    receiving,
    requests,
    take_over,
)
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy
from tests.waiting import PATIENCE, run_ready, until, until_in_thread
from ua_tui.core.errors import TeamError
from ua_tui.core.events.codec import decode_event
from ua_tui.core.events.types import ElicitationAsked, PermissionAsked
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import grant, sharing
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import LETTERS
from ua_tui.core.team import local_mailbox
from ua_tui.core.team.actions import SessionActions
from ua_tui.core.team.letters import LARGEST, encode_answer, encode_question, read_answer, read_command
from ua_tui.core.team.local_mailbox import LocalMailbox
from ua_tui.core.team.mailbox import Inbox, Mailbox, PostgresMailbox
from ua_tui.core.team.records import Answer, Answered, Command, SessionId
from ua_tui.core.text import clean

CASES = cases_of(__file__)

ASKED = PermissionAsked(request_id="r1", tool_name="mcp__mail__send", input={"to": "Ann"})
QUESTION = question_of(ASKED)
YES, INTERRUPT = Answer(request="r1", allow=True), Command(kind="interrupt")
CLIENTS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


def submit(body: str) -> Command:
    return Command(kind="submit", body=body)


@dataclass
class Store:
    """A mailbox for the session's program and one for each person, and what happens behind their backs."""

    mailbox: Callable[..., Mailbox]
    taken_over: Callable[[SessionId], SessionId]
    kept: Callable[[], object]
    forge: Callable[[str], object]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mailbox that is closed marks what was taken, for which a busy machine takes longer."""
    monkeypatch.setattr("ua_tui.core.team.mailbox._LAST_S", PATIENCE)


@pytest.fixture(params=["postgres", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "postgres":
        # Messages are announced: none is found by looking regularly.
        monkeypatch.setattr(PostgresMailbox, "poll_seconds", 3600.0)
        database: Database = request.getfixturevalue("team_database")
        add_session(database)
        return Store(
            lambda session=SESSION: mailbox_of(database, session),
            lambda each: take_over(database, each),
            lambda: [answer for (answer,) in database.execute("SELECT answer FROM question")],
            lambda text: database.execute("UPDATE question SET answer = %s, answered_by = 'owner'", text),
        )

    def answers() -> list[str]:
        stored = json.loads((tmp_path / LETTERS / "letters.json").read_text())["all"]
        return [text for _, text, _, _, kind, _ in stored if not kind]

    return Store(
        lambda _session=SESSION: LocalMailbox(tmp_path),
        lambda each: msgspec.structs.replace(each, attempt=each.attempt + 1),
        answers,
        lambda text: forged(tmp_path, text),
    )


def forged(folder: Path, text: str) -> None:
    """Answer the question of a folder with any text."""
    mailbox = LocalMailbox(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_mailbox, "encode_answer", lambda _answer: text)
        assert asyncio.run(mailbox.answer(YES)).accepted


def mailbox_of(database: Database, session: SessionId = SESSION) -> PostgresMailbox:
    return PostgresMailbox(Address.parse(database.url), session)


async def next_of(items: AsyncIterator[Received]) -> Answer | Command:
    item, take = await asyncio.wait_for(anext(items), PATIENCE)
    take()
    if isinstance(item, Command):
        assert item.sent_by in ("owner", getpass.getuser())
        return replace(item, sent_by="")
    return item


async def assert_nothing_came(items: AsyncIterator[Received]) -> None:
    waiting = asyncio.ensure_future(anext(items))
    await run_ready()
    assert not waiting.done()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_commands_come_once_while_a_question_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, asking, writing = Root.write, threading.Event(), threading.Event()

    def written_late(root: Root, path: str, data: bytes, **how: Any) -> object:
        if inbox._taken:
            writing.set()
            assert asking.wait(PATIENCE)
        return write(root, path, data, **how)

    monkeypatch.setattr(Root, "write", written_late)
    worker, person = LocalMailbox(tmp_path), LocalMailbox(tmp_path)
    inbox = Inbox(worker)
    async with receiving(worker, inbox) as items:
        for body in ("1", "2"):
            await person.send(submit(body))
        assert [await next_of(items), await next_of(items)] == [submit("1"), submit("2")]
        # Both find what was taken, one of them while the other removes it.
        coming = asyncio.ensure_future(anext(items))
        await until_in_thread(writing.is_set)
        marked = asyncio.ensure_future(inbox.mark_taken())
        await run_ready()
        asking.set()
        await marked
        await person.send(submit("3"))
        item, take = await asyncio.wait_for(coming, PATIENCE)
        take()
        assert isinstance(item, Command)
        assert item.body == "3"


async def test_two_people_answer_and_one_learns_who_was_first(store: Store) -> None:
    worker, ann, bob = store.mailbox(), store.mailbox(), store.mailbox()
    inbox = Inbox(worker)
    async with receiving(worker, inbox) as items:
        await worker.ask(*QUESTION)
        (event,) = await ann.questions()
        assert decode_event(event.encode()) == ASKED
        assert await bob.questions() == [event]
        if isinstance(bob, PostgresMailbox):
            assert await store.mailbox(SessionId(id="other")).questions() == []
        both = await asyncio.gather(
            ann.answer(Answer(request="r1", allow=True, reason="Yes.")),
            bob.answer(Answer(request="r1", allow=False, reason="No.")),
        )
        answer = await next_of(items)
        accepted = both.index(Answered(accepted=True))
        assert isinstance(answer, Answer)
        assert answer.allow is (accepted == 0)
        late = both[1 - accepted]
        assert not late.accepted
        assert late.by
        assert late.at is not None
        assert abs(late.at - time.time()) < 60
        assert await ann.questions() == []
        # Whoever asks nothing gets no answer.
        assert await ann.answer(Answer(request="r2")) == Answered(accepted=False, by="", at=None)
        # An answer that did not fit is asked for again, and comes again.
        await inbox.mark_taken()
        await worker.ask(*QUESTION)
        assert (await ann.answer(Answer(request="r1", action="decline"))).accepted
        assert await next_of(items) == Answer(request="r1", action="decline")
    # It may have had a secret.
    assert store.kept() == [""]


async def test_what_was_sent_before_is_received_once_and_in_order(store: Store) -> None:
    worker, person = store.mailbox(), store.mailbox()
    await worker.ask(*QUESTION)
    await person.answer(Answer(request="r1", allow=True, values={"a": 1}))
    for command in (submit(" One\0 more? "), Command(kind="interrupt", body="ignored"), submit("Two")):
        await person.send(command)
    async with receiving(worker) as items:
        assert [await next_of(items) for _ in range(4)] == [
            Answer(request="r1", allow=True, values={"a": 1}), submit(clean("One\0 more?")), INTERRUPT, submit("Two"),
        ]  # fmt: skip
        await person.send(INTERRUPT)
        assert await next_of(items) == INTERRUPT


async def test_a_withdrawn_question_and_one_of_a_lost_worker_wait_no_longer(store: Store) -> None:
    worker, person = store.mailbox(), store.mailbox()
    await worker.ask(*QUESTION)
    await worker.withdraw("r1")
    assert await person.questions() == []
    assert await person.answer(YES) == Answered(accepted=False)
    await worker.ask(*QUESTION)
    other = store.mailbox(store.taken_over(SESSION))
    if isinstance(worker, PostgresMailbox):
        # In a folder its lock keeps the other program away.
        with pytest.raises(TeamError, match="continues this session"):
            await worker.ask("r2", "{}")
    async with receiving(other) as items:
        await person.send(INTERRUPT)
        assert await next_of(items) == INTERRUPT
        assert await person.questions() == []
        await other.ask(*QUESTION)
        assert (await person.answer(YES)).accepted
        assert await next_of(items) == YES


@pytest.mark.parametrize(
    "text",
    [
        *CASES["a_hostile_answer_allows_nothing"],
        "[" * 60_000,
        json.dumps({"request": "r1", "patterns": ["x" * 2_000]}),
        json.dumps({"request": "r1", "reason": "x" * (LARGEST + 1)}),
    ],
)
def test_a_hostile_answer_allows_nothing(text: str) -> None:
    assert read_answer("r1", text) == Answer(request="r1", reason="The answer could not be read.")


async def test_an_answer_that_cannot_be_read_allows_nothing(store: Store) -> None:
    worker = store.mailbox()
    await worker.ask(*QUESTION)
    await asyncio.to_thread(store.forge, '{"request": 5}')
    async with receiving(worker) as items:
        found = await next_of(items)
        assert isinstance(found, Answer)
        assert (found.request, found.allow, found.action) == ("r1", False, None)


async def test_letters_of_somebody_else_or_of_another_folder_do_not_count(tmp_path: Path) -> None:
    worker, person = LocalMailbox(tmp_path), LocalMailbox(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    await LocalMailbox(other).ask(*QUESTION)
    assert (await LocalMailbox(other).answer(YES)).accepted
    await LocalMailbox(other).send(submit("Forged"))
    async with receiving(worker) as items:
        await worker.ask(*QUESTION)
        here, there = (folder / LETTERS / "letters.json" for folder in (tmp_path, other))
        stored, other_one = (json.loads(each.read_text()) for each in (here, there))
        forged = stored | {"all": stored["all"] + [each for each in other_one["all"] if not each[4]]}
        for text in (there.read_text(), json.dumps(forged), '{"all": 7', ""):
            here.write_text(text)
            assert await person.questions() == []
        await person.send(submit("Own"))
        assert await next_of(items) == submit("Own")


async def test_messages_have_limits(store: Store) -> None:
    person = store.mailbox()
    with pytest.raises(TeamError, match="larger than 256 KB"):
        await person.answer(Answer(request="r1", reason="x" * LARGEST))
    for body, why in (("x" * (LARGEST + 1), "larger than 256 KB"), (" \n ", "empty")):
        with pytest.raises(TeamError, match=why):
            await person.send(submit(body))


def test_a_question_that_is_too_large_is_refused() -> None:
    text = "x" * (LARGEST + 1)
    for event in (
        PermissionAsked(request_id="r1", tool_name="x", input={"text": text}),
        ElicitationAsked(request_id="r2", server="desk", message=text),
    ):
        with pytest.raises(TeamError, match="too large"):
            encode_question(event)


ANSWERS = st.builds(
    Answer,
    request=st.just("r1"),
    allow=st.booleans(),
    reason=st.text(max_size=50),
    patterns=st.lists(st.text(max_size=20), max_size=3).map(tuple),
    input=st.none()
    | st.dictionaries(st.text(max_size=5), st.integers(0, 9) | st.text(max_size=5), max_size=3),
    action=st.sampled_from([None, "accept", "decline", "cancel"]),
)


@given(ANSWERS, st.text(max_size=100))
def test_an_answer_comes_as_it_was_given_and_no_text_is_an_error(answer: Answer, other: str) -> None:
    text = encode_answer(answer)
    assert "\0" not in text
    read = read_answer("r1", text)
    assert (read.allow, read.patterns, read.input, read.action) == (
        answer.allow, answer.patterns, answer.input, answer.action,
    )  # fmt: skip
    read_answer("r1", other)
    read_command("submit", other, "mary")
    assert read_command(other, "x", "mary") is None or other in ("interrupt", "submit")


async def test_messages_come_after_a_restart_and_to_no_worker_that_was_lost(team_database: Database) -> None:
    other = SessionId(id="s2", job="j1")
    add_session(team_database)
    add_session(team_database, other)
    worker, person = mailbox_of(team_database), mailbox_of(team_database)
    async with receiving(worker) as items, receiving(mailbox_of(team_database, other)) as others:
        await person.send(submit("One"))
        assert await next_of(items) == submit("One")
        # As when the server ends all connections.
        team_database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await person.send(submit("Two"))
        assert await next_of(items) == submit("Two")
        await asyncio.to_thread(take_over, team_database)
        await person.send(submit("Three"))
        # What is for the other session is read after it.
        await mailbox_of(team_database, other).send(submit("Four"))
        assert await next_of(others) == submit("Four")
        await assert_nothing_came(items)
        # It is noted as read after it was received.
        waiting = "SELECT body FROM command WHERE taken_at IS NULL"
        await until_in_thread(lambda: team_database.execute(waiting) == [("Three",)])


async def test_what_was_read_by_a_statement_whose_end_was_lost_comes_once(
    team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresMailbox, "poll_seconds", 0.1)
    # Else the worker gives up by itself where this test takes long.
    monkeypatch.setattr("ua_tui.core.postgres.connection._LOCKED_MS", 0)
    monkeypatch.setattr("ua_tui.core.postgres.connection.ANSWER_S", 3600.0)
    monkeypatch.setenv("PGPASSWORD", "owner")
    add_session(team_database)
    person = mailbox_of(team_database)
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        worker = PostgresMailbox(Address.parse(proxy.url(team_database.tcp)), SESSION)
        await worker.ask(*QUESTION)
        async with receiving(worker) as items:
            for given in (YES, submit("One")):
                # The worker marks nothing as read before the rows are locked.
                proxy.pause()
                with psycopg.connect(team_database.url, options="-c search_path=ua_tui") as lock:
                    if isinstance(given, Answer):
                        assert (await person.answer(given)).accepted
                    else:
                        await person.send(given)
                    # Whoever marks it as read waits, and never learns that it is marked.
                    lock.execute("SELECT FROM question FOR UPDATE")
                    lock.execute("SELECT FROM command FOR UPDATE")
                    proxy.resume()
                    assert await next_of(items) == given
                    await until_in_thread(lambda: team_database.execute(WAITS))
                    proxy.pause()
                    swallowed = proxy.swallowed
                await until(lambda: proxy.swallowed > swallowed)  # noqa: B023
                proxy.cut()
                proxy.resume()
            # Each once.
            await person.send(submit("Two"))
            assert await next_of(items) == submit("Two")
            await assert_nothing_came(items)


async def test_a_question_that_is_asked_again_keeps_its_unread_answer(team_database: Database) -> None:
    add_session(team_database)
    mailbox = mailbox_of(team_database)
    await mailbox.ask(*QUESTION)
    assert (await mailbox.answer(YES)).accepted
    # As when it is not known whether it was asked.
    await mailbox.ask(*QUESTION)
    async with receiving(mailbox) as items:
        assert await next_of(items) == YES
    await mailbox.ask(*QUESTION)
    assert await requests(mailbox) == ["r1"]


async def test_an_answer_that_the_session_does_not_take_counts_for_the_next_attempt(
    team_database: Database,
) -> None:
    add_session(team_database)
    worker, person = mailbox_of(team_database), mailbox_of(team_database)
    read = "this sends data out; since {} the agent has read text from a website"
    first = replace(ASKED, reason=read.format("23:59 on 28 November"))
    async with receiving(worker) as items:
        await worker.ask(*question_of(first))
        assert (await person.answer(YES)).accepted
        # It ends before it has the answer, which was read.
        assert (await asyncio.wait_for(anext(items), PATIENCE))[0] == YES
    other = mailbox_of(team_database, await asyncio.to_thread(take_over, team_database))
    # The tools of its server are known now, so that more may be answered, and were read later.
    known = replace(
        first,
        request_id="r2",
        reason=read.format("00:01"),
        proposed=["send"],
        scopes=["once"],
        acts_here=True,
        once_only=True,
    )
    async with receiving(other) as items:
        await other.ask(*question_of(replace(known, request_id="r3", input={"to": "Bob"})))
        await other.ask(*question_of(known))
        assert await next_of(items) == replace(YES, request="r2")
        assert await requests(person) == ["r3"]


async def test_one_connection_receives_for_all_sessions(team_database: Database) -> None:
    sessions = [SessionId(id=f"s{number}", job="j1") for number in range(5)]
    for session in sessions:
        add_session(team_database, session)
    async with AsyncExitStack() as stack:
        shared = await stack.enter_async_context(sharing(Address.parse(team_database.url), 1))
        mailboxes = [PostgresMailbox(shared, session) for session in sessions]
        received = [await stack.enter_async_context(receiving(each)) for each in mailboxes]
        for session, items in zip(sessions, received, strict=True):
            await mailbox_of(team_database, session).send(submit(session.id))
            assert await next_of(items) == submit(session.id)
        # One is that of the pool, and one listens.
        await until_in_thread(lambda: team_database.execute(CLIENTS) == [(2,)])
    await until_in_thread(lambda: team_database.execute(CLIENTS) == [(0,)])


async def test_members_of_the_team_answer_in_their_name(cluster: Cluster, team_database: Database) -> None:
    add_session(team_database)
    name = cluster.make_role(f"ann_{team_database.name}")
    grant(Address.parse(team_database.url), name)
    worker = mailbox_of(team_database)
    ann = PostgresMailbox(Address.parse(cluster.url(team_database.name, name)), SESSION)
    await worker.ask(*QUESTION)
    assert await requests(ann) == ["r1"]
    assert (await ann.answer(YES)).accepted
    late = await worker.answer(YES)
    assert (late.accepted, late.by) == (False, name)
    await ann.send(INTERRUPT)
    with pytest.raises(TeamError, match="no such session"):
        await PostgresMailbox(ann._address, SessionId(id="s9")).send(INTERRUPT)
    # A session that is not shared is nobody else's business.
    team_database.execute("UPDATE session SET shared = false")
    await worker.ask(*QUESTION)
    assert await ann.questions() == []
    assert not (await ann.answer(YES)).accepted


async def test_a_member_of_the_owners_role_works_as_it(cluster: Cluster, team_database: Database) -> None:
    add_session(team_database, owner="somebody_else")
    name = cluster.make_role(f"worker_{team_database.name}")
    owners = cluster.make_role(f"owners_{team_database.name}")
    team_database.execute(f"GRANT {owners} TO {name}; ALTER SCHEMA ua_tui OWNER TO {owners}")
    for table in ("batch", "job", "session", "action", "question", "command"):
        team_database.execute(f"ALTER TABLE ua_tui.{table} OWNER TO {owners}")
    address = Address.parse(cluster.url(team_database.name, name))
    worker, person = PostgresMailbox(address, SESSION), mailbox_of(team_database)
    async with receiving(worker) as items:
        await worker.ask(*QUESTION)
        await person.answer(YES)
        assert await next_of(items) == YES
        await person.send(INTERRUPT)
        assert await next_of(items) == INTERRUPT
        await worker.ask(*QUESTION)
        await worker.withdraw("r1")
    ledger = SessionActions(address, SESSION)
    assert await ledger.begin({"k": "Bash"}, "t1", lambda: False) == []
    await ledger.finish("t1", ok=True, result="ok")
    assert team_database.execute("SELECT state, result FROM action") == [("done", "ok")]
