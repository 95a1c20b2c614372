"""The file on the disk: private, whatever is in its place, whatever is in it, and whoever else opens it."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.core.knowledge.stored import add, content, document, found
from tests.core.limits import file_size_limit
from tests.faults.test_machine import OBEYING_PERMISSIONS
from tests.waiting import PATIENCE
from ua_tui.core.errors import KnowledgeEmptied, KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index import database
from ua_tui.core.knowledge.index.database import (
    VERSION,
    connect,
    emptied,
    open_reader,
    open_writer,
)
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.records import Cursor
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.sqlite import is_network_type

ROOT = Path(__file__).parents[3]
OPEN = """
import sys
from contextlib import closing
from pathlib import Path
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import open_reader, open_writer
from ua_tui.core.knowledge.access import open_store
from tests.core.knowledge.stored import add, document, found
path = Path(sys.argv[1])
for action in sys.argv[2:]:
    try:
        if action == "write":
            with open_store(path) as store:
                add(store, "s", document("text"))
        else:
            with closing(open_reader(path)) as db:
                print(db.execute("SELECT count(*) FROM document").fetchone()[0])
    except KnowledgeError as error:
        print(f"{type(error).__name__}: {error}")
"""


def run(path: Path, *actions: str, before: tuple[str, ...] = OBEYING_PERMISSIONS) -> list[str]:
    """Do something with the file in a program of its own; its output."""
    command = [*before, sys.executable, "-c", OPEN, str(path), *actions]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


def add_many(store: KnowledgeStore) -> None:
    """Store a hundred documents, one after the other."""
    for number in range(100):
        add(store, "session_1", document(f"word{number} " * 2_000, path=f"{number}.md"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one document, which is closed."""
    path = tmp_path / "sessions" / FILE
    with open_store(path) as store:
        add(store, "session_1", document("smiling quokkas"))
    return path


def test_it_is_private(tmp_path: Path) -> None:
    path = tmp_path / "sessions" / FILE
    old = os.umask(0)
    try:
        with open_store(path) as store:
            add(store, "s", document("text"))
            files = [each for each in path.parent.iterdir() if each.is_file()]
            assert {each.name for each in files} == {FILE, f"{FILE}-wal", f"{FILE}-shm"}
            assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    finally:
        os.umask(old)
    path.chmod(0o644)
    open_store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", [FILE, f"{FILE}-wal", f"{FILE}-journal"])
def test_something_else_in_its_place(tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"of another program")
    for make, reason, remove in (
        (lambda path: path.symlink_to(target), "symbolic link", Path.unlink),
        (Path.mkdir, "it is a folder", Path.rmdir),
        (os.mkfifo, "not a regular file", Path.unlink),
    ):
        make(tmp_path / name)
        for opened in (open_writer, open_reader) if name == FILE else (open_writer,):
            with pytest.raises(KnowledgeError, match=reason):
                opened(tmp_path / FILE)
        assert target.read_bytes() == b"of another program"
        remove(tmp_path / name)
    (tmp_path / "sessions").write_text("")
    with pytest.raises(KnowledgeError, match="set `knowledge` to another path"):
        open_writer(tmp_path / "sessions" / FILE)


