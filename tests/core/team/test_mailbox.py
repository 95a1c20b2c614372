from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import TeamError
from core.events.codec import decode_event
from core.events.types import ElicitationAsked, PermissionAsked
from core.postgres.address import Address
from core.postgres.schema import grant
from core.team import mailbox as mailbox_module
from core.team.actions import PostgresActions
from core.team.letters import LARGEST, encode_answer, make_question, read_answer, read_command
from core.team.local_mailbox import SqliteMailbox
from core.team.mailbox import PostgresMailbox
from core.team.records import Answer, Answered, Command, Mailbox, Question, SessionId
from core.text import clean
from tests.core.team.stores import SESSION, add_local_session, add_session, take_over, take_over_locally
from tests.postgres_server import Cluster, Database
from tests.tcp_proxy import TcpProxy

ASKED = PermissionAsked(request_id="r1", tool_name="mcp__mail__send", input={"to": "Ann"})
QUESTION = make_question(SESSION, ASKED)


class Store:
    """A mailbox for the session's program and one for each person, and what happens behind their backs."""

    def __init__(
        self,
        mailbox: Callable[[], Mailbox],
        taken_over: Callable[[SessionId], SessionId],
        execute: Callable[..., object],
        within: float,
    ) -> None:
        self.mailbox = mailbox
        self.taken_over = taken_over
        self.execute = execute
        self.within = within


