"""One small JSON file that several programs read and change."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.paths import PROJECT
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.json_store import Damaged, JsonStore


def store(folder: Path, *, set_aside: bool = False) -> JsonStore[dict[str, int]]:
    return JsonStore(folder / "numbers.json", dict[str, int], set_aside=set_aside)


def test_what_is_stored_is_read_by_others_and_is_private(tmp_path: Path) -> None:
    mine, theirs = store(tmp_path / "state"), store(tmp_path / "state")
    assert mine.read() == {}
    assert not (tmp_path / "state").exists()
    with mine.changed() as numbers:
        numbers["a"] = 1
    assert theirs.read() == {"a": 1}
    assert mine.path.stat().st_mode & 0o777 == 0o600
    theirs.replace({"b": 2})
    assert mine.read() == {"b": 2}
    assert mine.read() is mine.read()


def test_a_change_that_fails_or_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    numbers = store(tmp_path)
    with numbers.changed():
        pass
    with suppress(KeyError), numbers.changed() as value:
        value["a"] = 1
        raise KeyError
    assert not numbers.path.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": "x"}', b"\xff", b'{"a": ' + b"[" * 100_000])
def test_a_damaged_file_is_kept_or_set_aside(tmp_path: Path, content: bytes) -> None:
    numbers, renewed = store(tmp_path), store(tmp_path, set_aside=True)
    numbers.path.write_bytes(content)
    with pytest.raises(Damaged, match="correct it or move it elsewhere"):
        numbers.read()
    with pytest.raises(Damaged), numbers.changed():
        pass
    assert numbers.path.read_bytes() == content
    assert renewed.read() == {}
    (aside,) = tmp_path.glob("numbers.json.corrupt-*")
    assert aside.read_bytes() == content
    assert aside.name in renewed.problem


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_never_followed(tmp_path: Path, kind: str) -> None:
    numbers, outside = store(tmp_path, set_aside=True), tmp_path / "outside.json"
    outside.write_text('{"theirs": 1}')
    match kind:
        case "link":
            numbers.path.symlink_to(outside)
        case "pipe":
            os.mkfifo(numbers.path)
        case _:
            numbers.path.mkdir()
    with numbers.changed() as value:
        value["mine"] = 1
    assert numbers.read() == {"mine": 1}
    assert outside.read_text() == '{"theirs": 1}'


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "numbers.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceError, match="cannot lock"):
        store(tmp_path).replace({})
    assert not (tmp_path / "elsewhere").exists()


COUNTER = """
import sys
from pathlib import Path
from ua_tui.core.storage.json_store import JsonStore
numbers = JsonStore(Path(sys.argv[1]), dict[str, int])
for _ in range(25):
    with numbers.changed() as value:
        value["count"] = value.get("count", 0) + 1
"""


def test_programs_and_threads_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    numbers = store(tmp_path)

    def count() -> None:
        for _ in range(25):
            with numbers.changed() as value:
                value["count"] = value.get("count", 0) + 1

    children = [
        subprocess.Popen([sys.executable, "-c", COUNTER, str(numbers.path)], cwd=PROJECT) for _ in range(2)
    ]
    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [child.wait() for child in children] == [0, 0]
    assert numbers.read() == {"count": 100}


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = store(tmp_path, set_aside=True)
    numbers.replace({"a": 1})
    monkeypatch.setattr("ua_tui.core.storage.json_store._LARGEST", 100)
    with pytest.raises(WorkspaceError, match="would be larger"), numbers.changed() as value:
        value["b" * 100] = 2
    assert store(tmp_path, set_aside=True).read() == {"a": 1}
    assert [each.name for each in tmp_path.iterdir() if "corrupt" in each.name] == []
