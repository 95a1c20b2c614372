"""The search by meaning, with a server that speaks the protocol of OpenAI-compatible ones."""

from __future__ import annotations

import logging
import math
import threading
from array import array
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from tests.core.knowledge.stored import add, document
from tests.embeddings_server import EmbeddingsServer, embeddings_server
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import forget
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.records import Results
from ua_tui.core.knowledge.search import embeddings
from ua_tui.core.knowledge.search.embeddings import Embedder, TextsRefused, embedder_of, similarities
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.settings.model import Settings

KEY = "sk-embeddings-canary-0123456789"
TARGET = "What a car costs"
QUERY = "automobile price"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for the vector of a query also on a slow machine."""
    monkeypatch.setattr(embeddings, "QUERY_SECONDS", 60)


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with embeddings_server() as running:
        yield running


@pytest.fixture
def embedder(server: EmbeddingsServer) -> Embedder:
    return Embedder(server.url, "m", KEY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Forty documents with a word of the query, of which the one that is meant has it in a longer text."""
    path = tmp_path / FILE
    text = "A car has its price. " + "Other things are also here. " * 25
    rain = "The price of umbrellas in the rain, part {}."
    others = [document(rain.format(n), path=f"{n}.md", title=f"Umbrellas {n}") for n in range(40)]
    with open_store(path) as store:
        add(store, "session_1", document(text, path="car.md", title=TARGET), *others)
    return path


def fill(path: Path, embedder: Embedder) -> int:
    """Give every passage its vector; returns how many had none."""
    with open_store(path) as store:
        passages = store.rows("passages_without", model=embedder.model, limit=1_000)
        texts = [f"{title} {text}" for _, title, text in passages]
        if passages:
            store.put_vectors(embedder.model, passages, embedder.embed(texts))
    return len(passages)


def search(path: Path, text: str, embedder: Embedder | None = None) -> Results:
    with closing(KnowledgeSearch(path, budget=60, embedder=embedder)) as found:
        return found.search(text, limit=10)


def titles(results: Results) -> list[str]:
    return [hit.title for hit in results.hits]


def test_other_words_find_what_is_meant(path: Path, embedder: Embedder, server: EmbeddingsServer) -> None:
    assert TARGET not in titles(search(path, QUERY))
    assert server.asked == []
    assert fill(path, embedder) == 41
    found = search(path, f"{QUERY} -unwanted kind:article", embedder)
    assert TARGET in titles(found)
    assert found.notices == ()
    headers, body = server.asked[-1]
    assert headers["authorization"] == f"Bearer {KEY}"
    # Neither exclusions nor filters are sent.
    assert body == {"model": "m", "input": [QUERY]}


def test_exclusions_phrases_and_filters_hold(path: Path, embedder: Embedder) -> None:
    fill(path, embedder)
    assert TARGET not in titles(search(path, f"{QUERY} -things", embedder))
    assert titles(search(path, f'{QUERY} "its price"', embedder)) == [TARGET]
    assert titles(search(path, f"{QUERY} kind:report", embedder)) == []


def test_texts_without_vectors_keep_order(path: Path, embedder: Embedder, server: EmbeddingsServer) -> None:
    expected = titles(search(path, QUERY))
    assert titles(search(path, QUERY, embedder)) == expected
    fill(path, embedder)
    assert titles(search(path, QUERY, Embedder(server.url, "another"))) == expected
    assert fill(path, Embedder(server.url, "another")) == 41


def test_a_query_without_words_asks_nothing(path: Path, embedder: Embedder, server: EmbeddingsServer) -> None:
    assert len(search(path, "kind:article", embedder).hits) == 10
    assert search(path.with_name("missing.db"), QUERY, embedder).hits == ()
    assert server.asked == []


ANSWERS = (
    (500, KEY.encode()), (401, b'{"error": {"message": "Incorrect API key provided"}}'), (400, b"{}"), (302, b""),
    (200, b"not json"), (200, b"\xff\xfe"), (200, b'{"data": []}'),
    (200, b'{"data": [{"index": 1, "embedding": [1.0]}]}'), (200, b'{"data": [{"index": 0, "embedding": []}]}'),
    (200, b'{"data": [{"index": 0, "embedding": ["a"]}]}'), (200, b'{"data": [{"index": 0, "embedding": [NaN]}]}'),
    (200, b'{"data": [{"index": 0, "embedding": null}]}'),
)  # fmt: skip


