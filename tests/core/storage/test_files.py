from __future__ import annotations

import errno
import hashlib
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import PROJECT
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.storage.files import AlreadyThere, Root
from ua_tui.core.storage.paths import split_path
from ua_tui.core.text import is_unsafe

BACKSLASH = "\\"
any_path = st.text(st.characters(exclude_categories=()), max_size=60) | st.lists(
    st.sampled_from(["a", "..", ".", "", "~", ".git", "b.txt", "c" * 201, "\u202e", BACKSLASH]), max_size=5
).map("/".join)


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root", create=True)


REFUSED = {
    "..": ["../x", "a/../../x", "../root_evil/x"], "absolute": ["/etc/x", "C:/x"], "~": ["~/x"], "NUL": ["a\0b"],
    "backslash": [f"a{BACKSLASH}..{BACKSLASH}b"], "'.'": ["./a"], "empty": ["a//b", "a/", ""], "200 bytes": ["n" * 201],
    "1024 bytes": ["p/" * 550 + "x"], "control": ["a\nb", "a\x1b[2J", "a\u202eb", "a\ud800b"],
    "protected": [
        ".claude/settings.json", ".MCP.json", ".git/hooks/pre-commit", "sub/.ENV", ".env.local", "Claude.MD",
        ".vscode/tasks.json", ".Idea/x", "x/.BashRC", ".git./config", ".git::$INDEX_ALLOCATION/x", "\uff0egit/config",
    ],
}  # fmt: skip


@pytest.mark.parametrize("rule", REFUSED)
def test_refused_paths_name_their_rule_and_write_nothing(root: Root, rule: str) -> None:
    before = sorted(root.path.parent.rglob("*"))
    for path in REFUSED[rule]:
        for attempt in (
            lambda path: root.write(path, b"x"),
            lambda path: root.append_lines(path, [b"x"]),
            root.read,
            root.make_folder,
        ):
            with pytest.raises(PathRefused, match=rule.replace(".", r"\.")):
                attempt(path)
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


def test_ordinary_paths_are_written_privately(root: Root) -> None:
    for path in ("notes.git.txt", "work_products/report.html", "a b/ü.md", "environment", "x.env"):
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
        root.read,
        lambda path: root.write(path, b"x"),
        lambda path: root.append_lines(path, [b"x"]),
    ):
        with pytest.raises(PathRefused, match="not a regular file"):
            attempt("pipe")
    for attempt in (root.read, lambda path: root.write(path, b"x")):
        with pytest.raises(WorkspaceError, match="Is a directory"):
            attempt("folder")
    root.write("file", b"x")
    with pytest.raises(WorkspaceError, match="where a folder should be"):
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