def test_a_file_and_a_folder_that_may_not_be_written(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        written, read, _ = [*run(path, "write", "read"), ""]
    finally:
        path.parent.chmod(0o700)
    assert "permission denied: check the permissions of the file and its folder" in written
    assert read == "1"
    assert os.listdir(path.parent) == [FILE]
    path.chmod(0o400)
    written, read = run(path, "write", "read")
    assert "permission denied" in written
    assert read == "1"


def test_a_folder_whose_names_may_not_be_listed(path: Path) -> None:
    """It cannot be locked either."""
    path.parent.chmod(0o300)
    try:
        (read,) = run(path, "read")
    finally:
        path.parent.chmod(0o700)
    assert read == "1"


def test_a_folder_that_may_not_be_written_and_a_log(path: Path) -> None:
    """What is in the log of a program that was killed cannot be read without a file for shared memory."""
    killed = (
        "import os, sys\nfrom pathlib import Path\nfrom ua_tui.core.knowledge.access import open_store\n"
        "from tests.core.knowledge.stored import add, document\n"
        "add(open_store(Path(sys.argv[1])), 's', document('text'))\nos._exit(9)"
    )
    subprocess.run([sys.executable, "-c", killed, path], cwd=ROOT, check=False)
    path.with_name(f"{FILE}-shm").unlink()
    path.parent.chmod(0o500)
    try:
        (read,) = run(path, "read")
    finally:
        path.parent.chmod(0o700)
    assert "cannot be opened" in read
    assert run(path, "read", before=()) == ["2"]


def test_a_full_disk_loses_nothing(path: Path) -> None:
    with open_store(path) as store:
        with file_size_limit(200_000), pytest.raises(KnowledgeError, match="the disk") as error:
            add_many(store)
        assert "nothing is lost" in str(error.value)
        cursor = store.cursor("session_1")
        assert add(store, "session_1", document("afterwards", path="after.md"))
    rows = content(path)
    assert rows[0] == [("session_1", "About session_1", cursor.seq + 1, cursor.place + 100)]
    assert len(rows[1]) == cursor.seq + 1


def damage(path: Path, kind: str) -> None:
    with open(path, "r+b") as file:
        match kind:
            case "garbage":
                file.truncate(file.write(b"garbage " * 10_000))
            case "header":
                file.write(b"garbage " * 4)
            case "schema":
                file.seek(100)
                file.write(b"\xff" * 4_000)
            case _:
                file.truncate(10_000)


@pytest.mark.parametrize("kind", ["garbage", "header", "schema", "cut"])
def test_a_damaged_file_is_set_aside(path: Path, kind: str) -> None:
    damage(path, kind)
    data = path.read_bytes()
    with pytest.raises(KnowledgeError):
        open_reader(path)
    reason = r"was set aside as knowledge\.db\.corrupt-.* rebuilt"
    with pytest.raises(KnowledgeEmptied, match=reason):
        open_writer(path)
    assert [each.read_bytes() for each in path.parent.glob(f"{FILE}.corrupt-*")] == [data]
    with open_store(path) as store:
        assert store.cursors() == {}
        assert add(store, "session_1", document("smiling quokkas"))
    assert len(content(path)[1]) == 1


def test_damage_that_is_met_later(path: Path) -> None:
    """Whoever meets it sets the file aside, and programs that still have it open lose nothing of the new one."""
    with open_store(path) as store:
        add_many(store)
    with open_store(path) as store, open_store(path) as other:
        with open(path, "r+b") as file:
            file.seek(16_384)
            file.write(b"\xff" * (os.path.getsize(path) - 16_384))
        with pytest.raises(KnowledgeEmptied, match="was set aside"):
            add_many(store)
        with open_store(path) as fresh:
            assert add(fresh, "session_1", document("numbat"))
            with pytest.raises(KnowledgeError, match=r"was (replaced|damaged)"):
                add(other, "session_1", document("lost"))
            other.close()
            assert add(fresh, "session_1", document("wombat", path="b.md"))
            assert found(path, "numbat OR wombat") == [("session_1", "b.md"), ("session_1", "notes.md")]
    assert len(content(path)[1]) == 2
    assert len(list(path.parent.glob(f"{FILE}.corrupt-*"))) >= 1


def test_only_one_of_several_programs_sets_it_aside(path: Path) -> None:
    damage(path, "garbage")
    command = [sys.executable, "-c", OPEN, str(path), "write", "write"]
    programs = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    output = "".join(program.communicate()[0] for program in programs)
    assert output.count("KnowledgeEmptied") == 1
    assert output.count("\n") == 1
    assert len(list(path.parent.glob(f"{FILE}.corrupt-*"))) == 1
    assert len(content(path)[1]) == 1


def test_a_file_of_another_program(tmp_path: Path) -> None:
    notes, path = tmp_path / "notes.txt", tmp_path / FILE
    notes.write_bytes(b"my notes " * 1_000)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE bookmarks(url)")
    data = path.read_bytes()
    with pytest.raises(KnowledgeError, match="it is not a database"):
        open_writer(notes)
    for opened in (open_writer, open_reader):
        reason = "belongs to another program: set `knowledge` to another path"
        with pytest.raises(KnowledgeError, match=reason):
            opened(path)
    assert (notes.read_bytes(), path.read_bytes()) == (b"my notes " * 1_000, data)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER keep BEFORE DELETE ON chunk BEGIN INSERT INTO kept VALUES (old.text); END",
        "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n",
    ],
)
def test_statements_of_somebody_else_never_run(path: Path, statement: str) -> None:
    with closing(connect(path, "rw")) as db:
        db.execute("CREATE TABLE kept(text)")
        db.execute(statement)
    for use in (open_reader, open_writer):
        with pytest.raises(KnowledgeError, match="triggers, views or tables"):
            use(path)


