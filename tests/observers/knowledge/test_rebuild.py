"""The knowledge base made again: the same content, nothing lost to other programs, nothing forgotten that returns."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.observers.knowledge.recorded import Recorded, database_of, passages
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.forgetting import forget
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.records import Cursor
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.observers.knowledge.catch_up import catch_up, index_piece, update

ROOT = Path(__file__).parents[3]
IN_STEPS = """
import sys
from pathlib import Path
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.knowledge.catch_up import update
base = Path(sys.argv[1])
def report(done, total):
    print(done, flush=True)
    sys.stdin.readline()
update(base / "AGENT_RUN_WORKSPACES" / "knowledge.db", base, Redactor(), report, again=True)
"""


def index(base: Path) -> None:
    with open_store(database_of(base)) as store:
        for _piece in catch_up(store, base, Redactor()):
            pass


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Some sessions with reports, indexed."""
    for day in range(1, 7):
        recorded = Recorded(tmp_path, f"session_202603{day:02}_120000")
        for number in range(5):
            words = " ".join(f"word{number * each % 97}" for each in range(300))
            recorded.write_report(f"report{number}", f"# Report {number} of day {day}\n\nquokka{day} {words}")
        recorded.answer(f"The reports of day {day} are written.")
    index(tmp_path)
    return tmp_path


def test_the_content_is_the_same(base: Path) -> None:
    database = database_of(base)
    before, status = passages(database), read_status(database, base)
    progress: list[tuple[int, int]] = []
    assert update(database, base, Redactor(), lambda *it: progress.append(it), again=True) == []
    after = read_status(database, base)
    assert (after.sessions, after.passages, after.documents) == (
        status.sessions,
        status.passages,
        status.documents,
    )
    assert passages(database) == before
    assert progress == [(done, 6) for done in range(1, 7)]
    assert read_status(database, base).lagging == {}
    files = {path.name for path in database.parent.glob("knowledge*")}
    assert files <= {"knowledge.db", "knowledge.db-wal", "knowledge.db-shm"}
    # A missing file is made, and a damaged one set aside.
    for path in database.parent.glob("knowledge.db*"):
        path.unlink()
    update(database, base, Redactor(), again=True)
    assert passages(database) == before
    database.write_bytes(b"no database" * 1000)
    update(database, base, Redactor(), again=True)
    assert passages(database) == before
    assert [path.read_bytes()[:11] for path in sqlite.files_set_aside(database)] == [b"no database"]
    # Also one that is damaged behind its first page.
    data = database.read_bytes()
    database.write_bytes(data[:16_384] + b"\xa5" * (len(data) - 16_384))
    update(database, base, Redactor(), again=True)
    assert passages(database) == before
    assert len(sqlite.files_set_aside(database)) == 2


def test_a_journal_with_numbers_that_no_session_writes_and_with_secrets(base: Path) -> None:
    hostile = Recorded(base, "session_20260401_120000")
    hostile.answer("The answer that nobody wrote.")
    hostile.answer("The answer that a session wrote: Quagga-7731-zebra.")
    journal = hostile.folder / JOURNAL
    journal.write_bytes(journal.read_bytes().replace(b'"seq":3,', b'"seq":99999999999999999999,'))
    assert update(database_of(base), base, Redactor(["Quagga-7731-zebra"]), again=True) == []
    texts = [text for folder, _, text in passages(database_of(base)) if folder == hostile.folder.name]
    assert texts == ["Which animals smile?", "The answer that a session wrote: [redacted]."]
    assert b"Quagga" not in database_of(base).read_bytes()


