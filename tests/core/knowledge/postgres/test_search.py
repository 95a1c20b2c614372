"""Searches in the database of a team that end early, and words with mistakes; `..test_search` has what both can."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest

from tests.core.knowledge.postgres.stored import HERE, address_of, fill
from tests.core.knowledge.stored import document
from tests.postgres_server import Database
from ua_tui.core.concurrency.cancellation import stoppable
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address


@pytest.fixture
def address(team_database: Database) -> Address:
    address, story = address_of(team_database), "plain story {} of weather, semiconductors and sport"
    fill(address, HERE, *[document(story.format(n), title=f"S{n}", path=f"{n}") for n in range(9)])
    return address


@contextmanager
def busy(database: Database) -> Iterator[None]:
    """A database in which searches wait."""
    with psycopg.connect(database.url, options="-c search_path=ua_tui") as db:
        db.execute("LOCK TABLE k_session IN ACCESS EXCLUSIVE MODE")
        yield


def test_a_search_out_of_time_gives_a_partial_answer(address: Address, team_database: Database) -> None:
    with closing(KnowledgeSearch(address, budget=0.02)) as search, busy(team_database):
        results = search.search("weather")
        assert (results.hits, results.partial) == ((), True)


class _Late(threading.Event):
    """A flag that is set when it is asked for the fourth time."""

    asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > 3


def test_a_search_that_is_stopped_leaves_its_connection_to_the_next(
    address: Address, team_database: Database
) -> None:
    with closing(KnowledgeSearch(address, budget=60)) as search:
        assert search.search("weather").hits
        with busy(team_database):
            with stoppable(_Late()):
                results = search.search("weather", budget=1)
            assert (results.hits, results.partial) == ((), True)
        # The connection serves the next search.
        assert len(search.search("weather").hits) == 9


def test_a_word_with_a_mistake_is_replaced_and_a_notice_says_so(
    address: Address, team_database: Database
) -> None:
    # As autovacuum does now and then.
    team_database.execute("ANALYZE k_chunk")
    with closing(KnowledgeSearch(address, budget=60)) as search:
        for words in ("wether", "plain wheather", "semicnductors weather"):
            results = search.search(words)
            assert len(results.hits) == 9, words
            assert any("searched for instead" in notice for notice in results.notices), words
        assert not search.search("weather").notices
        for words in ("xylophone", '"wether"x', "zzzzzzz"):
            assert not search.search(words).hits, words


def test_a_database_of_another_version_says_what_to_do(address: Address, team_database: Database) -> None:
    for statement, advice in (
        ("DELETE FROM migration WHERE version > 1", "team migrate"),
        ("INSERT INTO migration (version) VALUES (99)", "update ua-tui"),
    ):
        team_database.execute(statement)
        with (
            closing(KnowledgeSearch(address, budget=60)) as search,
            pytest.raises(KnowledgeError, match=advice),
        ):
            search.search("weather")
