from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.knowledge.stored import add, content, document, found
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index import store as store_module
from ua_tui.core.knowledge.index.database import connect
from ua_tui.core.knowledge.index.sqlite_store import SqliteStore
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.records import Batch, Cursor, KnowledgeDocument
from ua_tui.core.storage import sqlite

SESSIONS = ("session_1", "session_2", "/elsewhere/session_3")
TEXTS = st.text(max_size=80) | st.sampled_from(
    ["", "same text", "smiling quokkas " * 400, "東京の天気 is fine", "a\ud800b\0c", '"NEAR(" * ^']
)
URLS = st.sampled_from(
    ["", "https://a.org/1", "HTTPS://A.org:443/1", "https://b.org/2", "not an address", "http://[x"]
)
DOCUMENTS = st.builds(
    document,
    TEXTS,
    path=st.sampled_from(["", "a.md", "b.md"]),
    part=st.integers(0, 2),
    title=TEXTS,
    context=TEXTS,
    url=URLS,
)
FILES = st.sets(st.sampled_from(["a.md", "b.md"]))
STEPS = st.lists(
    st.tuples(st.sampled_from(SESSIONS), st.none() | st.lists(DOCUMENTS, max_size=4), FILES), max_size=12
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


@settings(deadline=None, max_examples=settings().max_examples // 3)
@given(STEPS)
def test_any_steps_make_the_same_as_one(
    steps: list[tuple[str, list[KnowledgeDocument] | None, set[str]]],
) -> None:
    wanted: dict[str, dict[tuple[str, int], KnowledgeDocument]] = {}
    counts: dict[str, int] = {}
    with TemporaryDirectory() as folder:
        worn, fresh = Path(folder, "worn", FILE), Path(folder, "fresh", FILE)
        with open_store(worn) as store:
            for session, documents, replaced in steps:
                if documents is None:
                    store.remove_session(session)
                    wanted.pop(session, None)
                    counts.pop(session, None)
                    continue
                assert add(store, session, *documents, replaced=replaced)
                counts[session] = counts.get(session, 0) + 1
                left = wanted.setdefault(session, {})
                for key in [key for key in left if key[0] in replaced]:
                    del left[key]
                left |= {(each.path, each.part): each for each in documents}
        with open_store(fresh) as store:
            for session, left in wanted.items():
                after, title = Cursor(counts[session], counts[session] * 100), f"About {session}"
                store.apply(session, Cursor(), Batch(after=after, title=title, documents=left.values()))
        assert content(worn) == content(fresh)


def test_a_document_that_another_program_stores_while_it_is_read(path: Path) -> None:
    long = document("# Title\n\n" + "\n\n".join(f"word{number} " * 200 for number in range(100)))

    with open_store(path) as one, open_store(path) as other:

        def documents() -> Iterator[KnowledgeDocument]:
            assert other.apply("s", Cursor(), Batch(after=Cursor(1, 10), documents=[long]))
            yield long

        assert not one.apply("s", Cursor(), Batch(after=Cursor(1, 10), documents=documents()))
    assert len(content(path)[2]) == 100


def test_documents_are_read_outside_of_transactions(path: Path) -> None:
    def documents() -> Iterator[KnowledgeDocument]:
        for number in range(3):
            with connect(path, "rw") as db:
                db.execute("PRAGMA busy_timeout = 0")
                db.execute("BEGIN IMMEDIATE")
                db.execute("ROLLBACK")
            yield document("x" * 300_000, path=f"{number}.md")

    with open_store(path) as store:
        assert store.apply("s", Cursor(), Batch(after=Cursor(1, 10), documents=documents()))
    assert len(content(path)[1]) == 3


def test_a_large_session_is_removed_in_several_transactions(path: Path) -> None:
    with open_store(path) as store:
        assert add(store, "s", *[document("quokka", path=f"{number}.md") for number in range(200)])
        begun: list[int] = []
        assert isinstance(store, SqliteStore)
        store._db.set_trace_callback(lambda text: begun.append(1) if text.startswith("BEGIN") else None)
        store.remove_session("s")
        assert len(begun) >= 5
    assert found(path, "quokka") == []


def test_a_failed_batch_leaves_what_was_there(path: Path) -> None:
    def documents() -> Iterator[KnowledgeDocument]:
        yield document("second", path="b.md")
        raise ValueError("cannot be read")

    with open_store(path) as store:
        add(store, "s", document("first"))
        with pytest.raises(ValueError, match="cannot be read"):
            store.apply("s", store.cursor("s"), Batch(after=Cursor(9, 900), documents=documents()))
        assert store.cursor("s") == Cursor(1, 100)
        assert add(store, "s", document("third", path="c.md"))
    assert [row[1] for row in content(path)[1]] == ["c.md", "notes.md"]


def test_a_session_is_removed_in_pieces_that_leave_room_for_other_programs(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(path) as store, open_store(path) as other:
        many = [document("quokka", path=f"{number}.md") for number in range(500)]
        assert store.apply("long", Cursor(), Batch(after=Cursor(1, 10), documents=many))
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            assert add(other, "short", document("text", path=f"{len(pauses)}.md"))

        monkeypatch.setattr(store_module, "time", SimpleNamespace(sleep=pause))
        store.remove_session("long")
    assert len(pauses) > 2
    assert len(found(path, "text")) == len(pauses)
    assert found(path, "quokka") == []


def test_the_log_does_not_grow(path: Path) -> None:
    with open_store(path) as store:
        for number in range(20):
            add(store, "s", document(f"word{number} " * 20_000, path=f"{number}.md"))
        assert path.with_name(f"{FILE}-wal").stat().st_size < 32 << 20


def test_a_program_that_never_ends_its_transaction(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    with open_store(path) as store, connect(path, "rw") as other:
        other.execute("BEGIN IMMEDIATE")
        reason = "other programs have been writing to it for too long"
        with pytest.raises(KnowledgeError, match=reason) as error:
            add(store, "s", document("text"))
        assert isinstance(error.value.__cause__, sqlite3.OperationalError)
        other.execute("ROLLBACK")
        assert add(store, "s", document("text"))