@pytest.fixture(params=["postgres", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "postgres":
        database: Database = request.getfixturevalue("team_database")
        add_session(database)
        address = Address.parse(database.url)
        return Store(
            lambda: PostgresMailbox(address), lambda each: take_over(database, each), database.execute, 0.2
        )
    path = tmp_path / "jobs.db"
    add_local_session(path)

    def execute(statement: str, *parameters: Any) -> list[Any]:
        with closing(sqlite3.connect(path)) as db, db:
            return db.execute(statement.replace("%s", "?"), parameters).fetchall()

    return Store(lambda: SqliteMailbox(path), lambda each: take_over_locally(path, each), execute, 0.4)


async def next_of(items: AsyncIterator[Answer | Command]) -> Answer | Command:
    return await asyncio.wait_for(anext(items), 10)


async def test_two_people_answer_and_one_learns_who_was_first(store: Store) -> None:
    worker, ann, bob = store.mailbox(), store.mailbox(), store.mailbox()
    async with worker.received(SESSION) as items:
        waiting = asyncio.create_task(next_of(items))
        await worker.ask(SESSION, QUESTION)
        (asked,) = await ann.questions()
        assert (asked.session, asked.request) == ("s1", "r1")
        assert decode_event(asked.event.encode()) == ASKED
        assert abs(asked.asked - time.time()) < 60
        assert await bob.questions("s1") == [asked]
        assert await bob.questions("other") == []
        both = await asyncio.gather(
            ann.answer("s1", Answer(request="r1", allow=True, reason="Yes.")),
            bob.answer("s1", Answer(request="r1", allow=False, reason="No.")),
        )
        begun = time.monotonic()
        answer = await waiting
        # A busy machine gets some more.
        assert time.monotonic() - begun < store.within + 1
        # It may have had a secret.
        assert store.execute("SELECT answer FROM question") == [("",)]
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
        nobody = await ann.answer("s1", Answer(request="r2"))
        assert nobody == Answered(accepted=False, by="", at=None)
        # An answer that did not fit is asked for again, and comes again.
        await worker.ask(SESSION, QUESTION)
        assert (await ann.answer("s1", Answer(request="r1", action="decline"))).accepted
        again = await next_of(items)
        assert isinstance(again, Answer)
        assert again.action == "decline"


async def test_what_was_sent_before_is_received_once_and_in_order(store: Store) -> None:
    worker, person = store.mailbox(), store.mailbox()
    await worker.ask(SESSION, QUESTION)
    await person.answer("s1", Answer(request="r1", allow=True, values={"a": 1}))
    await person.send("s1", Command(kind="submit", body=" One\0 more? "))
    await person.send("s1", Command(kind="interrupt", body="ignored"))
    await person.send("s1", Command(kind="submit", body="Two"))
    async with worker.received(SESSION) as items:
        found = [await next_of(items) for _ in range(4)]
        assert found[0] == Answer(request="r1", allow=True, values={"a": 1})
        assert found[1:] == [
            Command(kind="submit", body=clean("One\0 more?")),
            Command(kind="interrupt"),
            Command(kind="submit", body="Two"),
        ]
        await person.send("s1", Command(kind="interrupt"))
        assert await next_of(items) == Command(kind="interrupt")


async def test_a_withdrawn_question_and_one_of_a_lost_worker_wait_no_longer(store: Store) -> None:
    worker, person = store.mailbox(), store.mailbox()
    await worker.ask(SESSION, QUESTION)
    await worker.withdraw(SESSION, "r1")
    assert await person.questions() == []
    assert await person.answer("s1", Answer(request="r1")) == Answered(accepted=False)
    await worker.ask(SESSION, QUESTION)
    second = store.taken_over(SESSION)
    with pytest.raises(TeamError, match="continues this session"):
        await worker.ask(SESSION, Question(session="s1", request="r2", event="{}"))
    other = store.mailbox()
    async with other.received(second) as items:
        await person.send("s1", Command(kind="interrupt"))
        assert await next_of(items) == Command(kind="interrupt")
        assert await person.questions() == []
        await other.ask(second, QUESTION)
        assert (await person.answer("s1", Answer(request="r1"))).accepted
        assert await next_of(items) == Answer(request="r1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 60_000,
        '{"request": "r1", "allow": "yes"}',
        '{"request": "other", "allow": true}',
        '{"request": "r1", "action": "explode"}',
        json.dumps({"request": "r1", "patterns": ["x" * 2_000]}),
        json.dumps({"request": "r1", "reason": "x" * (LARGEST + 1)}),
        json.dumps({"request": "r1", "input": [1]}),
    ],
)
def test_a_hostile_answer_is_none(text: str) -> None:
    assert read_answer("r1", text) is None


async def test_a_question_waits_again_behind_an_answer_that_cannot_be_read(store: Store) -> None:
    worker, person = store.mailbox(), store.mailbox()
    await worker.ask(SESSION, QUESTION)
    store.execute("UPDATE question SET answer = %s, answered_by = 'owner'", '{"request": 5}')
    async with worker.received(SESSION) as items:
        waiting = asyncio.create_task(next_of(items))
        async with asyncio.timeout(10):
            while not await person.questions():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert (await person.answer("s1", Answer(request="r1", allow=True))).accepted
        assert await waiting == Answer(request="r1", allow=True)


async def test_messages_have_limits(store: Store) -> None:
    person = store.mailbox()
    with pytest.raises(TeamError, match="larger than 256 KB"):
        await person.answer("s1", Answer(request="r1", reason="x" * LARGEST))
    with pytest.raises(TeamError, match="larger than 256 KB"):
        await person.send("s1", Command(kind="submit", body="x" * (LARGEST + 1)))
    with pytest.raises(TeamError, match="empty"):
        await person.send("s1", Command(kind="submit", body=" \n "))


def test_a_large_question_is_cut_and_stays_one() -> None:
    large = PermissionAsked(
        request_id="r1", tool_name="x", input={"text": "ä" * 400_000, "all": [["y" * 999] * 300]}
    )
    question = make_question(SESSION, large)
    assert len(question.event.encode()) <= LARGEST
    event = decode_event(question.event.encode())
    assert isinstance(event, PermissionAsked)
    assert event.request_id == "r1"
    form = ElicitationAsked(request_id="r2", server="desk", message="x" * (LARGEST + 1))
    with pytest.raises(TeamError, match="too large"):
        make_question(SESSION, form)


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


@given(ANSWERS)
def test_an_answer_comes_as_it_was_given(answer: Answer) -> None:
    text = encode_answer(answer)
    assert "\0" not in text
    read = read_answer("r1", text)
    assert read is not None
    assert (read.allow, read.patterns, read.input, read.action) == (
        answer.allow, answer.patterns, answer.input, answer.action,
    )  # fmt: skip


@given(st.text(max_size=100))
def test_any_text_is_an_answer_or_none(text: str) -> None:
    read_answer("r1", text)
    read_command("submit", text)
    assert read_command(text, "x") is None or text in ("interrupt", "submit")


async def test_messages_come_after_the_server_was_restarted_and_to_no_worker_that_was_lost(
    team_database: Database,
) -> None:
    add_session(team_database)
    worker, person = (PostgresMailbox(Address.parse(team_database.url)) for _ in range(2))
    async with worker.received(SESSION) as items:
        await person.send("s1", Command(kind="submit", body="One"))
        assert await next_of(items) == Command(kind="submit", body="One")
        # As when the server ends all connections.
        team_database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await person.send("s1", Command(kind="submit", body="Two"))
        assert await next_of(items) == Command(kind="submit", body="Two")
        await asyncio.to_thread(take_over, team_database)
        await person.send("s1", Command(kind="submit", body="Three"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(items), 0.15)
    assert team_database.execute("SELECT count(*) FROM command WHERE taken_at IS NULL") == [(1,)]


async def test_what_was_read_by_a_statement_whose_end_was_lost_comes_once(
    team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox_module, "POLL_SECONDS", 0.1)
    team_database.execute("ALTER ROLE owner PASSWORD 'owner'")
    monkeypatch.setenv("PGPASSWORD", "owner")
    add_session(team_database)
    person = PostgresMailbox(Address.parse(team_database.url))
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        worker = PostgresMailbox(Address.parse(proxy.url(team_database.tcp)))
        await worker.ask(SESSION, QUESTION)
        async with worker.received(SESSION) as items:
            for given in (Answer(request="r1", allow=True), Command(kind="submit", body="One")):
                with psycopg.connect(team_database.url, options="-c search_path=ua_tui") as lock:
                    if isinstance(given, Answer):
                        assert (await person.answer("s1", given)).accepted
                    else:
                        await person.send("s1", given)
                    # Whoever marks it as read waits, and never learns that it is marked.
                    lock.execute("SELECT FROM question FOR UPDATE")
                    lock.execute("SELECT FROM command FOR UPDATE")
                    await until_one_waits(team_database)
                    proxy.pause()
                await asyncio.sleep(0.1)
                proxy.cut()
                proxy.resume()
                assert await next_of(items) == given
            # Each once.
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(items), 0.5)


async def until_one_waits(database: Database) -> None:
    async with asyncio.timeout(10):
        while not database.execute("SELECT 1 FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_question_that_is_asked_again_keeps_an_answer_that_nobody_has_read(
    team_database: Database,
) -> None:
    add_session(team_database)
    mailbox = PostgresMailbox(Address.parse(team_database.url))
    await mailbox.ask(SESSION, QUESTION)
    assert (await mailbox.answer("s1", Answer(request="r1", allow=True))).accepted
    # As when it is not known whether it was asked.
    await mailbox.ask(SESSION, QUESTION)
    async with mailbox.received(SESSION) as items:
        assert await next_of(items) == Answer(request="r1", allow=True)
    await mailbox.ask(SESSION, QUESTION)
    assert [each.request for each in await mailbox.questions()] == ["r1"]


async def test_one_connection_receives_for_all_sessions(team_database: Database) -> None:
    sessions = [SessionId(id=f"s{number}", job="j1") for number in range(5)]
    for session in sessions:
        add_session(team_database, session)
    mailbox, person = (PostgresMailbox(Address.parse(team_database.url)) for _ in range(2))

    async def receive(session: SessionId) -> Answer | Command:
        async with mailbox.received(session) as items:
            return await next_of(items)

    receiving = [asyncio.create_task(receive(session)) for session in sessions]
    await asyncio.sleep(0.1)
    assert team_database.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query <> ''"
        " AND pid <> pg_backend_pid()"
    ) == [(1,)]
    for session in sessions:
        await person.send(session.id, Command(kind="submit", body=session.id))
    assert [each.body for each in await asyncio.gather(*receiving)] == [each.id for each in sessions]  # type: ignore[union-attr]
    assert mailbox._listening is None