@pytest.mark.parametrize("number", [0, errno.EPERM, errno.EOPNOTSUPP])
def test_without_replace_the_first_file_stays_also_where_there_are_no_hard_links(
    root: Root, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    if number:
        monkeypatch.setattr(os, "link", refuse)
    root.write("a.txt", b"first", replace=False)
    with pytest.raises(AlreadyThere, match="already exists"):
        root.write("a.txt", b"second", replace=False)
    assert root.read("a.txt") == b"first"
    assert os.listdir(root.path) == ["a.txt"]


def test_write_new_counts_on_and_loses_nothing(root: Root) -> None:
    def save(number: int) -> str:
        return root.write_new("out/report.v1.html", str(number).encode()).path

    with ThreadPoolExecutor(8) as threads:
        names = [*threads.map(save, range(8))]
    assert {*names} == {"out/report.v1.html", *(f"out/report.v1-{number}.html" for number in range(2, 9))}
    assert {root.read(name) for name in names} == {str(number).encode() for number in range(8)}
    assert [root.write_new("plain", b"").path for _ in range(2)] == ["plain", "plain-2"]
    (root.path / "link").symlink_to("out")
    with pytest.raises(PathRefused, match="symbolic link"):
        root.write_new("link/a", b"")


def test_of_files_of_one_name_only_those_of_its_size_are_compared(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, open_file = [], root.opened

    def counted(name: str) -> Any:
        opened.append(name)
        return open_file(name)

    monkeypatch.setattr(root, "opened", counted)
    written = [root.write_new("a", content, once=True) for content in (b"large", b"one", b"two", b"two")]
    assert [(each.path, each.size, each.is_new) for each in written] == [
        ("a", 5, True), ("a-2", 3, True), ("a-3", 3, True), ("a-3", 3, False),
    ]  # fmt: skip
    assert opened == ["a-2", "a-2", "a-3"]


@pytest.fixture
def short_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write takes three bytes."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))


@pytest.mark.usefixtures("short_writes")
def test_short_writes_continue_and_short_appends_do_not(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    root.write("a.bin", bytes(range(50)))
    assert root.read("a.bin") == bytes(range(50))
    for lines in ([b'{"b":2}'], [b"abc", b"def"]):
        root.write("l.jsonl", b'{"a":1}\n')
        with pytest.raises(WorkspaceError, match="free some space"):
            root.append_lines("l.jsonl", lines)
        assert root.read("l.jsonl") == b'{"a":1}\n'
    monkeypatch.undo()
    # A torn line does not swallow the next.
    root.write("l.jsonl", b'{"a":1}\n{"torn')
    root.append_lines("l.jsonl", [b'{"c":3}\n'])
    assert root.read("l.jsonl") == b'{"a":1}\n{"torn\n{"c":3}\n'


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


def test_failures_say_what_to_do(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, advice in (
        (errno.EACCES, "permissions"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "Read-only"),
        (errno.EMFILE, "ulimit"),
        (errno.ETXTBSY, "try again"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", fail_with(number))
            with pytest.raises(WorkspaceError, match=f"cannot write 'a.txt': .*{advice}"):
                root.write("a.txt", b"x")
        assert os.listdir(root.path) == []


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


def test_a_line_with_a_break_inside_is_not_appended(root: Root) -> None:
    for bad in (b"a\nb", b"a\n\n", b"\n\n"):
        for lines in ([bad], [b"good", bad]):
            with pytest.raises(ValueError, match="line break"):
                root.append_lines("l.jsonl", lines)
    root.append_lines("l.jsonl", [])
    assert not root.exists("l.jsonl")


APPENDER = """
import sys
from pathlib import Path
from ua_tui.core.storage.files import Root
root = Root(Path(sys.argv[1]))
for number in range(50):
    root.append_lines("lines.txt", [f"{sys.argv[2]}-{number}-".encode() + b"x" * 5000])
"""


def test_lines_of_several_processes_stay_whole(root: Root) -> None:
    command = [sys.executable, "-c", APPENDER, str(root.path)]
    children = [subprocess.Popen([*command, name], cwd=PROJECT) for name in "abc"]
    assert [child.wait() for child in children] == [0, 0, 0]
    lines = root.read("lines.txt").decode().splitlines()
    assert sorted(lines) == sorted(f"{name}-{number}-" + "x" * 5000 for name in "abc" for number in range(50))


def test_listing_and_looking(root: Root, tmp_path: Path) -> None:
    root.write("b/file.txt", b"12345")
    root.write("a.txt", b"1")
    listed = root.list()
    assert [(entry.name, entry.is_dir) for entry in listed] == [("a.txt", False), ("b", True)]
    assert listed[0].size == 1
    assert [entry.name for entry in root.list("b/")] == ["file.txt"]
    assert [entry.name for entry in root.list(".")] == ["a.txt", "b"]
    there = [path for path in ("b", "b/file.txt", "b/none", "none/none") if root.exists(path)]
    assert there == ["b", "b/file.txt"]
    assert (root.read("b/file.txt", 4), root.read("b/file.txt", 100)) == (b"1234", b"12345")
    assert root.size("b/file.txt") == 5
    for attempt in (root.list, root.read, lambda path: Root(tmp_path / path)):
        with pytest.raises(WorkspaceError, match="check that it exists"):
            attempt("none")
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match=r"where a folder should be|File exists"):
        Root(tmp_path / "file", create=True)


def test_sweep_removes_what_dead_processes_left(root: Root) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    root.make_folder("sub")
    orphan = root.path / "sub" / f".{child.pid}-abc.ua-tmp"
    others = [root.path / f".{os.getpid()}-abc.ua-tmp", root.path / "sub" / "notes.tmp"]
    for file in (orphan, *others):
        file.write_text("x")
    assert root.sweep() == 1
    assert not orphan.exists()
    assert all(file.exists() for file in others)
    assert [entry.name for entry in root.list()] == ["sub"]
