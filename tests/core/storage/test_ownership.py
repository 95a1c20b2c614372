"""Sessions and queues that somebody else made, or changed, are not the user's own."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.fixture_types import Patch
from ua_tui.core.errors import SettingsError, WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import check_session, is_own_session, is_sealed, seal, seal_session
from ua_tui.core.storage.queue_file import QUEUE_FILE, read_queue, write_queue
from ua_tui.core.storage.workspace import JOURNAL, OWNER

FIRST = b'{"event": "session_started", "session_id": "s"}\n'
QUERIES = (
    "one",
    "two\nlines",
    "three \u202e \x1b[2J",
    "half a character \ud800",
    'password: "hunter2-hunter2"',
)
Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "ua-tui"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path / "sessions" / "session_1", FIRST)


def made(folder: Path, first: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / JOURNAL).write_bytes(first + b'{"event": "query_received"}\n')
    seal_session(Root(folder))
    write_queue(Root(folder), QUERIES, Redactor())
    return folder


def from_another(folder: Path) -> None:
    other = made(folder.parent / "session_2", FIRST.replace(b'"s"', b'"t"'))
    shutil.copy(other / OWNER, folder / OWNER)


def by_another_user(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "other"))
        seal_session(Root(folder))


def unpacked_over(folder: Path) -> None:
    (folder / JOURNAL).write_bytes(FIRST.replace(b'"s"', b'"forged"'))


def as_a_link(folder: Path) -> None:
    (folder / OWNER).rename(folder / "real")
    (folder / OWNER).symlink_to("real")


def as_a_pipe(folder: Path) -> None:
    (folder / OWNER).unlink()
    os.mkfifo(folder / OWNER)


HOSTILE: dict[str, Change] = {
    "no seal": lambda folder: (folder / OWNER).unlink(),
    "empty seal": lambda folder: (folder / OWNER).write_bytes(b""),
    "seal that is no text": lambda folder: (folder / OWNER).write_bytes(b"\xff" * 64),
    "seal of another session": from_another,
    "another user": by_another_user,
    "another journal": unpacked_over,
    "journal with a line before": lambda folder: (folder / JOURNAL).write_bytes(b"{}\n" + FIRST),
    "no journal": lambda folder: (folder / JOURNAL).unlink(),
    "pipe": as_a_pipe,
    "link": as_a_link,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_session_of_somebody_else_is_not_resumed(folder: Path, name: str) -> None:
    assert is_own_session(folder)
    HOSTILE[name](folder)
    with pytest.raises(
        SettingsError, match=r"can be read, but neither resumed nor forked.* `ua-tui trust adopt "
    ):
        check_session(folder)


def test_a_session_belongs_to_its_place(folder: Path, tmp_path: Path) -> None:
    with (folder / JOURNAL).open("ab") as file:
        file.write(b'{"event": "session_started"}\n')
    (tmp_path / "link").symlink_to(folder.parent)
    assert is_own_session(tmp_path / "link" / folder.name)
    copy = shutil.copytree(folder, tmp_path / "copy" / folder.name)
    assert not is_own_session(copy)
    moved = folder.rename(tmp_path / "session_9")
    assert not is_own_session(moved)
    assert is_own_session(moved.rename(folder))


def change_queue(**changed: object) -> Change:
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | changed))


@pytest.mark.parametrize(
    "change",
    [
        change_queue(queries=["forged"]),
        change_queue(queries=[*QUERIES[:2], "forged"]),
        change_queue(queries=["two\nlines", "one"]),
        change_queue(queries=[]),
        change_queue(seal=""),
        change_queue(seal="0" * 64),
        lambda path: path.write_text('{"version": 1, "queries": ["forged"]}'),
        lambda path: shutil.copy(made(path.parent.parent / "session_2", FIRST) / QUEUE_FILE, path),
    ],
)
def test_a_queue_of_somebody_else_is_not_used(folder: Path, change: Change) -> None:
    assert len(read_queue(Root(folder))) == len(QUERIES)
    change(folder / QUEUE_FILE)
    with pytest.raises(WorkspaceError, match=r"its queries are not used until `ua-tui trust adopt "):
        read_queue(Root(folder))
    assert isinstance(read_queue(Root(folder), foreign=True), tuple)


def test_programs_that_begin_at_once_have_one_key_that_others_cannot_read(
    state: Path, tmp_path: Path
) -> None:
    code = "from ua_tui.core.storage.ownership import seal; from pathlib import Path; print(seal('k', Path('/'), 1))"
    programs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
        for _ in range(4)
    ]
    codes = {program.communicate()[0].decode().strip() for program in programs}
    assert codes == {seal("k", Path("/"), 1)}
    assert stat.S_IMODE((state / "ownership.key").stat().st_mode) == 0o600


def test_a_damaged_key_recognises_nothing_and_says_so(state: Path, tmp_path: Path) -> None:
    state.mkdir(parents=True)
    (state / "ownership.key").write_bytes(b"short")
    code = seal("kind", tmp_path, "text")
    assert is_sealed(code, "kind", tmp_path, "text")
    for other in (
        ("other", tmp_path, "text"),
        ("kind", tmp_path.parent, "text"),
        ("kind", tmp_path, "te", "xt"),
    ):
        assert not is_sealed(code, *other)
    with pytest.raises(SettingsError, match=r"ownership\.key is damaged: remove it"):
        check_session(tmp_path)


def test_a_session_whose_program_was_killed_at_its_beginning_is_the_user_s_own(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).touch()
    seal_session(Root(tmp_path))
    assert is_own_session(tmp_path)
    (tmp_path / JOURNAL).write_bytes(FIRST)
    assert is_own_session(tmp_path)
    seal_session(Root(tmp_path))
    (tmp_path / JOURNAL).write_bytes(b"")
    assert not is_own_session(tmp_path)
