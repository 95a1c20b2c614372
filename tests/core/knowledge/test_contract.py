"""What the file and the database of a team do alike: storing, forgetting, and the vectors of passages."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from contextlib import closing

import pytest

from tests.core.knowledge.stored import add, document
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import forget
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.records import Batch, Cursor, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.search.embeddings import Embedder
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.knowledge.status import read_status

HERE, THERE = "ada:/home/session_1", "bob:/home/session_2"
URL = "https://a.example/leak"


def fill(place: KnowledgePlace, folder: str, *documents: KnowledgeDocument) -> None:
    with open_store(place) as store:
        assert add(store, folder, *documents)


def found(place: KnowledgePlace, words: str) -> list[tuple[str, str]]:
    """The session and the title of each hit, in order of the alphabet."""
    with closing(KnowledgeSearch(place, budget=60)) as search:
        return sorted((hit.session, hit.title) for hit in search.search(words, limit=100).hits)


def titles_of_sessions(place: KnowledgePlace) -> list[tuple[str, str]]:
    with closing(open_store(place, read_only=True)) as database, database.reading():
        return database.rows("titles")


# -- storing


def test_only_one_of_two_programs_stores_what_both_have_read(place: KnowledgePlace) -> None:
    with open_store(place) as one, open_store(place) as other:
        assert one.apply(
            HERE, Cursor(), Batch(after=Cursor(1, 10), documents=[document("quokka", title="One")])
        )
        assert not other.apply(
            HERE, Cursor(), Batch(after=Cursor(2, 20), documents=[document("quokka", title="Other")])
        )
        assert other.cursor(HERE) == Cursor(1, 10)
        assert not other.apply(HERE, Cursor(5, 5), Batch(after=Cursor(6, 6)))
        assert other.apply(HERE, Cursor(1, 10), Batch(after=Cursor(2, 20)))
        one.remove_session(HERE)
        assert not other.apply(
            HERE, Cursor(2, 20), Batch(after=Cursor(3, 30), documents=[document("quokka")])
        )
        assert one.cursors() == {}
    assert found(place, "quokka") == []


def test_a_document_in_the_place_of_another_replaces_it(place: KnowledgePlace) -> None:
    with open_store(place) as store:
        add(store, HERE, document("quokka", path="a", title="A"), document("wombat", path="b", part=1))
        add(store, HERE, document("koala", path="a", title="A"))
        assert (found(place, "quokka"), found(place, "koala")) == ([], [(HERE, "A")])
        add(store, HERE, document("emu", path="c", title="C"), replaced=["b"])
    assert (found(place, "wombat"), found(place, "emu")) == ([], [(HERE, "C")])
    assert read_status(place).passages == 2


def test_a_session_is_removed_with_everything_of_it(place: KnowledgePlace) -> None:
    page = document("quokka one", title="Here", tool_use_id="t", url=URL)
    call = IndexedCall(tool_use_id="t", tool="crawl")
    with open_store(place) as store:
        store.apply(HERE, Cursor(), Batch(after=Cursor(1, 1), calls=[call], documents=[page]))
        add(store, THERE, document("quokka two", title="There"))
        assert found(place, "quokka") == [(HERE, "Here"), (THERE, "There")]
        store.remove_session(HERE)
        assert store.cursors() == {THERE: Cursor(1, 100)}
    status = read_status(place)
    assert (status.sessions, status.passages, status.sources) == (1, 1, 0)


def test_a_long_document_is_stored_with_all_of_its_passages(place: KnowledgePlace) -> None:
    texts = [f"word{n} " * 200 + "\n\n" + f"other{n} " * 200 for n in range(200)]
    fill(place, HERE, *[document(text, path=f"{n}", title=f"{n}") for n, text in enumerate(texts)])
    assert read_status(place).passages == 400
    assert found(place, "word17") == [(HERE, "17")]


# -- forgetting


def test_an_address_is_forgotten_for_good(place: KnowledgePlace) -> None:
    with open_store(place) as elsewhere:
        fill(place, HERE, document("falcon secret", title="A", url=URL), document("quokka", path="b"))
        plan = forget(place, source=URL, dry_run=True)
        assert (plan.documents, plan.passages, plan.titles) == (1, 1, ("A",))
        assert found(place, "falcon") == [(HERE, "A")]
        assert forget(place, source=URL).documents == 1
        # It comes again by a store that was open before.
        add(elsewhere, THERE, document("falcon", title="C", url=URL), document("emu", title="D", path="d"))
    assert (found(place, "falcon"), found(place, "emu")) == ([], [(THERE, "D")])


def test_words_are_forgotten_in_all_sessions(place: KnowledgePlace) -> None:
    text = document("project falcon is here", title="A")
    fill(place, HERE, text, document("falcon chicks", title="B", path="b", kind="note"))
    fill(place, THERE, text)
    done = forget(place, match='"project falcon" kind:article')
    assert (done.documents, {*done.sessions}) == (2, {HERE, THERE})
    fill(place, THERE, text)
    assert found(place, "falcon") == [(HERE, "B")]


def test_every_typed_word_counts(place: KnowledgePlace) -> None:
    """A search leaves out words that say nothing: then more would be forgotten than was asked for."""
    fill(place, HERE, document("what is a falcon", title="A"), document("falcon chicks", title="B", path="b"))
    assert forget(place, match="what is a falcon -chicks").documents == 1
    assert found(place, "falcon") == [(HERE, "B")]


def test_a_session_is_forgotten_with_its_title(place: KnowledgePlace) -> None:
    fill(place, HERE, document("falcon", title="A"))
    with pytest.raises(KnowledgeError, match="no session"):
        forget(place, session="nowhere:/x/session_7")
    assert forget(place, session=HERE).documents == 1
    fill(place, HERE, document("falcon", title="A"))
    assert found(place, "falcon") == titles_of_sessions(place) == []


# -- vectors


class Directions(Embedder):
    """Makes vectors of two numbers: how much a text is about animals."""

    def embed(self, texts: Sequence[str], seconds: float = 1.0) -> list[bytes]:
        """Make a vector for each text."""
        angles = [0.1 if "marsupial" in text or "quokka" in text else 1.5 for text in texts]
        return [array("f", [math.cos(angle), math.sin(angle)]).tobytes() for angle in angles]


def test_missing_vectors_are_filled_in_and_order_the_hits(place: KnowledgePlace) -> None:
    embedder, shares = Directions("http://127.0.0.1:1/v1", "test"), "animal shares of fund {} animal animal"
    funds = [document(shares.format(n), title=f"Fund {n}", path=f"f{n}") for n in range(8)]
    island = "an animal: the marsupial of the island " + "word " * 60
    fill(place, HERE, *funds, document(island, title="Marsupial", path="m"))
    with open_store(place) as store:
        passages = store.rows("passages_without", model="test", limit=100)
        assert len(passages) == 9
        store.put_vectors("test", passages, embedder.embed([text for _, _, text in passages]))
        assert store.rows("passages_without", model="test", limit=100) == []
        assert len(store.rows("passages_without", model="other", limit=100)) == 9
    with closing(KnowledgeSearch(place, budget=60)) as plain:
        assert plain.search("animal").hits[0].title != "Marsupial"
    with closing(KnowledgeSearch(place, budget=60, embedder=embedder)) as search:
        # It is the first by its meaning and the last by its words.
        titles = [hit.title for hit in search.search("animal quokka").hits]
        assert titles.index("Marsupial") < 8
        # What is excluded has no vector in the search, whether its word is frequent or not.
        assert "Marsupial" not in [hit.title for hit in search.search("animal -island").hits]
    status = read_status(place, model="test")
    assert (status.embeddable, status.vectors) == (9, 9)


def test_the_vectors_of_the_newest_documents_come_first(place: KnowledgePlace) -> None:
    """Whatever was stored first: a catch-up begins with the newest session, and a rebuild with the oldest."""
    for name, made_at in (("middle", 2_000.0), ("new", 3_000.0), ("old", 1_000.0)):
        page = KnowledgeDocument(
            kind="article", title=name, text=f"quokka {name}", path=name, made_at=made_at
        )
        fill(place, HERE, page)
    with open_store(place) as store:
        passages = store.rows("passages_without", model="test", limit=100)
    assert [title for _, title, _ in passages] == ["new", "middle", "old"]
