"""The tools over the knowledge base of a team, whose password only a private file has."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from tests.core.knowledge.postgres.stored import HERE, address_of, fill
from tests.postgres_server import Database
from ua_tui.core.knowledge.place import folder_key
from ua_tui.core.knowledge.records import KnowledgeDocument
from ua_tui.core.knowledge.search.search import open_earlier
from ua_tui.core.toolkit.knowledge.earlier_articles import earlier_copy

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
PAGE = "https://chips.example/story/3"
ARTICLE = KnowledgeDocument(
    kind="article", path="extracted_articles/page.md", title="HBM4 yields", made_at=NOW.timestamp() - 86_400,
    text="Stacks of sixteen dies reached a yield of 71 percent.", trust="web", url=PAGE,
)  # fmt: skip


def test_an_article_of_another_machine_comes_from_the_base(tmp_path: Path, team_database: Database) -> None:
    address = address_of(team_database)
    fill(address, HERE, ARTICLE)
    base = open_earlier(address, session=tmp_path / "session_9", demo=False)
    found = earlier_copy(base, PAGE, NOW, 7 * 86_400)
    assert found is not None
    article = found[1]
    assert (article.title, article.text) == ("HBM4 yields", ARTICLE.text)
    assert earlier_copy(base, PAGE, NOW, 3_600) is None
    base.close()


def test_what_a_session_read_itself_is_not_found_by_it(tmp_path: Path, team_database: Database) -> None:
    address = address_of(team_database)
    session = tmp_path / "session_9"
    fill(address, folder_key(address, session), ARTICLE)
    base = open_earlier(address, session=session, demo=False)
    assert (base.sources(PAGE), base.search("yield", limit=5).hits) == ([], ())
    base.close()
    assert os.environ.get("PGPASSWORD") is None
