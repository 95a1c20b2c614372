from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import PathRefused, WorkspaceError
from core.storage.files import AlreadyThere, Root
from core.storage.paths import split_path
from core.text import is_unsafe
from tests.paths import PROJECT

BACKSLASH = "\\"
any_path = st.text(st.characters(exclude_categories=()), max_size=60) | st.lists(
    st.sampled_from(["a", "..", ".", "", "~", ".git", "b.txt", "c" * 201, "\u202e", BACKSLASH]), max_size=5
).map("/".join)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root", create=True)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("../x", ".."),
        ("a/../../x", ".."),
        ("/etc/x", "absolute"),
        ("C:/x", "absolute"),
        ("~/x", "~"),
        ("a\0b", "NUL"),
        (f"a{BACKSLASH}..{BACKSLASH}b", "backslash"),
        ("./a", "'.'"),
        ("a//b", "empty"),
        ("a/", "empty"),
        ("", "empty"),
        ("n" * 201, "200 bytes"),
        ("p/" * 550 + "x", "1024 bytes"),
        ("../root_evil/x", ".."),
        ("a\nb", "control"),
        ("a\x1b[2J", "control"),
        ("a\u202eb", "control"),
        ("a\ud800b", "control"),
        (".claude/settings.json", "protected"),
        (".MCP.json", "protected"),
        (".git/hooks/pre-commit", "protected"),
        ("sub/.ENV", "protected"),
        (".env.local", "protected"),
        ("Claude.MD", "protected"),
        (".vscode/tasks.json", "protected"),
        (".Idea/x", "protected"),
        ("x/.BashRC", "protected"),
        (".git./config", "protected"),
        (".git::$INDEX_ALLOCATION/x", "protected"),
        ("\uff0egit/config", "protected"),
    ],
)
def test_refused_paths_name_their_rule_and_write_nothing(root: Root, path: str, rule: str) -> None:
    before = sorted(root.path.parent.rglob("*"))
    for attempt in (
        lambda: root.write(path, b"x"),
        lambda: root.append_lines(path, [b"x"]),
        lambda: root.read(path),
        lambda: root.make_folder(path),
    ):
        with pytest.raises(PathRefused, match=rule.replace(".", r"\.")):
            attempt()
    assert sorted(root.path.parent.rglob("*")) == before
    assert root.write("next.txt", b"fine").size == 4


@given(any_path)
def test_an_accepted_path_stays_below_its_root(path: str) -> None:
    try:
        parts = split_path(path)
    except PathRefused as error:
        refusal = str(error)
    else:
        refusal = ""
    assert not is_unsafe(refusal)
    if refusal:
        return
    assert "/".join(parts) == path
    resolved = os.path.normpath(os.path.join("/root", path))
    assert resolved == f"/root/{path}"
    assert all(0 < len(part.encode()) <= 200 for part in parts)


@pytest.mark.parametrize(
    "path", ["notes.git.txt", "work_products/report.html", "a b/ü.md", "environment", "x.env"]
)
def test_ordinary_paths_are_written_privately(root: Root, path: str) -> None:
    written = root.write(path, b"data")
    assert (written.path, written.size) == (path, 4)
    assert written.sha256 == hashlib.sha256(b"data").hexdigest()
    target = root.path / path
    assert target.read_bytes() == b"data"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    for folder in target.relative_to(root.path).parents:
        assert stat.S_IMODE((root.path / folder).stat().st_mode) & 0o077 == 0


def test_links_are_never_followed(root: Root, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root.path / "ln").symlink_to(outside)
    (root.path / "f").symlink_to(outside / "secret")
    (root.path / "dangling").symlink_to(outside / "new")
    for path in ("ln/x", "ln/secret", "f", "dangling"):
        with pytest.raises(PathRefused, match="link"):
            root.write(path, b"x")
        with pytest.raises(PathRefused, match="link"):
            root.append_lines(path, [b"x"])
        assert not root.exists(path)
    for path in ("ln/secret", "f"):
        with pytest.raises(PathRefused, match="link"):
            root.read(path)
    with pytest.raises(PathRefused, match="link"):
        root.list("ln")
    assert root.list() == []
    assert [(file.name, file.read_text()) for file in outside.iterdir()] == [("secret", "secret")]


