"""The kept versions: what the files of a session were when its queries began and ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.history.kept_versions import KeptVersions, When, files_at
from ua_tui.core.storage.files import Root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a session."""
    folder = tmp_path / "session_20261121_090000"
    (folder / "work_products").mkdir(parents=True)
    (folder / "journal.jsonl").write_text("{}\n")
    return folder


def text_at(folder: Path, query: str, path: str, when: When = "begin") -> str:
    """The kept text of a file."""
    files = files_at(folder, query, when)
    assert files is not None
    return b"".join(KeptVersions(Root(folder)).content(files[path])).decode()


def test_files_changed_by_anybody_are_kept_as_they_were(folder: Path) -> None:
    versions = KeptVersions(Root(folder))
    versions.keep("q1", "begin")
    (folder / "by_shell.sh").write_text("echo 1")
    (folder / "by_shell.sh").chmod(0o755)
    (folder / "work_products" / "report.md").write_text("first")
    versions.keep("q1", "end")
    (folder / "work_products" / "report.md").write_text("other")
    (folder / "by_shell.sh").unlink()
    # Another program continues the session.
    KeptVersions(Root(folder)).keep("q2", "begin")

    assert files_at(folder, "q1") == {}
    assert sorted(files_at(folder, "q2") or ()) == ["work_products/report.md"]
    assert text_at(folder, "q1", "work_products/report.md", "end") == "first"
    assert text_at(folder, "q2", "work_products/report.md") == "other"
    ended = files_at(folder, "q1", "end")
    assert ended is not None
    assert ended["by_shell.sh"].mode == 0o755
    assert files_at(folder, "q3") is None
    kept = KeptVersions(Root(folder)).versions("work_products/report.md")
    assert [file.size for _at, file in kept] == [5, 5]


def test_a_change_of_the_same_size_in_the_same_moment_is_noticed(folder: Path) -> None:
    versions = KeptVersions(Root(folder))
    (folder / "a.txt").write_text("one")
    status = (folder / "a.txt").stat()
    versions.keep("q1", "begin")
    (folder / "a.txt").write_text("two")
    os.utime(folder / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    versions.keep("q2", "begin")

    assert text_at(folder, "q1", "a.txt") == "one"
    assert text_at(folder, "q2", "a.txt") == "two"


def test_a_kept_version_stays_when_the_file_is_written_in_place(folder: Path) -> None:
    (folder / "a.txt").write_text("before")
    KeptVersions(Root(folder)).keep("q1", "begin")
    with (folder / "a.txt").open("r+") as file:
        file.write("AFTER!")

    assert text_at(folder, "q1", "a.txt") == "before"
    for kept in (folder / ".versions" / "objects").rglob("*"):
        assert kept.stat().st_mode & 0o077 == 0
        assert kept.is_dir() or kept.stat().st_nlink == 1


def test_links_records_results_and_protected_names_are_left_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref")
    (folder / "tool_results").mkdir()
    (folder / "tool_results" / "toolu_1.json").write_text("{}")
    os.mkfifo(folder / "pipe")
    (folder / "Report.md").write_text("one")
    (folder / "report.md").write_text("two")

    files = KeptVersions(Root(folder)).keep("q1", "begin")

    assert sorted(files or ()) == ["Report.md", "report.md"]


def test_a_large_file_is_known_but_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ua_tui.core.history.kept_versions.LARGEST_FILE", 10)
    monkeypatch.setattr("ua_tui.core.history.kept_versions.LARGEST_STORE", 12)
    (folder / "large.bin").write_bytes(b"x" * 11)
    versions = KeptVersions(Root(folder))
    (folder / "a").write_bytes(b"a" * 8)
    versions.keep("q1", "begin")
    (folder / "b").write_bytes(b"b" * 8)

    files = versions.keep("q1", "end")

    assert files is not None
    assert {path: file.kept for path, file in files.items()} == {"large.bin": False, "a": True, "b": False}
    assert files["b"].sha256
    assert not files["large.bin"].sha256
    assert not versions.has(files["b"])


def test_of_a_folder_with_too_many_files_nothing_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ua_tui.core.history.kept_versions.MOST_FILES", 3)
    versions = KeptVersions(Root(folder))
    (folder / "a").touch()
    versions.keep("q1", "begin")
    for number in range(4):
        (folder / f"more{number}").touch()
    assert versions.keep("q1", "end") is None
    (folder / "more3").unlink()
    (folder / "more2").unlink()
    versions.keep("q2", "begin")

    assert files_at(folder, "q1", "end") is None
    assert sorted(files_at(folder, "q1") or ()) == ["a"]
    assert sorted(files_at(folder, "q2") or ()) == ["a", "more0", "more1"]


@pytest.mark.parametrize("cut", [2, 40, 120])
def test_behind_a_damaged_line_everything_is_written_again(folder: Path, cut: int) -> None:
    versions = KeptVersions(Root(folder))
    for number in range(1, 4):
        (folder / f"file{number}").write_text(str(number))
        versions.keep(f"q{number}", "begin")
    index = folder / ".versions" / "index.jsonl"
    lines = index.read_bytes().splitlines(keepends=True)
    index.write_bytes(lines[0] + lines[1][:-cut] + b"\n" + lines[2])

    KeptVersions(Root(folder)).keep("q4", "begin")

    assert sorted(files_at(folder, "q1") or ()) == ["file1"]
    assert files_at(folder, "q2") is None
    assert files_at(folder, "q3") is None
    assert sorted(files_at(folder, "q4") or ()) == ["file1", "file2", "file3"]


def test_lines_that_nobody_can_have_written_are_damaged(folder: Path) -> None:
    versions = KeptVersions(Root(folder))
    (folder / "a.txt").write_text("a")
    versions.keep("q1", "begin")
    index = folder / ".versions" / "index.jsonl"
    first = index.read_text()
    outside = '["../../../../secret",6,384,true,[]]'
    strange = (
        f'{{"x":{"[" * 200_000}{"]" * 200_000}}}',
        '{"number":2,"at":"2026-03-10T12:00:00","query":"q2","when":"begin"}',
        f'{{"number":2,"at":"2026-03-10T12:00:00Z","query":"q2","when":"begin","files":{{"a.txt":{outside}}}}}',
    )
    for line in strange:
        index.write_text(f"{first}{line}\n")
        versions = KeptVersions(Root(folder))
        versions.keep("q3", "begin")

        assert files_at(folder, "q2") is None
        assert sorted(files_at(folder, "q3") or ()) == ["a.txt"]
        assert [file.size for _at, file in versions.versions("a.txt")] == [1, 1]
        assert len(list(versions.lines_until(None))) == 2


def test_a_damaged_content_is_refused(folder: Path) -> None:
    (folder / "a.txt").write_text("before")
    versions = KeptVersions(Root(folder))
    files = versions.keep("q1", "begin")
    assert files is not None
    (folder / versions.place_of(files["a.txt"])).write_text("bef0re")

    with pytest.raises(WorkspaceError, match="damaged"):
        versions.sync([files["a.txt"]])


def test_a_file_that_may_not_be_read_keeps_nothing_else_from_being_kept(folder: Path) -> None:
    (folder / "a.txt").write_text("a")
    (folder / "closed.txt").write_text("b")
    (folder / "closed.txt").chmod(0)

    files = KeptVersions(Root(folder)).keep("q1", "begin")

    assert files is not None
    assert files["a.txt"].kept
    # Root may read everything.
    assert files["closed.txt"].kept == (os.geteuid() == 0)
