"""Jobs of people who take part want files of the machine that runs them: they get those of their session alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.core.knowledge.postgres.stored import fill
from tests.core.knowledge.stored import document
from tests.core.team.stores import add_session
from tests.e2e.jobs_at_work import claim_of, run, tool_results
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.postgres_server import Cluster, Database
from tests.waiting import wait_until
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.mailbox import PostgresMailbox
from ua_tui.core.team.records import Command

TOOLKIT = "mcp__local_toolkit"
HELP, AGENT = "Help and read", "report-creation-expert"
SECRET = "the-password-of-the-owner"


@pytest.fixture
def home(home: Path) -> Path:
    (home / ".pgpass").write_text(f"*:*:*:owner:{SECRET}\n")
    (home / ".pgpass").chmod(0o600)
    (home / "data").mkdir()
    (home / "data" / "public.txt").write_text("a public fact\n")
    return home


async def test_a_job_does_not_read_the_files_of_the_worker(home: Path, team_database: Database) -> None:
    secret, public = str(home / ".pgpass"), str(home / "data" / "public.txt")
    query = f'Read @{secret} and @~/.pgpass and @"{secret}" and @../../.pgpass, then go on'
    bodies: list[str] = []
    helped: list[str] = []
    results: list[str] = []
    address = Address.parse(team_database.url)
    claim = claim_of(query, allow=["Read", "Read(/**)", "Grep(/**)", "Glob(/**)"])
    add_session(team_database, claim.session)
    mailbox = PostgresMailbox(address, claim.session)

    def reply(body: dict[str, Any], count: int) -> Sequence[Block]:
        bodies.append(json.dumps(body["messages"]))
        if not body.get("tools"):
            return [Text("Read")]
        if HELP in json.dumps(body["messages"][0]):
            helped.append(bodies[-1])
            return [Text("Read")]
        results[:] = tool_results(body)
        if count == 0:
            # What a colleague sends while it runs.
            asyncio.run(mailbox.send(Command(kind="submit", body=f"And @{secret} please")))
            return [
                Use("Read", {"file_path": secret}),
                Use("Read", {"file_path": public}),
                Use("Grep", {"pattern": "owner", "path": str(home), "output_mode": "content"}),
                Use("Glob", {"pattern": str(home / ".pg*")}),
                Use(
                    "Agent",
                    {"description": "Read", "prompt": f"{HELP} @{secret} now", "subagent_type": AGENT},
                ),
            ]
        # The session ends with its last query.
        wait_until(lambda: not team_database.execute("SELECT 1 FROM command WHERE taken_at IS NULL"))
        return [Text("Done.")]

    with scripted_model(reply) as url:
        settings = model_settings(home, url, allow=(f"Read({home}/data/**)",))
        outcome = await run(claim, settings, address=address)
    assert outcome.state == "done", outcome
    assert any("And @" in each for each in bodies)
    assert [SECRET in each for each in bodies] == [False] * len(bodies)
    # What the settings of the worker allow can be read.
    assert sum("a public fact" in each for each in results) == 1
    assert sum("only the settings of this machine can allow" in each for each in results) == 3
    # A sub-agent was asked, too.
    assert helped


async def test_a_job_finds_nothing_private_of_others(
    home: Path, team_database: Database, cluster: Cluster
) -> None:
    mary, john = (cluster.make_role(f"{name}{team_database.name}") for name in ("mary", "john"))
    address = Address.parse(team_database.url)
    for owner, title, shared in ((mary, "Private", False), (mary, "Shared", True), (john, "Mine", False)):
        found = document("quokka facts", title=title)
        await asyncio.to_thread(
            fill, address, f"desk:/x/{title}", found, origin=Origin(title, 1, owner, shared)
        )
    claim = claim_of("Search")
    claim = msgspec.structs.replace(claim, session=msgspec.structs.replace(claim.session, owner=john))
    add_session(team_database, claim.session)
    results: list[str] = []

    def reply(body: dict[str, Any], count: int) -> Sequence[Block]:
        if not body.get("tools"):
            return [Text("Search")]
        results[:] = tool_results(body)
        if count == 0:
            reads = [Use(f"{TOOLKIT}__knowledge_read", {"id": number}) for number in (1, 2, 3)]
            return [Use(f"{TOOLKIT}__knowledge_search", {"query": "quokka"}), *reads]
        return [Text("Done.")]

    with scripted_model(reply) as url:
        outcome = await run(claim, model_settings(home, url, knowledge=address), address=address)
    assert outcome.state == "done", outcome
    text = "".join(results)
    assert [title in text for title in ("Private", "Shared", "Mine")] == [False, True, True], text
