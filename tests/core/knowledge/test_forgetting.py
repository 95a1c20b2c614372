from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.core.knowledge.stored import add, content, document, found
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge import forgetting
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import Forgotten, forget, forget_deleted
from ua_tui.core.knowledge.forgotten import (
    ForgottenEntry,
    ForgottenFile,
    document_tombstone,
    source_tombstone,
)
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.records import Batch, Cursor
from ua_tui.core.storage import sqlite

SECRET = b"zqxwombat"
WORD = SECRET.decode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three sessions; everything of the second one, and two documents of the third one, have the word."""
    path = tmp_path / FILE
    with open_store(path) as store:
        for n in range(40):
            add(
                store,
                "session_1",
                document(f"plain number{n} text " * 90, path=f"{n}.md", url=f"https://a.org/{n}"),
            )
        # In many small steps, so that texts are moved between pages of the file.
        for number in range(60):
            text, page = f"{WORD}{number} and words{number} " * (number * 7), f"https://{WORD}.org/{number}"
            named: dict[str, Any] = {"title": f"About {WORD}s", "context": f"{WORD} found", "author": WORD}
            add(store, f"session_2{WORD}", document(text, path=f"{WORD}{number}.md", url=page, **named))
        add(
            store,
            "session_3",
            document("search rows", path="rows.json", part=0, url="https://a.org/1"),
            document(f"one {WORD} row", path="rows.json", part=1, url="https://b.org/"),
            document(f"one {WORD} row", path="copy.json", title="The copy"),
        )
    return path


def has_bytes(path: Path) -> list[str]:
    """The files beside the database, and itself, that have the word."""
    return [each.name for each in path.parent.iterdir() if each.is_file() and SECRET in each.read_bytes()]


def test_no_byte_remains_in_any_file(path: Path) -> None:
    with open_store(path) as store:
        # A program that has the file open for long.
        assert forget(path, session=f"session_2{WORD}").documents == 60
        assert forget(path, match=WORD).documents == 2
        assert found(path, f"{WORD}*") == []
        # What remains is the name of a folder, and where to read on in it.
        store.remove_session(f"session_2{WORD}")
    forget(path, source=f"https://{WORD}.org/3")
    assert has_bytes(path) == []
    assert len(content(path)[1]) == 41


def test_a_session_is_forgotten_whatever_it_finds_later(path: Path) -> None:
    name = f"session_2{WORD}"
    result = forget(path, session=name)
    assert result.sessions == (name,)
    assert result.passages > 60
    assert result.titles == (f"About {WORD}s",)
    assert any("journal" in sentence for sentence in result.kept)
    with open_store(path) as store:
        assert add(store, name, document("later text", path="later.md"))
        assert store.cursor(name) == Cursor(61, 6100)
        # A session that was copied to another folder has the same name.
        assert add(store, f"/elsewhere/{name}", document("later text"))
    assert found(path, "later") == []
    assert [row for row in content(path)[0] if row[0] == name] == [(name, "", 61, 6100)]


def test_an_address_is_forgotten_in_all_sessions(path: Path) -> None:
    assert forget(path, source=f"HTTPS://{WORD}.org:443/3").documents == 1
    with open_store(path) as store:
        url = f"https://{WORD}.org/3"
        add(store, "session_4", document("again", url=url), document("report", path="r.md"))
    assert found(path, "again") == []
    assert found(path, "report") == [("session_4", "r.md")]
    assert not [row for row in content(path)[3] if row[0].endswith("/3") and WORD in row[0]]


def test_what_matches_is_forgotten_by_its_place_in_all_sessions(path: Path) -> None:
    with open_store(path) as store:
        add(store, "session_5", document(f"one   {WORD} row", title="Elsewhere", url="https://c.org/"))
    result = forget(path, match=f"{WORD} row")
    assert (result.documents, result.sessions) == (3, ("session_3", "session_5"))
    assert any("fetched again can be found again" in sentence for sentence in result.kept)
    again = document(f"one {WORD} row", path="rows.json", part=1)
    with open_store(path) as store:
        # In the same place, whatever is there now, and of a session that was copied.
        add(store, "session_3", again, document("other rows", path="copy.json"))
        add(store, "/elsewhere/session_3", again)
        add(store, "session_5", document(f"one {WORD} row", path="later.md", url="https://c.org/"))
    assert found(path, f"{WORD} row") == [("session_5", "later.md")]
    assert found(path, "other") == []
    # As the sentence says.
    forget(path, source="https://c.org/")
    assert found(path, f"{WORD} row") == []
    assert found(path, "search") == [("session_3", "rows.json")]


def test_all_conditions_hold(path: Path) -> None:
    before = path.read_bytes()
    assert forget(path, match=WORD, dry_run=True).documents == 62
    assert path.read_bytes() == before
    assert not ForgottenFile(path).path.exists()
    assert forget(path, session="session_3", source="https://a.org/1").documents == 1
    assert found(path, '"plain" AND number1') == [("session_1", "1.md")]
    assert found(path, "search") == []


def test_a_query_with_phrases_exclusions_and_filters(path: Path) -> None:
    counts = {
        '"plain number7"': 1, '"number7 plain"': 0, "plain": 40, "plain -number7": 39,
        "plain kind:article site:a.org": 40, "plain site:b.org": 0, "session:session_3": 3, "plain until:1960": 0,
        "site:b.org": 1,
    }  # fmt: skip
    assert {match: forget(path, match=match, dry_run=True).documents for match in counts} == counts


def test_what_cannot_be_forgotten(path: Path, tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="name a session, an address, or words"):
        forget(path)
    with pytest.raises(KnowledgeError, match="no session session_9"):
        forget(path, session="session_9")
    for match in ("kind:nonsense", "-plain", "&", "plain &", '""'):
        with pytest.raises(KnowledgeError, match="nothing is forgotten, because"):
            forget(path, match=match)
    assert forget(path, match="absent words") == Forgotten()
    assert not ForgottenFile(path).path.exists()
    with pytest.raises(KnowledgeError, match="there is no knowledge base"):
        forget(tmp_path / "missing.db", match="words")


def test_a_program_that_ends_before_it_has_removed_anything(path: Path) -> None:
    """Its list is on the disk; the next program removes what it lists."""
    ForgottenFile(path).append(
        ForgottenEntry(tombstones=tuple(source_tombstone(f"https://{WORD}.org/{n}") for n in range(60)))
    )
    with open_store(path) as store:
        assert store.finish_forgetting()
    assert [row[:2] for row in content(path)[1] if "session_2" in row[0]] == []
    read = ForgottenFile(path)
    read.refresh()
    assert (len(read), read.pending) == (1, [])


def test_another_program_that_reads_is_no_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    reader = open_reader(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM chunk").fetchone()
    with open_store(path) as store:
        store.forgotten_of().append(ForgottenEntry(tombstones=(source_tombstone("https://b.org/"),)))
        assert not store.finish_forgetting()
        assert found(path, f"{WORD} AND row") == [("session_3", "copy.json")]
        reader.close()
        assert store.finish_forgetting()


def test_damaged_files_are_removed_too(path: Path) -> None:
    aside = path.with_name(f"{FILE}.corrupt-20260310-120000")
    aside.write_bytes(SECRET)
    forget(path, match=WORD)
    assert not aside.exists()


def test_the_title_of_a_session_is_forgotten_with_its_question(tmp_path: Path) -> None:
    path = tmp_path / FILE
    title = f"What do {WORD}s cost, and wh…"
    with open_store(path) as store:
        question = document(f"What do {WORD}s cost, and who sells them?", path="", part=2, kind="query")
        store.apply("session_1", Cursor(), Batch(after=Cursor(2, 20), title=title, documents=[question]))
        add(store, "session_2", document("what others cost"))
    forget(path, match=f"{WORD} sells")
    assert has_bytes(path) == []
    with open_store(path) as store:
        store.apply("session_1", Cursor(2, 20), Batch(after=Cursor(3, 30), title=title))
    assert has_bytes(path) == []
    assert [row[:2] for row in content(path)[0]] == [("session_1", ""), ("session_2", "About session_2")]


def test_the_list_is_private_and_survives_bad_lines(path: Path) -> None:
    forget(path, match="search")
    file = ForgottenFile(path).path
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"search" not in file.read_bytes()
    with open(file, "ab") as lines:
        lines.write(
            b'garbage\n\xff\n{"id": 3}\n{"id":"x","tombstones":["'
            + source_tombstone("https://c.org/").encode()
        )
    known = ForgottenFile(path)
    known.refresh()
    assert known.damaged_lines == 3
    assert not known.has_document("", "", 0, "https://c.org/")
    ForgottenFile(path).append(ForgottenEntry(tombstones=(source_tombstone("https://d.org/"),)))
    known.refresh()
    assert known.has_document("", "", 0, "https://d.org")


def test_nothing_is_stored_without_the_list(path: Path) -> None:
    file = ForgottenFile(path).path
    file.mkdir()
    with pytest.raises(KnowledgeError, match="what was forgotten cannot be read"):
        open_store(path)
    file.rmdir()
    file.symlink_to(path)
    with pytest.raises(KnowledgeError, match="forgotten"):
        open_store(path)


def test_a_deleted_session(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forget_deleted(path.with_name("missing.db"), path.parent / "session_1")
    assert not path.with_name("missing.db").exists()
    forget_deleted(path, path.parent / f"session_2{WORD}")
    assert has_bytes(path) == [FILE]
    forget(path, match=WORD)
    assert [row[0] for row in content(path)[0]] == ["session_1", "session_3"]
    # Of a large file the bytes are removed later.
    monkeypatch.setattr(forgetting, "_QUICKLY_SCRUBBED", 0)
    forget_deleted(path, path.parent / "session_1")
    assert [row[0] for row in content(path)[0]] == ["session_3"]
    with open_store(path) as store:
        assert store.finish_forgetting()
    assert b"number1" not in path.read_bytes()


def test_the_tombstones_name_nothing(path: Path) -> None:
    forget(path, match=WORD)
    forget(path, session="session_1")
    lines = [json.loads(line) for line in ForgottenFile(path).path.read_bytes().splitlines()]
    assert {key for line in lines for key in line} == {"id", "done", "tombstones"}
    tombstones = {each for line in lines for each in line.get("tombstones", ())}
    assert document_tombstone("session_3", "copy.json", 0) in tombstones
    assert {len(each) for each in tombstones} == {32}
