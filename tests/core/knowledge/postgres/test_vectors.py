"""Vectors, the state, and copies in the database of a team."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tests.core.knowledge.postgres.stored import HERE, address_of, fill
from tests.core.knowledge.stored import document
from tests.observers.knowledge.recorded import Recorded
from tests.postgres_server import Database
from ua_tui.core.knowledge.access import open_search
from ua_tui.core.knowledge.folders import folder_key, folder_path, is_here
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.search.embeddings import Embedder
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.workspace import JOURNAL


class Directions(Embedder):
    """Makes vectors of two numbers: how much a text is about animals."""

    def embed(self, texts: Sequence[str], seconds: float = 1.0) -> list[bytes]:
        """Make a vector for each text."""
        angles = [0.1 if "marsupial" in text or "quokka" in text else 1.5 for text in texts]
        return [array("f", [math.cos(angle), math.sin(angle)]).tobytes() for angle in angles]


EMBEDDER = Directions("http://127.0.0.1:1/v1", "test")


def test_missing_vectors_are_filled_in_and_order_the_hits(team_database: Database) -> None:
    address, shares = address_of(team_database), "animal shares of fund {} animal animal"
    funds = [document(shares.format(n), title=f"Fund {n}", path=f"f{n}") for n in range(8)]
    island = "an animal: the marsupial of the island " + "word " * 60
    fill(address, HERE, *funds, document(island, title="Marsupial", path="m"))
    with KnowledgeStore(address) as store:
        last = store.last_passage()
        passages = store.passages_without("test", above=0, up_to=last, limit=100)
        assert len(passages) == 9
        store.put_vectors("test", passages, EMBEDDER.embed([passage.text for passage in passages]))
        assert store.passages_without("test", above=0, up_to=last, limit=100) == []
        assert len(store.passages_without("other", above=0, up_to=last, limit=100)) == 9
    with closing(open_search(address, budget=60)) as plain:
        assert plain.search("animal").hits[0].title != "Marsupial"
    with closing(open_search(address, budget=60, embedder=EMBEDDER)) as search:
        # It is the first by its meaning and the last by its words.
        places = [hit.title for hit in search.search("animal quokka").hits]
        assert places.index("Marsupial") < 8
    status = read_status(address, model="test")
    assert (status.embeddable, status.vectors) == (9, 9)


def test_the_state_counts_what_is_there_and_what_is_missing(team_database: Database, tmp_path: Path) -> None:
    address = address_of(team_database)
    recorded = Recorded(tmp_path)
    fill(address, HERE, document("quokka", url="https://a.org/x"), document("note", kind="note", path="n"))
    status = read_status(address, tmp_path)
    assert (status.problems, status.sessions, status.version) == ((), 1, 3)
    assert (status.documents, status.passages, status.sources) == ({"article": 1, "note": 1}, 2, 1)
    assert status.size > 100_000
    (lag,) = status.lagging
    assert lag.session == folder_key(address, recorded.folder)
    assert lag.missing == (recorded.folder / JOURNAL).stat().st_size
    away = read_status(Address.parse("postgresql://me@127.0.0.1:1/team"))
    assert "no server is listening" in away.problems[0]


def test_folders_of_other_machines_are_none_here(tmp_path: Path) -> None:
    address = Address.parse("postgresql://me@host/team")
    key = folder_key(address, tmp_path / "session_1")
    assert is_here(address, key)
    assert folder_path(address, key) == tmp_path.resolve() / "session_1"
    other = f"elsewhere.example:{tmp_path}"
    assert not is_here(address, other)
    assert not folder_path(address, other).exists()
