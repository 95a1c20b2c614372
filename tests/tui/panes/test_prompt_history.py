from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.tui.panes.prompt.history import LIMIT, PromptHistory, history_file_name, open_history


def same(text: str) -> str:
    return text


def test_what_was_typed_comes_back_in_the_next_session(tmp_path: Path) -> None:
    first = open_history(tmp_path, Path("/projects/a"), same)
    first.add("one")
    first.add("two\nlines")
    assert open_history(tmp_path, Path("/projects/a"), same).entries == ("one", "two\nlines")
    assert open_history(tmp_path, Path("/projects/b"), same).entries == ()


def test_folders_of_the_same_name_have_different_files() -> None:
    assert history_file_name(Path("/a/site")) != history_file_name(Path("/b/site"))


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    open_history(tmp_path, Path("/projects/a"), same).add("secret plan")
    (file,) = (tmp_path / "history").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    history = open_history(tmp_path, Path("/projects/a"), Redactor(["hunter2hunter2"]).redact)
    history.add("log in with hunter2hunter2")
    (file,) = (tmp_path / "history").iterdir()
    assert b"hunter2" not in file.read_bytes()
    assert history.entries == ("log in with hunter2hunter2",)


@pytest.mark.parametrize("tail", [b'{"text": "half', b"\xff\xfe\n", b"[]\n", b'{"text": 5}\n', b"\n\n"])
def test_a_damaged_file_loses_only_the_damage(tmp_path: Path, tail: bytes) -> None:
    history = open_history(tmp_path, Path("/projects/a"), same)
    history.add("kept")
    (file,) = (tmp_path / "history").iterdir()
    with file.open("ab") as handle:
        handle.write(tail)
    again = open_history(tmp_path, Path("/projects/a"), same)
    again.add("after")
    assert open_history(tmp_path, Path("/projects/a"), same).entries == ("kept", "after")


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    root = Root(tmp_path, create=True)
    lines = b"".join(b'{"text":"%d"}\n' % number for number in range(3 * LIMIT))
    root.write("h.jsonl", lines)
    history = PromptHistory(root, "h.jsonl", same)
    history.load()
    assert len(history.entries) == LIMIT
    assert history.entries[-1] == str(3 * LIMIT - 1)
    assert len(root.read("h.jsonl").splitlines()) == LIMIT


def test_a_disk_that_cannot_be_written_costs_only_the_keeping(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("a file where the folder should be")
    history = open_history(tmp_path, Path("/projects/a"), same)
    history.add("one")
    assert history.entries == ("one",)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "state" / "history"
    folder.mkdir(parents=True)
    os.symlink(victim, folder / history_file_name(Path("/projects/a")))
    open_history(tmp_path / "state", Path("/projects/a"), same).add("one")
    assert victim.read_text() == "precious"


def test_walking_back_and_forth_returns_the_draft() -> None:
    history = PromptHistory(None, "", same)
    history.add("one")
    history.add("two")
    history.add("two")
    assert history.older("draft") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer() == "two"
    assert history.newer() == "draft"
    assert history.newer() is None