def test_a_file_of_a_later_version_is_only_read(path: Path) -> None:
    with closing(connect(path, "rw")) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
        db.execute("ALTER TABLE document ADD COLUMN mood TEXT")
    reason = r"by a later version of ua-tui .* can be searched but not changed"
    with pytest.raises(KnowledgeError, match=reason):
        open_writer(path)
    assert found(path, "quokkas") == [("session_1", "notes.md")]
    with closing(open_reader(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)


def test_a_file_of_an_earlier_version_is_made_again(path: Path) -> None:
    with closing(connect(path, "rw")) as db:
        (last,) = db.execute("SELECT max(id) FROM document").fetchone()
        db.execute(f"PRAGMA user_version = {VERSION - 1}")
        db.execute("INSERT INTO session(folder) VALUES ('/other/sessions/session_2')")
        # Its tables differ.
        db.execute("DROP INDEX document_of_url")
        db.execute("ALTER TABLE document DROP COLUMN hash")
    with pytest.raises(KnowledgeError, match=r"by an earlier version .* `ua-tui knowledge update`"):
        open_reader(path)
    assert read_status(path).size >= path.stat().st_size
    with pytest.raises(KnowledgeEmptied, match=r"was made by an earlier version .* is rebuilt when"):
        open_writer(path)
    with open_store(path) as store:
        # Those below other folders are named, so that they are found again.
        assert store.cursors() == {"/other/sessions/session_2": Cursor()}
        assert add(store, "session_1", document("smiling quokkas"))
    assert [each.name for each in path.parent.iterdir()] == [FILE]
    with closing(open_reader(path)) as db:
        assert db.execute("SELECT min(id) FROM document").fetchone()[0] > last + 1_000


def test_somebody_elses_file_of_an_earlier_version_stays(path: Path) -> None:
    with closing(connect(path, "rw")) as db:
        db.execute(f"PRAGMA user_version = {VERSION - 1}")
        db.execute("DELETE FROM mark")
    data = path.read_bytes()
    with pytest.raises(KnowledgeError, match="nothing is added to it"):
        open_writer(path)
    assert path.read_bytes() == data


def test_nothing_to_read(tmp_path: Path) -> None:
    for reason in ("does not exist", "is empty"):
        with pytest.raises(KnowledgeError, match=reason):
            open_reader(tmp_path / FILE)
        (tmp_path / FILE).touch()
    with open_store(tmp_path / FILE) as store:
        assert add(store, "s", document("text"))


@pytest.mark.parametrize("step", ["make_private", "_make_tables"])
def test_who_reads_waits_for_a_program_that_replaces_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    where = sqlite if step == "make_private" else database
    real, begun, reached = getattr(where, step), threading.Event(), threading.Event()

    def slow(*given: object) -> None:
        if begun.is_set():
            reached.set()
            time.sleep(0.3)
        begun.set()
        real(*given)

    def read(folder: Path) -> int:
        with closing(open_reader(folder)) as db:
            return int(db.execute("SELECT count(*) FROM document").fetchone()[0])

    def search(folder: Path) -> int:
        with open_store(folder, read_only=True) as store, store.reading() as notices:
            assert notices is not None
            return int(store.rows("total")[0][0])

    if step == "_make_tables":
        begun.set()
    monkeypatch.setattr(where, step, slow)
    with ThreadPoolExecutor() as pool:
        replacing = pool.submit(emptied, path)
        assert reached.wait(PATIENCE)
        readers = [pool.submit(read, path), pool.submit(search, path)]
        assert [each.result() for each in readers] == [0, 0]
        replacing.result()


def test_sqlite_that_is_too_old(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "OLDEST", (99, 0, 0))
    for opened in (open_writer, open_reader):
        with pytest.raises(KnowledgeError, match=r"is too old .* needs 99\.0\.0.*knowledge = off"):
            opened(path)


def test_types_of_file_systems() -> None:
    assert all(map(is_network_type, ("nfs4", "NFS", "cifs", "fuse.sshfs", "9p", "virtiofs")))
    assert not any(map(is_network_type, ("ext4", "tmpfs", "overlay", "apfs", "fuse.ext4", "")))


def test_without_shared_memory_there_is_no_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "is_on_network", lambda _path: True)
    with open_store(path) as store, open_store(path) as other:
        assert add(store, "session_1", document("numbat", path="b.md"))
        assert add(other, "session_1", document("wombat", path="c.md"))
        with closing(open_reader(path)) as db:
            assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert {each.name for each in path.parent.iterdir()} == {FILE}
    assert [file for _, file in found(path, "quokkas OR numbat OR wombat")] == ["b.md", "c.md", "notes.md"]


def test_a_rebuild_that_was_killed_leaves_no_setting_behind(path: Path) -> None:
    """It merges the parts of the index at its end; whoever opens the file next has them merged as they are added."""
    merged = "SELECT v FROM chunk_fts_config WHERE k = 'automerge'"
    with open_store(path) as store:
        store.rows("begin_rebuild")
        assert store.execute(merged, {})[1] == [(0,)]
    with open_store(path) as store:
        assert store.execute(merged, {})[1] == [(4,)]
        assert add(store, "session_1", document("numbat", path="b.md"))
    assert len(content(path)[1]) == 2