def test_a_hard_link_is_replaced_not_written_through(root: Root, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("old")
    os.link(outside, root.path / "in.txt")
    with pytest.raises(PathRefused, match="hard link"):
        root.append_lines("in.txt", [b"new"])
    root.write("in.txt", b"new")
    assert outside.read_text() == "old"
    assert root.read("in.txt") == b"new"


def test_pipes_and_folders_in_the_way_are_refused_at_once(root: Root) -> None:
    os.mkfifo(root.path / "pipe")
    (root.path / "folder").mkdir()
    for attempt in (
        lambda: root.read("pipe"),
        lambda: root.write("pipe", b"x"),
        lambda: root.append_lines("pipe", [b"x"]),
    ):
        with pytest.raises(PathRefused, match="not a regular file"):
            attempt()
    with pytest.raises(WorkspaceError, match="it is a folder"):
        root.write("folder", b"x")
    with pytest.raises(WorkspaceError, match="it is a folder"):
        root.read("folder")
    root.write("file", b"x")
    with pytest.raises(WorkspaceError, match="in the way"):
        root.write("file/below", b"x")


def test_a_folder_swapped_for_a_link_during_the_call_is_not_followed(
    root: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root.make_folder("sub")
    fsync = os.fsync

    def swap(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        (root.path / "sub").rename(root.path / "moved")
        (root.path / "sub").symlink_to(outside)

    monkeypatch.setattr(os, "fsync", swap)
    root.write("sub/file", b"x")
    assert list(outside.iterdir()) == []
    assert (root.path / "moved" / "file").read_bytes() == b"x"


def test_without_replace_the_first_file_stays(root: Root) -> None:
    root.write("a.txt", b"first", replace=False)
    with pytest.raises(AlreadyThere, match="exists already"):
        root.write("a.txt", b"second", replace=False)
    assert root.read("a.txt") == b"first"
    assert [entry.name for entry in root.list()] == ["a.txt"]


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_without_replace_works_where_hard_links_do_not(
    root: Root, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    root.write("a.txt", b"first", replace=False)
    with pytest.raises(AlreadyThere):
        root.write("a.txt", b"second", replace=False)
    assert root.read("a.txt") == b"first"
    assert os.listdir(root.path) == ["a.txt"]


def test_write_new_counts_on_and_loses_nothing(root: Root) -> None:
    names: list[str] = []

    def save(number: int) -> None:
        names.append(root.write_new("out/report.v1.html", str(number).encode()).path)

    threads = [threading.Thread(target=save, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names) == sorted(
        ["out/report.v1.html", *(f"out/report.v1-{number}.html" for number in range(2, 9))]
    )
    assert {root.read(name) for name in names} == {str(number).encode() for number in range(8)}
    assert root.write_new("plain", b"").path == "plain"
    assert root.write_new("plain", b"").path == "plain-2"


def test_short_writes_are_continued(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    root.write("a.bin", bytes(range(50)))
    assert root.read("a.bin") == bytes(range(50))


def fail_with(number: int, after: int = 0) -> object:
    write, calls = os.write, 0

    def failing(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(number, os.strerror(number))
        return write(descriptor, bytes(data[:5]))

    return failing


def test_a_full_disk_leaves_the_old_file_and_no_remains(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root.write("a.txt", b"old contents")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail_with(errno.ENOSPC, after=1))
        with pytest.raises(WorkspaceError, match="free some space") as caught:
            root.write("a.txt", b"new contents")
    assert isinstance(caught.value.__cause__, OSError)
    assert root.read("a.txt") == b"old contents"
    assert os.listdir(root.path) == ["a.txt"]
    root.write("a.txt", b"new contents")
    assert root.read("a.txt") == b"new contents"


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EACCES, "permissions"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EMFILE, "ulimit"),
        (errno.ETXTBSY, "try again"),
    ],
)
def test_failures_say_what_to_do(
    root: Root, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail_with(number))
        with pytest.raises(WorkspaceError, match=f"cannot write 'a.txt': .*{advice}"):
            root.write("a.txt", b"x")
    assert os.listdir(root.path) == []


def test_a_short_append_is_undone(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root.append_lines("l.jsonl", [b'{"a":1}'])
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
        with pytest.raises(WorkspaceError, match="free some space"):
            root.append_lines("l.jsonl", [b'{"b":2}'])
    root.append_lines("l.jsonl", [b'{"c":3}\n'])
    assert root.read("l.jsonl") == b'{"a":1}\n{"c":3}\n'


def test_a_torn_line_does_not_swallow_the_next(root: Root) -> None:
    root.write("l.jsonl", b'{"a":1}\n{"torn')
    root.append_lines("l.jsonl", [b'{"b":2}'])
    assert root.read("l.jsonl").splitlines() == [b'{"a":1}', b'{"torn', b'{"b":2}']


def test_many_lines_are_appended_in_one_write(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root.write("l.txt", b"torn")
    written: list[int] = []
    write = os.write

    def counted(descriptor: int, data: bytes) -> int:
        written.append(len(data))
        return write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", counted)
        root.append_lines("l.txt", (f"line {number}".encode() for number in range(1_000)))
    root.append_lines("l.txt", [b"with its break\n", b"", b"last"])
    assert len(written) == 1
    lines = root.read("l.txt").decode().split("\n")
    assert lines == ["torn", *(f"line {number}" for number in range(1_000)), "with its break", "", "last", ""]


def test_lines_are_appended_all_or_none(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root.append_lines("l.txt", [b"first"])
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:5])))
        with pytest.raises(WorkspaceError, match="free some space"):
            root.append_lines("l.txt", [b"abc", b"def"])
    assert root.read("l.txt") == b"first\n"


@pytest.mark.parametrize("bad", [b"a\nb", b"a\n\n", b"\n\n"])
def test_a_line_with_a_break_inside_is_not_appended(root: Root, bad: bytes) -> None:
    with pytest.raises(ValueError, match="line break"):
        root.append_lines("l.jsonl", [bad])
    with pytest.raises(ValueError, match="line break"):
        root.append_lines("l.jsonl", [b"good", bad])
    root.append_lines("l.jsonl", [])
    assert not root.exists("l.jsonl")


APPENDER = """
import sys
from pathlib import Path
from core.storage.files import Root
root = Root(Path(sys.argv[1]))
for number in range(50):
    root.append_lines("lines.txt", [f"{sys.argv[2]}-{number}-".encode() + b"x" * 5000])
"""


def test_lines_of_several_processes_stay_whole(root: Root) -> None:
    project = PROJECT
    children = [
        subprocess.Popen([sys.executable, "-c", APPENDER, str(root.path), name], cwd=project)
        for name in "abc"
    ]
    assert [child.wait() for child in children] == [0, 0, 0]
    lines = root.read("lines.txt").decode().splitlines()
    assert sorted(lines) == sorted(f"{name}-{number}-" + "x" * 5000 for name in "abc" for number in range(50))


def test_reading_stops_at_its_limit(root: Root) -> None:
    root.write("a.txt", b"0123456789")
    assert root.read("a.txt", 4) == b"0123"
    assert root.read("a.txt", 100) == b"0123456789"
    assert root.size("a.txt") == 10


def test_listing_and_looking(root: Root) -> None:
    root.write("b/file.txt", b"12345")
    root.write("a.txt", b"1")
    listed = root.list()
    assert [(entry.name, entry.is_dir) for entry in listed] == [("a.txt", False), ("b", True)]
    assert listed[0].size == 1
    assert [entry.name for entry in root.list("b/")] == ["file.txt"]
    assert [entry.name for entry in root.list(".")] == ["a.txt", "b"]
    assert root.exists("b")
    assert root.exists("b/file.txt")
    assert not root.exists("b/none")
    assert not root.exists("none/none")
    with pytest.raises(WorkspaceError, match="check that it exists"):
        root.list("none")
    with pytest.raises(WorkspaceError, match="check that it exists"):
        root.read("none/none")


def test_a_missing_or_unusable_root_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="check that it exists"):
        Root(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match=r"in the way|already there"):
        Root(tmp_path / "file", create=True)


def test_sweep_removes_what_dead_processes_left(root: Root) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    root.make_folder("sub")
    orphan = root.path / "sub" / f".{child.pid}-abc.ua-tmp"
    alive = root.path / f".{os.getpid()}-abc.ua-tmp"
    other = root.path / "sub" / "notes.tmp"
    for file in (orphan, alive, other):
        file.write_text("x")
    assert root.sweep() == 1
    assert not orphan.exists()
    assert alive.exists()
    assert other.exists()
    assert root.list() == [entry for entry in root.list() if entry.name == "sub"]
