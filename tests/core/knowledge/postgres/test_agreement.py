"""The database of a team and the file find the same, over invented texts and queries of all forms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.bench.knowledge.prose import Prose
from tests.core.cases import cases_of
from tests.postgres_server import Cluster
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE, KnowledgePlace
from ua_tui.core.knowledge.records import KINDS, Batch, Cursor, IndexedCall, Kind, KnowledgeDocument
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address

CASES = cases_of(__file__)

pytestmark = pytest.mark.slow

SESSIONS, EACH = 6, 40
NOW, DAY = 1_790_000_000.0, 86_400.0
LIMIT = 250
MOSTLY: tuple[Kind, ...] = ("article", "article", "search_row", "report", "note")

Both = tuple[KnowledgeSearch, KnowledgeSearch, list[str]]


def documents_of(prose: Prose, draw: random.Random, session: int) -> Iterator[KnowledgeDocument]:
    for number in range(EACH):
        topic = draw.randrange(12)
        kind = draw.choice(MOSTLY)
        words = draw.randint(20, 500)
        # Each text has a word of its own, so that none is nearly equal to another.
        yield KnowledgeDocument(
            kind=kind, path=f"{kind}_{number}.md", title=prose.title(topic, 6),
            text=f"{prose.text(topic, words)} 東京の市場{number} naïve-{number}", context=prose.title(topic, 3),
            url=f"https://site-{draw.randrange(8)}.example/{session}/{number}" if kind == "article" else "",
            made_at=NOW - draw.random() * 400 * DAY, tool_use_id=f"t{session}-{number % 3}",
        )  # fmt: skip


def queries_of(texts: list[str], draw: random.Random) -> Iterator[str]:
    def words() -> list[str]:
        return [word.strip(".").lower() for word in draw.choice(texts).split()]

    def some(count: int) -> str:
        return " ".join(draw.sample([word for word in words() if len(word) > 3], count))

    for _ in range(6):
        yield from (some(count) for count in (1, 2, 3))
        found = words()
        start = draw.randrange(len(found) - 3)
        yield f'"{" ".join(found[start : start + 2])}"'
        yield f"{some(2)} site:site-{draw.randrange(8)}.example"
        yield f"{some(1)} kind:{draw.choice(KINDS)}"
        yield f"{some(1)} -{some(1)}"
        yield f"{some(1)} session:session_{draw.randrange(SESSIONS)}"
        yield f"{some(1)} tool:crawl since:2026-06-01 until:2026-08-01"
    yield from CASES["queries_of"]


@pytest.fixture(scope="module")
def both(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A search in the file, one in the database, and the texts that both have."""
    database = cluster.make_team_database()
    places: list[KnowledgePlace] = [tmp_path_factory.mktemp("file") / FILE, Address.parse(database.url)]
    prose, draw = Prose(3, 12), random.Random(4)
    batches = [[*documents_of(prose, draw, session)] for session in range(SESSIONS)]
    for place in places:
        with open_store(place) as store:
            for session, documents in enumerate(batches):
                tools = enumerate(("crawl_parallel", "search", "write"))
                given: dict[str, Any] = {
                    "title": f"About {session}",
                    "calls": [IndexedCall(tool_use_id=f"t{session}-{n}", tool=tool) for n, tool in tools],
                }
                name = f"/x/session_{session}"
                assert store.apply(name, Cursor(), Batch(after=Cursor(1, 1), documents=documents, **given))
    one, other = (KnowledgeSearch(place, budget=60) for place in places)
    with closing(one), closing(other):
        yield one, other, [document.text for batch in batches for document in batch]
    cluster.drop(database)


def test_the_same_is_found_and_the_first_five_are_mostly_the_same(both: Both) -> None:
    one, other, texts = both
    shares, compared = [], 0
    for query in queries_of(texts, random.Random(5)):
        expected, found = one.search(query, limit=LIMIT), other.search(query, limit=LIMIT)
        assert expected.relaxed == found.relaxed, query
        first, second = ({(hit.session, hit.path): hit for hit in each.hits} for each in (expected, found))
        if not expected.relaxed:
            compared += 1
            assert {*first} == {*second}, query
            for key, hit in first.items():
                twin = second[key]
                assert (hit.tool, hit.site, hit.title) == (twin.tool, twin.site, twin.title)
        if first:
            shares.append(len({*[*first][:5]} & {*[*second][:5]}) / len([*first][:5]))
    assert compared >= 40
    assert sum(shares) / len(shares) > 0.9
