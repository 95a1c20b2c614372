"""A real session with the knowledge base of a team: what it finds and stores, and where the password is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.core.knowledge.postgres.stored import THERE, address_of, fill, found
from tests.core.knowledge.stored import document
from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.postgres_server import Cluster, Database
from tests.waiting import wait_until
from ua_tui.core.events.types import ErrorRaised, ToolCallFinished
from ua_tui.core.postgres.schema import grant

PASSWORD = "correct-horse-battery-0123456789"


@pytest.fixture
def member(cluster: Cluster, team_database: Database) -> Iterator[str]:
    """A role that needs its password over TCP."""
    name = cluster.make_role(f"member_{uuid4().hex[:8]}", PASSWORD)
    grant(address_of(team_database), name)
    yield name
    team_database.execute(f'DROP OWNED BY "{name}"')
    team_database.execute(f'DROP ROLE "{name}"')


def given(kind: str) -> list[tuple[str, bytes]]:
    """The command line of each process whose command line or environment (`kind`) has the password."""
    holders = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            if PASSWORD.encode() in (process / kind).read_bytes():
                holders.append((process.name, command))
    return holders


def test_a_session_asks_and_fills_the_database_and_only_a_private_file_has_the_password(
    tmp_path: Path, cluster: Cluster, team_database: Database, member: str
) -> None:
    address = address_of(team_database)
    fill(
        address, THERE, document("Stacks of sixteen dies reached a yield of 71 percent.", title="HBM4 yields")
    )
    seen: list[bytes] = []

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if results:
            # At its end a session waits for what it stores no longer than a person does.
            wait_until(lambda: team_database.execute("SELECT 1 FROM k_session WHERE name <> %s", THERE))
            return [Text("The wombats of the team reached 71 percent.")]
        assert given("cmdline") == []
        seen.extend(
            command
            for _, command in given("environ")
            if b"ua_tui.core.toolkit" in command or b"claude" in command
        )
        return [Use("mcp__local_toolkit__knowledge_search", {"query": "yield of dies"})]

    with scripted_model(reply) as url:
        own = cluster.tcp(team_database.name, member)
        env = model_environment(tmp_path, url, UA_KNOWLEDGE=own, UA_TEAM=own, PGPASSWORD=PASSWORD)
        done = run(tmp_path, "run", "Which yield?", env=env)
    assert done.code == 0, done.stderr
    (finished,) = done.of(ToolCallFinished)
    assert finished.status == "success"
    assert done.of(ErrorRaised) == []
    assert seen == []
    # What the session found is there for the team, as its own.
    assert found(address, "wombats")
    assert team_database.execute("SELECT owner::text FROM k_session WHERE name <> %s", THERE) == [(member,)]
    holders = [
        each for each in tmp_path.rglob("*") if each.is_file() and PASSWORD.encode() in each.read_bytes()
    ]
    assert holders == []
    assert PASSWORD not in done.stdout + done.stderr
