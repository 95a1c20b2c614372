"""Tests of the searches that led to a page."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from typing import Any

import pytest

from tests.observers.knowledge.recorded import Recorded, database_of
from ua_tui.core.events.types import ArtifactSaved
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.catch_up import index_piece
from ua_tui.observers.knowledge.journal import with_searches

SECRET = "correct-horse-battery-7731"
URL = "https://www.zoo.example/cats?utm_source=x"


@pytest.fixture
def session(tmp_path: Any) -> Recorded:
    return Recorded(tmp_path)


def save(session: Recorded, kind: str, path: str, value: dict[str, Any]) -> None:
    data = json.dumps(value).encode()
    (session.folder / path).parent.mkdir(exist_ok=True)
    (session.folder / path).write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    session.add(ArtifactSaved(path=path, kind=kind, size=1, sha256=digest, observer="x", tool_use_id="t"))


def search(session: Recorded, number: int, query: str, title: str, url: str = URL) -> None:
    rows = [{"title": "Dogs", "url": "https://zoo.example/dogs"}, {"title": title, "url": url}, 7]
    save(session, "search_results", f"search_results/{number}.json", {"query": query, "results": rows})


def article(session: Recorded, title: str = "Cats") -> None:
    page = {"url": "https://zoo.example/cats", "title": title, "source": "Zoo", "content": "They are grey."}
    save(session, "article", "extracted_articles/cats.json", page)


def contexts(session: Recorded) -> list[str]:
    base = session.folder.parent.parent
    with open_store(database_of(base)) as store:
        while index_piece(store, session.folder, Redactor([SECRET])):
            pass
    with closing(open_reader(database_of(base))) as db:
        return [text for (text,) in db.execute("SELECT context FROM document WHERE kind = 'article'")]


def test_a_page_is_found_by_the_queries_that_found_it(session: Recorded) -> None:
    search(session, 1, "which pets purr", "All about felines")
    search(session, 2, "dogs", "Dogs too", url="https://zoo.example/dogs")
    search(session, 3, "cheshire", "Cats")
    article(session)
    assert contexts(session) == ["which pets purr\nAll about felines\ncheshire\nZoo\nzoo example cats"]


def test_searches_after_a_page_do_not_count(session: Recorded) -> None:
    article(session)
    search(session, 1, "which pets purr", "All about felines")
    assert contexts(session) == ["Zoo\nzoo example cats"]


def test_searches_of_earlier_batches_count(session: Recorded) -> None:
    search(session, 1, "which pets purr", "All about felines")
    assert contexts(session) == []
    article(session)
    assert contexts(session) == ["which pets purr\nAll about felines\nZoo\nzoo example cats"]


def test_searches_that_cannot_be_read_and_secrets_are_left_out(session: Recorded) -> None:
    search(session, 1, f"password {SECRET}", f"{SECRET} is it")
    search(session, 2, "cheshire", "Felines")
    (session.folder / "search_results/2.json").unlink()
    article(session)
    assert contexts(session) == ["password [redacted]\n[redacted] is it\nZoo\nzoo example cats"]


def test_earlier_searches_are_not_read_without_a_page() -> None:
    assert [*with_searches([], lambda: pytest.fail("read"))] == []
