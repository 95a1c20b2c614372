from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from tests.paths import PROJECT
from ua_tui.core.errors import PathRefused, WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import FOLDERS, Workspace
from ua_tui.core.text import is_unsafe

CASES = cases_of(__file__)

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
CANARY = "canary-8c1f-QzX27"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path, NOW, Redactor([CANARY]))


def test_a_session_has_a_private_folder_with_its_folders(workspace: Workspace, tmp_path: Path) -> None:
    assert workspace.path == tmp_path / "AGENT_RUN_WORKSPACES" / "session_20260304_050607"
    assert workspace.session_id == "session_20260304_050607"
    for folder in ("", *FOLDERS):
        assert stat.S_IMODE((workspace.path / folder).stat().st_mode) == 0o700
    assert not (tmp_path / "SAVED_REPORTS").exists()
    workspace.saved_reports.write("a.html", b"x")
    assert (tmp_path / "SAVED_REPORTS" / "a.html").read_bytes() == b"x"


def test_sessions_of_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: Workspace.create(tmp_path, NOW), range(8)))
    base = "session_20260304_050607"
    assert {one.session_id for one in made} == {base, *(f"{base}-{number}" for number in range(2, 9))}
    assert all(one.locked for one in made)


def test_the_lock_lasts_until_close(workspace: Workspace, tmp_path: Path) -> None:
    second = Workspace.open(workspace.path)
    assert not second.locked
    assert second.saved_reports.path == tmp_path / "SAVED_REPORTS"
    workspace.close()
    workspace.close()
    third = Workspace.open(workspace.path)
    assert third.locked
    third.close()


def begun(workspace: Workspace) -> Path:
    """The folder as it is when nothing was asked."""
    workspace.unused = True
    for name in ("journal.jsonl", "run.log", "spans.jsonl", "summary.txt", ".owner"):
        (workspace.path / name).write_text("x")
    return workspace.path


def test_an_unused_session_leaves_no_folder_and_any_other_does(workspace: Workspace, tmp_path: Path) -> None:
    folder = begun(workspace)
    workspace.unused = False
    workspace.close()
    assert folder.exists()
    again = Workspace.claim(folder)
    again.unused = True
    again.close()
    assert not folder.exists()
    assert list(folder.parent.iterdir()) == []


def replace_folder(folder: Path, other: Path) -> None:
    (folder / "downloads").rmdir()
    (folder / "downloads").symlink_to(other)


def move_journal(folder: Path, other: Path) -> None:
    moved = (folder / "journal.jsonl").rename(other / "journal.jsonl")
    (folder / "journal.jsonl").symlink_to(moved)


ADDED: dict[str, Callable[[Path, Path], object]] = {
    "a title": lambda folder, _: (folder / "title.txt").write_text("Mine"),
    "a queue": lambda folder, _: (folder / "queue.json").write_text("{}"),
    "a file in one of its folders": lambda folder, _: (folder / "work_products/media/a.md").write_text("a"),
    "a folder": lambda folder, _: (folder / "mine").mkdir(),
    "a folder in one of its folders": lambda folder, _: (folder / "downloads" / "mine").mkdir(),
    "a link in place of one of its folders": replace_folder,
    "a link in place of its journal": move_journal,
}


@pytest.mark.parametrize("add", ADDED.values(), ids=ADDED)
def test_an_unused_session_with_anything_of_others_keeps_every_file(
    workspace: Workspace, tmp_path: Path, add: Callable[[Path, Path], object]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    folder = begun(workspace)
    add(folder, other)
    kept = {path for path in folder.rglob("*") if not path.is_dir() or path.name == "mine"}
    workspace.close()
    assert {path for path in folder.rglob("*") if not path.is_dir() or path.name == "mine"} == kept
    assert not workspace.locked


def test_nobody_gets_the_lock_of_a_folder_that_is_being_removed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, locked = shutil.rmtree, list[bool]()

    def watched(path: Path, **given: Any) -> None:
        locked.append(not Workspace.open(path).locked)
        remove(path, **given)

    monkeypatch.setattr(shutil, "rmtree", watched)
    workspace.discard()
    assert locked == [True]
    assert not workspace.path.exists()
    assert not workspace.locked


def test_links_are_followed_only_where_the_user_named_the_folder(tmp_path: Path) -> None:
    named, elsewhere = tmp_path / "named", tmp_path / "elsewhere"
    named.mkdir()
    elsewhere.mkdir()
    (named / "SAVED_REPORTS").symlink_to(elsewhere)
    first = Workspace.create(named, NOW)
    assert first.saved_reports.path == elsewhere
    first.close()
    resumed = Workspace.resume(first.path, base=named)
    assert resumed.saved_reports.path == elsewhere
    resumed.close()
    with pytest.raises(PathRefused, match="is a link"):
        _ = Workspace.resume(first.path, base=tmp_path).saved_reports


def test_the_lock_of_a_process_that_died_is_free(tmp_path: Path) -> None:
    code = (
        "import sys; from datetime import datetime, UTC; from pathlib import Path;"
        "from ua_tui.core.storage.workspace import Workspace;"
        "w = Workspace.create(Path(sys.argv[1]), datetime.now(UTC)); print(w.path, flush=True)"
    )
    path = Path(
        subprocess.check_output([sys.executable, "-c", code, tmp_path], cwd=PROJECT, text=True).strip()
    )
    leftover = path / "search_results" / ".999999999-x.ua-tmp"
    leftover.write_text("half")
    again = Workspace.open(path)
    assert again.locked
    assert not leftover.exists()
    again.close()


def test_any_folder_can_be_opened_and_is_made_when_missing(tmp_path: Path) -> None:
    opened = Workspace.open(tmp_path / "new" / "place")
    assert opened.session_id == "place"
    opened.write("search_results/a.txt", "x")
    opened.saved_reports.write("r.html", b"x")
    assert sorted(file.name for file in opened.path.rglob("*.*")) == ["a.txt", "r.html"]
    opened.close()


def test_unusable_places_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "AGENT_RUN_WORKSPACES").write_text("a file")
    with pytest.raises(WorkspaceError, match="AGENT_RUN_WORKSPACES"):
        Workspace.create(tmp_path, NOW)
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match="file"):
        Workspace.open(tmp_path / "file")