def test_a_wrong_answer_leaves_the_search_for_words(
    path: Path, embedder: Embedder, server: EmbeddingsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    expected = titles(search(path, QUERY))
    for server.status, server.body in ANSWERS:
        found = search(path, QUERY, embedder)
        assert titles(found) == expected
        (notice,) = found.notices
        start = "only the words were searched, not the meaning: the embeddings server 127.0.0.1:"
        assert notice.startswith(start)
        assert "check the settings embeddings_url" in notice
        assert KEY not in notice + caplog.text + repr(embedder)


def test_a_server_that_is_slow_or_gone_leaves_the_search_for_words(
    path: Path, embedder: Embedder, server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.wait = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(embeddings, "QUERY_SECONDS", 0.1)
        (notice,) = search(path, QUERY, embedder).notices
    assert "0.1 s" in notice
    for url in ("http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"):
        found = search(path, QUERY, Embedder(url, "m", "no ascii: ä\n"))
        assert len(found.hits) == 10
        assert len(found.notices) == 1
        assert "ä" not in found.notices[0]


def test_vectors_have_the_order_of_the_texts_and_the_length_1_whatever_the_numbers(
    embedder: Embedder, server: EmbeddingsServer
) -> None:
    car, rain, same = embedder.embed(["car car car", "rain", "automobile"])
    assert math.hypot(*array("f", car)) == pytest.approx(1)
    near = similarities(car, [car, rain, same, b""])
    assert near[0] == pytest.approx(1)
    assert near[2] > 0.9 > 0.1 > near[1] > near[3] == 0
    server.body = b'{"data": [{"index": 0, "embedding": [1e308, -1e308]}, {"index": 1, "embedding": [0, 0]}]}'
    large, zero = embedder.embed(["a", "b"])
    assert list(array("f", large)) == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])
    assert list(array("f", zero)) == [0, 0]


def test_refused_texts_are_told_from_other_failures(embedder: Embedder, server: EmbeddingsServer) -> None:
    server.status = 400
    with pytest.raises(TextsRefused):
        embedder.embed(["a"])
    server.status = 503
    with pytest.raises(KnowledgeError) as raised:
        embedder.embed(["a"])
    assert not isinstance(raised.value, TextsRefused)


def test_an_answer_that_is_too_long_or_takes_too_long_is_not_read_on(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(embeddings, "_MOST_BYTES", 10)
        with pytest.raises(KnowledgeError, match="too long"):
            embedder.embed(["a"])
    # Each look at the clock is 61 seconds after the one before.
    monkeypatch.setattr(embeddings, "monotonic", count(step=61).__next__)
    with pytest.raises(KnowledgeError, match="takes too long"):
        embedder.embed(["a"])


def test_it_is_off_unless_a_server_and_a_model_are_set_and_in_the_demo() -> None:
    url = "http://127.0.0.1:11434/v1"
    assert embedder_of(Settings()) is None
    assert embedder_of(Settings(embeddings_url=url)) is None
    assert embedder_of(Settings(embeddings_model="m")) is None
    assert embedder_of(Settings(embeddings_url=url, embeddings_model="m", demo=True)) is None
    assert embedder_of(Settings(embeddings_url=url, embeddings_model="m")) == Embedder(url, "m", "")


def test_vectors_are_forgotten_with_their_passages(path: Path, embedder: Embedder) -> None:
    fill(path, embedder)
    with closing(open_reader(path)) as db:
        (forgotten,) = db.execute(
            "SELECT data FROM vector JOIN chunk ON chunk.id = vector.chunk WHERE chunk.text LIKE 'A car%'"
        ).fetchone()
    assert forgotten in path.read_bytes()
    forget(path, match="things")
    with closing(open_reader(path)) as db:
        assert db.execute("SELECT count(*) FROM vector").fetchone() == (40,)
    assert not [each.name for each in path.parent.iterdir() if forgotten in each.read_bytes()]


def test_a_vector_of_a_replaced_passage_is_not_stored(path: Path, embedder: Embedder) -> None:
    with open_store(path) as vectors:
        passages = vectors.rows("passages_without", model="m", limit=3)
        with open_store(path) as store:
            add(store, "session_1", document("The new text.", path="39.md"))
        vectors.put_vectors("m", passages, [b"\0" * 8] * 3)
        assert len(vectors.rows("passages_without", model="m", limit=100)) == 41 - 2