def test_after_it_was_stopped_or_killed_the_rest_is_caught_up(base: Path) -> None:
    database = database_of(base)
    before = passages(database)

    def press(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update(database, base, Redactor(), press, again=True)
    assert 0 < len(passages(database)) < len(before)
    index(base)
    assert passages(database) == before
    command = [sys.executable, "-c", IN_STEPS, str(base)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, bufsize=1) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        while program.stdout.readline().strip() != "3":
            program.stdin.write("\n")
        program.send_signal(signal.SIGKILL)
    assert 0 < len(passages(database)) < len(before)
    index(base)
    assert passages(database) == before


def test_a_session_of_another_folder_is_not_lost_when_it_is_stopped(base: Path, tmp_path: Path) -> None:
    database = database_of(base)
    other = Recorded(tmp_path / "other", "session_20260401_120000")
    other.answer("The zebra of another folder.")
    with open_store(database) as store:
        while index_piece(store, other.folder, Redactor()):
            pass
    before = passages(database)

    def press(done: int, _total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update(database, base, Redactor(), press, again=True)
    index(base)
    assert passages(database) == before
    shutil.rmtree(other.folder)
    update(database, base, Redactor(), again=True)
    assert len(passages(database)) < len(before)
    with open_store(database) as store:
        # It is read if it comes back, as that of a disk that was not mounted.
        assert [key for key, cursor in store.cursors().items() if cursor == Cursor()] == [str(other.folder)]


def test_numbers_of_documents_are_not_used_a_second_time(base: Path) -> None:
    database = database_of(base)
    with closing(KnowledgeSearch(database, budget=60)) as search:
        number = search.search("quokka1").hits[0].id
        update(database, base, Redactor(), again=True)
        assert search.document(number) is None
        assert search.search("quokka1").hits[0].id > number


def test_the_new_file_has_no_free_space(base: Path) -> None:
    database = database_of(base)
    recorded = Recorded(base, "session_20260401_120000")
    for number in range(40):
        # Words that nothing else has: the parts of the index with them are merged.
        recorded.write_report(f"long{number}", " ".join(f"w{number}x{each}" for each in range(3_000)))
    update(database, base, Redactor(), again=True)
    with closing(open_reader(database)) as db:
        assert db.execute("PRAGMA freelist_count").fetchone() == (0,)


def test_free_space_that_another_program_keeps_is_no_failure(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = database_of(base)
    before = passages(database)
    with closing(sqlite3.connect(database, isolation_level=None)) as other:

        def write(done: int, total: int) -> None:
            if done == total:
                monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
                other.execute("BEGIN IMMEDIATE")

        assert update(database, base, Redactor(), write, again=True) == []
    assert passages(database) == before


def test_other_programs_lose_nothing(base: Path) -> None:
    """A session grows, and its program indexes it, while the file is made again."""
    database = database_of(base)
    recorded = Recorded(base, "session_20260401_120000")

    def work() -> None:
        with open_store(database) as store:
            for number in range(60):
                recorded.write_report(f"live{number}", f"# Live {number}\n\nnumbat{number} text")
                with suppress(KnowledgeError):
                    index_piece(store, recorded.folder, Redactor())
            more: bool | None = True
            while more is not False:
                try:
                    more = index_piece(store, recorded.folder, Redactor())
                except KnowledgeError:
                    # The file is another one now, which a rebuild fills.
                    return

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        update(database, base, Redactor(), again=True)
    thread.join()
    index(base)
    found = passages(database)
    assert read_status(database, base).lagging == {}
    update(database, base, Redactor(), again=True)
    assert passages(database) == found
    assert len([each for each in found if "numbat" in each[2]]) == 60


def test_what_was_forgotten_does_not_return(base: Path) -> None:
    database = database_of(base)
    assert forget(database, match="quokka3").documents == 5
    assert forget(database, session="session_20260305_120000").documents > 5
    before = passages(database)
    update(database, base, Redactor(), again=True)
    assert passages(database) == before
    database.write_bytes(b"no database" * 1000)
    update(database, base, Redactor(), again=True)
    assert passages(database) == before
    assert not [each for each in before if "quokka3" in each[2] or each[0] == "session_20260305_120000"]


def test_what_is_forgotten_or_deleted_meanwhile_does_not_return(base: Path) -> None:
    database = database_of(base)
    folder = base / "AGENT_RUN_WORKSPACES" / "session_20260304_120000"

    def progress(done: int, _total: int) -> None:
        if done == 1:
            shutil.rmtree(folder)
        if done == 5:
            forget(database, match="quokka2")

    assert update(database, base, Redactor(), progress, again=True) == []
    assert not [each for each in passages(database) if "quokka2" in each[2] or each[0] == folder.name]
    assert b"quokka2" not in database.read_bytes()
