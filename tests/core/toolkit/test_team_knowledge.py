"""The tools over the knowledge base of a team, whose password only a private file has."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from core.agent.environment import PrivateFolder
from core.connections.toolkit import POSTGRES_FILE, SERVER, toolkit_connection
from core.knowledge.folders import folder_key
from core.knowledge.records import Document
from core.postgres.address import Address, connection_variables
from core.postgres.schema import grant
from core.toolkit.knowledge.earlier_articles import earlier_article
from core.toolkit.knowledge.knowledge_base import KnowledgeBase
from tests.core.knowledge.postgres.stored import HERE, THERE, address_of, fill
from tests.core.toolkit.test_server import _text, toolkit
from tests.postgres_server import Cluster, Database

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
PAGE = "https://chips.example/story/3"
PASSWORD = "correct-horse-battery"
ARTICLE = Document(
    kind="article", path="extracted_articles/page.md", title="HBM4 yields", made_at=NOW.timestamp() - 86_400,
    text="Stacks of sixteen dies reached a yield of 71 percent.", trust="web", url=PAGE,
)  # fmt: skip


@pytest.fixture
def reader(cluster: Cluster, team_database: Database) -> Iterator[str]:
    """A role that needs its password over TCP."""
    name = cluster.make_role(f"reader_{uuid4().hex[:8]}", PASSWORD)
    grant(address_of(team_database), name)
    yield name
    team_database.execute(f'DROP OWNED BY "{name}"')
    team_database.execute(f'DROP ROLE "{name}"')


@pytest.mark.slow
async def test_the_toolkit_is_given_the_password_in_a_private_file_alone(
    tmp_path: Path, cluster: Cluster, team_database: Database, reader: str
) -> None:
    fill(address_of(team_database), THERE, ARTICLE)
    address = Address.parse(cluster.tcp(team_database.name, reader))
    private = PrivateFolder(tmp_path)
    variables = connection_variables({"PGPASSWORD": PASSWORD, "HOME": "/root"})
    assert variables == {"PGPASSWORD": PASSWORD}
    file = private.write("postgres.json", variables)
    assert file.stat().st_mode & 0o077 == 0
    connection = toolkit_connection(tmp_path / "ws", routes={}, knowledge=address, postgres_file=file)
    server = connection.servers[SERVER]
    assert PASSWORD not in json.dumps(server)
    assert server["env"][POSTGRES_FILE] == str(file)
    arguments = server["args"][server["args"].index("--workspace") + 2 :]
    async with toolkit(tmp_path / "ws", tmp_path, *arguments, variables={POSTGRES_FILE: str(file)}) as client:
        found = json.loads(_text(await client.call_tool("knowledge_search", {"query": "yield of dies"})))
        assert [hit["title"] for hit in found["hits"]] == ["HBM4 yields"]
        written = await client.call_tool(
            "write_local_file", {"path": "work_products/notes.md", "content": f"It is {PASSWORD}."}
        )
        assert not written.is_error
    saved = (tmp_path / "ws" / "work_products" / "notes.md").read_text()
    assert PASSWORD not in saved
    # Without the file the server says what is missing.
    async with toolkit(tmp_path / "ws2", tmp_path, *arguments) as client:
        refused = await client.call_tool("knowledge_search", {"query": "yield"})
        assert refused.is_error
        assert "PGPASSWORD" in _text(refused)


def test_an_article_of_another_machine_comes_from_the_base(tmp_path: Path, team_database: Database) -> None:
    address = address_of(team_database)
    fill(address, HERE, ARTICLE)
    base = KnowledgeBase(address, session=tmp_path / "session_9", demo=False)
    article = earlier_article(base, PAGE, NOW, 7 * 86_400)
    assert article is not None
    assert (article.title, article.text) == ("HBM4 yields", ARTICLE.text)
    assert earlier_article(base, PAGE, NOW, 3_600) is None
    base.close()


def test_what_a_session_read_itself_is_not_found_by_it(tmp_path: Path, team_database: Database) -> None:
    address = address_of(team_database)
    session = tmp_path / "session_9"
    fill(address, folder_key(address, session), ARTICLE)
    base = KnowledgeBase(address, session=session, demo=False)
    assert (base.pages(PAGE), base.search("yield", limit=5).hits) == ([], ())
    base.close()
    assert os.environ.get("PGPASSWORD") is None
