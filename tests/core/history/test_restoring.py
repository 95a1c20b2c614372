"""Files that go back to what they were: what would change, what stays, and what a crash leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.history.kept_versions import PENDING, KeptVersions, Plan, Return, plan_return
from ua_tui.core.storage.files import Root


class Session:
    """The folder of a session, whose agent works by shell commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.root = Root(folder)
        self.versions = KeptVersions(self.root)

    def query(self, query: str, work: Callable[[Path], object]) -> None:
        """Run a query that changes the files."""
        self.versions.keep(query, "begin")
        work(self.folder)
        self.versions.keep(query, "end")

    def plan(self, query: str) -> Plan:
        """Plan to go back to the beginning of a query."""
        now, then = KeptVersions(self.root).keep("q9", "now"), self.versions.at(query)
        assert now is not None
        assert then is not None
        return plan_return(self.root, then, now, self.versions.changed_by_hand(query))

    def go_back(self, query: str) -> dict[str, str]:
        """Go back to the beginning of a query; returns what could not be changed."""
        back = Return(self.root, "name", self.plan(query).changes)
        back.prepare()
        return back.complete("q9")

    @property
    def texts(self) -> dict[str, str]:
        """The files and their texts."""
        files = (path for path in sorted(self.folder.rglob("*")) if path.is_file() and not path.is_symlink())
        names = ((path.relative_to(self.folder).as_posix(), path) for path in files)
        return {name: path.read_text() for name, path in names if not name.startswith(".versions")}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session without files."""
    return Session(tmp_path / "session_20261121_090000")


def write(**texts: str) -> Callable[[Path], object]:
    """A query that writes files; the ends of their names are left out."""

    def work(folder: Path) -> None:
        for name, text in texts.items():
            (folder / f"{name}.txt").write_text(text)

    return work


def test_files_go_back_to_what_they_were_also_those_that_no_tool_of_ours_wrote(session: Session) -> None:
    session.query("q1", write(a="1", b="1", gone="1"))
    before = session.texts

    def work(folder: Path) -> None:
        subprocess.run(
            ["/bin/sh", "-c", "echo 2 >> a.txt; rm gone.txt; mkdir -p new/deep; echo 2 > new/deep/c.txt"],
            cwd=folder, check=True,
        )  # fmt: skip

    session.query("q2", work)
    plan = session.plan("q2")

    assert (plan.of("added"), plan.of("changed"), plan.of("deleted")) == (
        ["gone.txt"],
        ["a.txt"],
        ["new/deep/c.txt"],
    )
    assert not plan.stay
    assert session.go_back("q2") == {}
    assert session.texts == before
    assert not (session.folder / "new").exists()
    assert not session.root.exists(PENDING)


def test_to_look_what_would_change_changes_nothing(session: Session) -> None:
    session.query("q1", write(a="1"))
    session.query("q2", write(a="2", b="2"))
    before = session.texts

    session.plan("q1")

    assert session.texts == before


def test_what_was_changed_by_hand_since_stays(session: Session) -> None:
    session.query("q1", write(mine="1", both="1", gone="1", agents="1"))
    session.query("q2", write(both="2", agents="2"))
    write(mine="by hand", new="by hand")(session.folder)
    (session.folder / "gone.txt").unlink()
    session.query("q3", write(both="3", agents="3"))
    write(both="by hand")(session.folder)

    plan = session.plan("q2")

    assert plan.of("changed") == ["agents.txt"]
    assert plan.staying("by_hand") == ["both.txt", "gone.txt", "mine.txt", "new.txt"]
    session.go_back("q2")
    assert session.texts == {
        "agents.txt": "1", "both.txt": "by hand", "mine.txt": "by hand", "new.txt": "by hand"
    }  # fmt: skip
    # Going back is no change by hand.
    assert session.plan("q1").of("deleted") == ["agents.txt"]


def test_links_and_what_they_lead_to_stay(session: Session, tmp_path: Path) -> None:
    other = tmp_path / "session_20261121_100000"
    other.mkdir()
    (other / "file.txt").write_text("of another session")
    (session.folder / "sub").mkdir()
    session.query("q1", write(a="1", **{"sub/b": "1"}))

    def work(folder: Path) -> None:
        (folder / "a.txt").unlink()
        (folder / "a.txt").symlink_to(other / "file.txt")
        (folder / "sub" / "b.txt").unlink()
        (folder / "sub").rmdir()
        (folder / "sub").symlink_to(other)

    session.query("q2", work)
    plan = session.plan("q2")

    assert plan.staying("in_the_way") == ["a.txt", "sub/b.txt"]
    session.go_back("q2")
    assert (session.folder / "a.txt").is_symlink()
    assert {path.name: path.read_text() for path in other.iterdir()} == {"file.txt": "of another session"}


def test_a_second_name_of_a_file_keeps_its_content(session: Session, tmp_path: Path) -> None:
    session.query("q1", write(a="1"))

    def work(folder: Path) -> None:
        (folder / "a.txt").write_text("2")
        os.link(folder / "a.txt", tmp_path / "outside.txt")

    session.query("q2", work)

    session.go_back("q2")

    assert session.texts == {"a.txt": "1"}
    assert (tmp_path / "outside.txt").read_text() == "2"


def test_renamed_folders_and_names_that_differ_only_in_case_go_back(session: Session) -> None:
    def first(folder: Path) -> None:
        (folder / "notes").mkdir()
        write(Report="1", **{"notes/a": "1", "notes/b": "1"})(folder)
        (folder / "plain").write_text("1")

    def second(folder: Path) -> None:
        (folder / "notes").rename(folder / "Notes")
        (folder / "Report.txt").rename(folder / "report.txt")
        (folder / "plain").unlink()
        (folder / "plain").mkdir()
        (folder / "plain" / "in.txt").write_text("2")

    session.query("q1", first)
    before = session.texts
    session.query("q2", second)

    assert session.go_back("q2") == {}
    assert session.texts == before


def test_a_file_above_the_limit_stays_in_both_directions(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.history.kept_versions.LARGEST_FILE", 10)
    session.query("q1", write(was_large="x" * 20, is_large="1", small="1"))
    session.query("q2", write(was_large="2", is_large="x" * 20, small="2"))

    plan = session.plan("q2")

    assert plan.of("changed") == ["small.txt"]
    assert plan.staying("not_kept") == ["is_large.txt", "was_large.txt"]


def test_a_file_that_another_program_writes_stays(session: Session) -> None:
    session.query("q1", write(a="1", b="1"))
    session.query("q2", write(a="2", b="2"))

    with (session.folder / "a.txt").open("a") as file:
        file.write("3")
        plan = session.plan("q2")

    assert plan.of("changed") == ["b.txt"]
    assert plan.staying("in_use") == ["a.txt"]


def test_what_changes_after_the_plan_was_shown_stays(session: Session) -> None:
    session.query("q1", write(a="1", b="1"))
    session.query("q2", write(a="2", b="2"))
    back = Return(session.root, "name", session.plan("q2").changes)
    back.prepare()
    (session.folder / "a.txt").write_text("later")

    failed = back.complete("q2")

    assert list(failed) == ["a.txt"]
    assert session.texts == {"a.txt": "later", "b.txt": "1"}


def test_what_the_disk_refused_is_tried_again_at_the_next_start(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.query("q1", write(a="1", b="1"))
    session.query("q2", write(a="2", b="2"))
    back = Return(session.root, "name", session.plan("q2").changes)
    back.prepare()
    with monkeypatch.context() as patched:
        write_chunks = Root.write_chunks

        def fill(root: Root, path: str, *args: Any, **options: Any) -> object:
            if path == "b.txt":
                raise WorkspaceError("cannot write 'b.txt': the disk is full")
            return write_chunks(root, path, *args, **options)

        patched.setattr(Root, "write_chunks", fill)
        assert list(back.complete("q2")) == ["b.txt"]
    assert session.texts == {"a.txt": "1", "b.txt": "2"}
    (session.folder / "a.txt").write_text("later")

    left = Return.left_by_crash(session.root)

    assert left is not None
    assert list(left.complete("q2")) == ["a.txt"]
    assert session.texts == {"a.txt": "later", "b.txt": "1"}
    assert not session.root.exists(PENDING)


def test_what_was_read_stays(session: Session) -> None:
    session.query("q1", write(a="1"))

    def work(folder: Path) -> None:
        for name in ("search_results", "tool_results"):
            (folder / name).mkdir()
            (folder / name / "news.json").write_text("{}")

    session.query("q2", work)

    assert session.plan("q2") == Plan()


def test_nothing_changes_if_a_kept_content_is_damaged(session: Session) -> None:
    session.query("q1", write(a="1", b="1"))
    session.query("q2", write(a="2"))
    (change,) = session.plan("q2").changes
    assert change.then is not None
    (session.folder / session.versions.place_of(change.then)).write_text("X")

    with pytest.raises(WorkspaceError, match="damaged"):
        Return(session.root, "name", [change]).prepare()

    assert session.texts == {"a.txt": "2", "b.txt": "1"}
    assert not session.root.exists(PENDING)


_CHILD = """
import os, sys
from pathlib import Path
from typing import Any
from ua_tui.core.storage.files import Root
from ua_tui.core.history.kept_versions import Return
back = Return.left_by_crash(Root(Path(sys.argv[1])))
left = int(sys.argv[2])

def die(frame, event, argument):
    global left
    left -= 1
    if left <= 0:
        os.kill(os.getpid(), 9)
    return die

sys.settrace(die)
back.complete("q2")
"""


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("steps", [1, 40, 150, 400, 700, 1000, 1400, 1900, 2500, 1_000_000])
def test_after_a_kill_the_change_is_completed_or_undone(session: Session, steps: int, forward: bool) -> None:
    session.query("q1", write(a="1", b="1", gone="1"))
    before = session.texts

    def work(folder: Path) -> None:
        write(a="2", new="2")(folder)
        (folder / "gone.txt").unlink()

    session.query("q2", work)
    after = session.texts
    Return(session.root, "name", session.plan("q2").changes).prepare()

    child = subprocess.run([sys.executable, "-c", _CHILD, session.folder, str(steps)], check=False)

    assert child.returncode == (-9 if steps < 1_000_000 else 0)
    session.root.sweep()
    if (left := Return.left_by_crash(session.root)) is not None:
        assert (left.complete("q2") if forward else left.undo()) == {}
        assert session.texts == (before if forward else after)
    else:
        assert session.texts == before
    assert not session.root.exists(PENDING)