async def test_a_person_of_the_team_answers_in_their_own_name(
    cluster: Cluster, team_database: Database
) -> None:
    add_session(team_database)
    name = cluster.make_role(f"ann_{team_database.name}")
    grant(Address.parse(team_database.url), name)
    worker = PostgresMailbox(Address.parse(team_database.url))
    ann = PostgresMailbox(Address.parse(cluster.url(team_database.name, name)))
    await worker.ask(SESSION, QUESTION)
    assert [each.request for each in await ann.questions()] == ["r1"]
    assert (await ann.answer("s1", Answer(request="r1", allow=True))).accepted
    late = await worker.answer("s1", Answer(request="r1"))
    assert (late.accepted, late.by) == (False, name)
    await ann.send("s1", Command(kind="interrupt"))
    with pytest.raises(TeamError, match="no such session"):
        await ann.send("s9", Command(kind="interrupt"))
    # A session that is not shared is nobody else's business.
    team_database.execute("UPDATE session SET shared = false")
    await worker.ask(SESSION, QUESTION)
    assert await ann.questions() == []
    assert not (await ann.answer("s1", Answer(request="r1"))).accepted


async def test_a_worker_that_is_a_member_of_the_owners_role_has_the_same_rights(
    cluster: Cluster, team_database: Database
) -> None:
    add_session(team_database, owner="somebody_else")
    name = cluster.make_role(f"worker_{team_database.name}")
    owners = f"owners_{team_database.name}"
    team_database.execute(f"CREATE ROLE {owners}")
    team_database.execute(f"GRANT {owners} TO {name}")
    team_database.execute(f"ALTER SCHEMA ua_tui OWNER TO {owners}")
    for table in ("batch", "job", "session", "action", "question", "command"):
        team_database.execute(f"ALTER TABLE ua_tui.{table} OWNER TO {owners}")
    address = Address.parse(cluster.url(team_database.name, name))
    worker, person = PostgresMailbox(address), PostgresMailbox(Address.parse(team_database.url))
    async with worker.received(SESSION) as items:
        await worker.ask(SESSION, QUESTION)
        await person.answer("s1", Answer(request="r1", allow=True))
        assert await next_of(items) == Answer(request="r1", allow=True)
        await person.send("s1", Command(kind="interrupt"))
        assert await next_of(items) == Command(kind="interrupt")
        await worker.ask(SESSION, QUESTION)
        await worker.withdraw(SESSION, "r1")
    ledger = PostgresActions(address, SESSION)
    assert await ledger.begin({"k": "Bash"}, "t1", lambda: False) == []
    await ledger.finish("t1", ok=True, result="ok")
    assert team_database.execute("SELECT state, result FROM action") == [("done", "ok")]