def test_text_is_redacted_and_bytes_are_not_touched(workspace: Workspace) -> None:
    workspace.write("a.txt", f"key {CANARY}\ud800 \ud83d\ude42")
    assert workspace.read("a.txt").decode() == "key [redacted]\ufffd 🙂"
    workspace.write("a.bin", b"\x00\xff")
    assert workspace.read("a.bin") == b"\x00\xff"
    for write in (workspace.write, workspace.write_json, workspace.write_json_artifact):
        with pytest.raises(PathRefused):
            write(".env", "x")


class Row(msgspec.Struct):
    title: str
    at: datetime
    where: Path


def read_strictly(workspace: Workspace, path: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = workspace.read(path).decode("utf-8")
    assert not is_unsafe(text)
    return json.loads(text, parse_constant=refuse)


def test_json_is_strict_exact_redacted_and_harmless_to_show(workspace: Workspace) -> None:
    value = {
        "nan": float("nan"),
        "inf": [float("inf"), -float("inf")],
        "id": 12345678901234567890123,
        "escape": "\x1b[2J \u202e \x9b \U000e0041 \ud800",
        "api_key": ["short"],
        "text": f"token {CANARY}",
        "row": Row("漢字 \u200b", NOW, Path("a/b")),
        1: (True, None),
    }
    workspace.write_json("a.json", value)
    assert read_strictly(workspace, "a.json") == CASES["json_is_strict_exact_redacted_and_harmless_to_show"]
    assert workspace.read("a.json").startswith(b'{\n  "nan": null,')


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)


@given(json_values)
def test_any_json_value_is_written_strictly(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    opened = Workspace.open(tmp_path_factory.getbasetemp() / "any-json")
    opened.write_json("a.json", value)
    read_strictly(opened, "a.json")


def test_json_written_member_by_member_is_what_write_json_writes(workspace: Workspace) -> None:
    items = [{"id": 1, "text": f"\x1b {CANARY}"}, {"id": 2, "password": "short", "deep": [[1, {}], []]}]
    value = {"none": None, CANARY: "x", "items": items, "empty": [], "last": {"a": [1, "\u202e\n"]}}
    workspace.write_json("whole.json", value)
    written = workspace.write_json_members("members.json", value | {"items": iter(items), "empty": iter(())})
    assert workspace.read("members.json") == workspace.read("whole.json")
    assert CANARY.encode() not in workspace.read("members.json")
    assert written.size == len(workspace.read("members.json"))


def test_a_text_of_many_parts_is_redacted_and_written_whole_or_not_at_all(workspace: Workspace) -> None:
    long = "word " * 100
    parts = [f"{number} {CANARY} {long}\n" for number in range(300)]
    workspace.write_parts("a.md", iter(parts))
    assert workspace.read("a.md").decode() == "".join(
        f"{number} [redacted] {long}\n" for number in range(300)
    )

    def failing() -> Iterator[str]:
        yield from parts
        raise ValueError("no more parts")

    with pytest.raises(ValueError, match="no more parts"):
        workspace.write_parts("a.md", failing())
    assert workspace.read("a.md").startswith(b"0 [redacted]")


def test_what_has_no_json_form_leaves_the_old_file(workspace: Workspace) -> None:
    workspace.write_json("a.json", {"old": 1})
    loop: list[Any] = []
    loop.append(loop)
    for value in (object(), loop, {(1, 2): 3}):
        with pytest.raises(WorkspaceError, match=r"'a\.json' as JSON"):
            workspace.write_json("a.json", value)
    assert read_strictly(workspace, "a.json") == {"old": 1}
