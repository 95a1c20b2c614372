from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from tests.core.team.stores import SESSION, add_session, take_over
from tests.postgres_server import Cluster, Database
from tests.waiting import PATIENCE, run_ready, until_in_thread
from ua_tui.core.agent.ledger import SUPERSEDED, LedgerRefusal
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.workspace import ACTIONS
from ua_tui.core.team.actions import FolderActions, SessionActions
from ua_tui.core.team.records import SessionId

SEND = {"key-of-send": "mcp__mail__send"}


class Store:
    """The ledgers of one store, and a takeover in it."""

    def __init__(
        self,
        open_: Callable[[SessionId], Awaitable[SessionActions]],
        taken_over: Callable[[SessionId], SessionId],
    ) -> None:
        self.open = open_
        self.taken_over = taken_over


def resumed(session: SessionId) -> SessionId:
    return msgspec.structs.replace(session, attempt=session.attempt + 1)


@pytest.fixture(params=["postgres", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    async def open_(session: SessionId) -> SessionActions:
        if request.param == "postgres":
            return SessionActions(Address.parse(database.url), session)
        ledger = FolderActions(session)
        await ledger.open(tmp_path)
        return ledger

    if request.param == "folder":
        return Store(open_, resumed)
    database: Database = request.getfixturevalue("team_database")
    add_session(database)
    return Store(open_, lambda each: take_over(database, each))


def never() -> bool:
    return False


async def test_an_action_of_an_earlier_attempt_never_begins_again(store: Store) -> None:
    first = await store.open(SESSION)
    assert not await first.begin({**SEND, "k2": "Bash"}, "t1", never)
    assert not await first.begin({"k3": "Bash"}, "t2", never)
    await first.finish("t1", ok=True, result="sent\0 to Ann")
    # Within one attempt equal actions may run.
    assert not await first.begin(SEND, "t3", never)
    await first.finish("t3", ok=False, result="refused")
    taken = store.taken_over(SESSION)
    second = await store.open(taken)
    (sent,) = await second.begin(SEND, "t4", never)
    assert (sent.tool, sent.state, sent.result) == ("mcp__mail__send", "failed", "refused")
    (lost,) = await second.earlier(["k3", "k9"])
    assert (lost.tool, lost.state) == ("Bash", "running")
    # Nothing of a call is recorded if one of its actions may not run.
    assert len(await second.begin({"k3": "Bash", "new": "Bash"}, "t5", never)) == 1
    assert [each.state for each in await second.earlier()] == ["done", "running", "failed"]
    assert not await second.begin({"new": "Bash"}, "t6", never)
    await second.finish("t6", ok=True, result="ok")
    third = await store.open(store.taken_over(taken))
    assert [each.result for each in await third.earlier(["new"])] == ["ok"]


async def test_a_worker_that_lost_its_session_begins_nothing(team_database: Database) -> None:
    add_session(team_database)
    address = Address.parse(team_database.url)
    first = SessionActions(address, SESSION)
    assert not await first.begin(SEND, "t1", never)
    second = SessionActions(address, take_over(team_database, SESSION))
    with pytest.raises(LedgerRefusal, match=SUPERSEDED):
        await first.begin({"other": "Bash"}, "t2", never)
    assert await second.earlier(["other"]) == []
    # How its own call ended it still knows.
    await first.finish("t1", ok=True, result="sent")
    assert [each.result for each in await second.earlier(list(SEND))] == ["sent"]


async def test_equal_actions_at_once_are_over_when_the_last_is(store: Store) -> None:
    first = await store.open(SESSION)
    await asyncio.gather(*(first.begin(SEND, f"t{number}", never) for number in range(3)))
    await first.finish("t0", ok=True, result="one")
    second = await store.open(store.taken_over(SESSION))
    assert [each.state for each in await second.earlier(list(SEND))] == ["running"]
    await first.finish("t1", ok=True, result="two")
    await first.finish("t2", ok=True, result="three")
    second = await store.open(store.taken_over(SESSION))
    assert [each.result for each in await second.earlier(list(SEND))] == ["three"]


async def test_whoever_leaves_waits_for_what_runs_and_begins_nothing_more(store: Store) -> None:
    ledger = await store.open(SESSION)
    await ledger.begin(SEND, "t1", never)
    leaving = asyncio.create_task(ledger.leave())
    await run_ready()
    is_stopping = False
    late = asyncio.create_task(ledger.begin({"late": "Bash"}, "t2", lambda: is_stopping))
    await run_ready()
    assert (leaving.done(), late.done()) == (False, False)
    await ledger.finish("t1", ok=True, result="sent")
    await asyncio.wait_for(leaving, PATIENCE)
    assert not late.done()
    is_stopping = True
    with pytest.raises(LedgerRefusal, match="the program is ending"):
        await asyncio.wait_for(late, PATIENCE)
    second = await store.open(store.taken_over(SESSION))
    assert [each.result for each in await second.earlier()] == ["sent"]


async def test_a_damaged_record_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / ACTIONS).write_text('[{"key": ')
    with pytest.raises(WorkspaceError, match=r"is damaged .*: nothing is resumed"):
        await FolderActions(SESSION).open(tmp_path)


async def test_what_the_folder_before_had_counts_in_a_new_one(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    first = FolderActions(SESSION)
    await first.open(before)
    assert not await first.begin(SEND, "t1", never)
    second = FolderActions(resumed(SESSION))
    await second.open(before)
    await second.open(after)
    assert [each.state for each in await second.begin(SEND, "t2", never)] == ["running"]
    assert not await second.begin({"new": "Bash"}, "t3", never)
    third = FolderActions(resumed(resumed(SESSION)))
    await third.open(after)
    assert [each.tool for each in await third.earlier()] == ["mcp__mail__send", "Bash"]


async def test_a_takeover_and_a_beginning_at_once_never_both_win(team_database: Database) -> None:
    add_session(team_database)
    address, session, begun = Address.parse(team_database.url), SESSION, 0
    for number in range(12):
        mine, key = SessionActions(address, session), f"k{number}"
        beginning = asyncio.create_task(mine.begin({key: "Bash"}, "t", never))
        session = await asyncio.to_thread(take_over, team_database, session)
        refused = isinstance((await asyncio.gather(beginning, return_exceptions=True))[0], LedgerRefusal)
        found = await SessionActions(address, session).earlier([key])
        assert bool(found) is not refused
        begun += not refused
    assert session.attempt == 13


async def test_an_action_waits_for_the_database_and_runs_only_with_its_row(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Address.parse("postgresql://owner@127.0.0.1:9/team")
    whys: list[str] = []
    monkeypatch.setattr("ua_tui.core.team.actions.WAIT_SECONDS", 0.3)
    ledger = SessionActions(away, SESSION, on_superseded=whys.append)
    with pytest.raises(LedgerRefusal, match=r"not run.*no server is listening"):
        await ledger.begin(SEND, "t1", never)
    assert [why.partition(" (")[0] for why in whys] == [
        "its actions could not be recorded: the team's database team on 127.0.0.1:9 cannot be used, because no server "
        "is listening"
    ]
    # A database without tables does not get them by waiting.
    monkeypatch.setattr("ua_tui.core.team.actions.WAIT_SECONDS", 3600.0)
    missing = SessionActions(Address.parse(cluster.url("postgres")), SESSION)
    with pytest.raises(LedgerRefusal, match="the tables of ua-tui are missing"):
        await asyncio.wait_for(missing.begin(SEND, "t1", never), PATIENCE)
    stopped = SessionActions(away, SESSION)
    with pytest.raises(LedgerRefusal):
        await asyncio.wait_for(stopped.begin(SEND, "t1", lambda: True), PATIENCE)
    # The end of a call that ran is not in the way of the session either.
    await ledger.finish("t1", ok=True, result="sent")


async def test_an_action_runs_once_the_database_is_back(team_database: Database) -> None:
    add_session(team_database)
    ledger = SessionActions(Address.parse(team_database.url), SESSION)
    # As a server without space answers.
    team_database.execute(
        "CREATE SEQUENCE attempts;"
        "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM nextval('attempts'); RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$"
    )
    team_database.execute(
        "CREATE TRIGGER no_space BEFORE INSERT ON action FOR EACH ROW EXECUTE FUNCTION no_space()"
    )
    beginning = asyncio.create_task(ledger.begin(SEND, "t1", never))
    await until_in_thread(lambda: team_database.execute("SELECT last_value FROM attempts") >= [(2,)])
    assert not beginning.done()
    team_database.execute("DROP TRIGGER no_space ON action")
    assert await asyncio.wait_for(beginning, PATIENCE) == []
    # So does its end, in the background.
    team_database.execute(
        "CREATE TRIGGER no_space BEFORE UPDATE ON action FOR EACH ROW EXECUTE FUNCTION no_space()"
    )
    await ledger.finish("t1", ok=True, result="sent")
    team_database.execute("DROP TRIGGER no_space ON action")
    await until_in_thread(
        lambda: team_database.execute("SELECT state, result FROM action") == [("done", "sent")]
    )
