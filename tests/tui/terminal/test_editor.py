from __future__ import annotations

import asyncio
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual import events

from tests.tui.fixture_types import Patch
from tests.tui.panes.test_prompt import PromptApp
from ua_tui.tui.panes.prompt.pane import PASTE_LIMIT
from ua_tui.tui.render.format import first_sentence
from ua_tui.tui.terminal.programs import LARGEST_DRAFT, DraftError, edit_draft


class LendingApp(PromptApp):
    """An application whose terminal is lent away by doing nothing: the editors of these tests draw none."""

    @contextmanager
    def suspend(self) -> Iterator[None]:
        yield


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Drafts lie here and nowhere else."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def editor(tmp_path: Path, monkeypatch: Patch, script: str) -> None:
    """Have $VISUAL be a shell script that is given the file as $1."""
    path = tmp_path / "my editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    monkeypatch.setenv("VISUAL", f"'{path}'")


def edited(text: str, edit: Callable[[Path], int]) -> str | None:
    """Edit a text with a function in place of the editor."""

    async def run(path: Path) -> int:
        return edit(path)

    return asyncio.run(edit_draft(text, run))


def left(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def test_the_draft_is_private_and_gone_afterwards(temporary: Path) -> None:
    modes: list[int] = []

    def edit(path: Path) -> int:
        modes.extend(stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent))
        assert path.parent.parent == temporary
        (path.parent / ".prompt.md.swp").write_text("what an editor leaves")
        path.write_text("new\n")
        return 0

    assert edited("old", edit) == "new"
    assert modes == [0o600, 0o700]
    assert left(temporary) == []


def test_an_unchanged_draft_changes_nothing(temporary: Path) -> None:
    def append_line_break(path: Path) -> int:
        path.write_text(path.read_text() + "\n")
        return 0

    assert edited("é\nsame", lambda path: 0) is None
    assert edited("é\nsame", append_line_break) is None


@pytest.mark.parametrize("harm", ["remove", "link", "folder", "huge"])
def test_what_cannot_be_read_back_leaves_the_prompt(tmp_path: Path, temporary: Path, harm: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not yours")

    def edit(path: Path) -> int:
        if harm == "huge":
            path.write_bytes(b"x" * (LARGEST_DRAFT + 1))
            return 0
        path.unlink()
        if harm == "link":
            path.symlink_to(secret)
        elif harm == "folder":
            path.mkdir()
        return 0

    with pytest.raises(DraftError):
        edited("old", edit)
    assert left(temporary) == []


def test_a_failing_editor_is_reported_and_leaves_no_draft(temporary: Path) -> None:
    with pytest.raises(DraftError, match="code 3"):
        edited("old", lambda path: 3)
    assert left(temporary) == []


async def test_ctrl_g_writes_on_in_the_editor(tmp_path: Path, temporary: Path, monkeypatch: Patch) -> None:
    editor(tmp_path, monkeypatch, 'printf "%s and\\n\\033[31mmore\\n" "$(cat "$1")" > "$1"')
    app = LendingApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "b", "ctrl+g")
        await app.workers.wait_for_complete()
        assert app.prompt.text == "ab and\n[31mmore"
        assert app.prompt.cursor_location == (1, 8)
        await pilot.press("enter")
        assert app.sent == ["ab and\n[31mmore"]
    assert left(temporary) == []


async def test_an_editor_sees_a_folded_paste_whole(tmp_path: Path, monkeypatch: Patch) -> None:
    copy = tmp_path / "seen"
    editor(tmp_path, monkeypatch, f'cp "$1" "{copy}"; echo short > "$1"')
    app = LendingApp()
    async with app.run_test() as pilot:
        app.prompt.post_message(events.Paste("z" * (PASTE_LIMIT + 1)))
        await pilot.press("ctrl+g")
        await app.workers.wait_for_complete()
        assert copy.read_text() == "z" * (PASTE_LIMIT + 1)
        assert app.prompt.text == "short"


@pytest.mark.parametrize("script", ['echo lost > "$1"; exit 4', 'rm "$1"'])
async def test_an_editor_that_fails_leaves_the_prompt(
    tmp_path: Path, monkeypatch: Patch, script: str
) -> None:
    editor(tmp_path, monkeypatch, script)
    app = LendingApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+g")
        await app.workers.wait_for_complete()
        assert app.prompt.text == "a"
        (reported,) = list(app._notifications)
        assert "The text is unchanged" in reported.message


async def test_whoever_has_a_broken_editor_is_told_what_to_do(tmp_path: Path, monkeypatch: Patch) -> None:
    editor(tmp_path, monkeypatch, "")
    (tmp_path / "my editor").write_bytes(b"\0")
    app = LendingApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+g")
        await app.workers.wait_for_complete()
        (reported,) = list(app._notifications)
        # What is shown of it.
        assert first_sentence(reported.message).endswith("(Exec format error): set $EDITOR to another one.")


async def test_without_an_editor_or_a_terminal_it_is_reported(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("VISUAL", str(tmp_path / "nowhere"))
    app = PromptApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "ctrl+g")
        editor(tmp_path, monkeypatch, "true")
        await pilot.press("ctrl+g")
        first, second = [each.message for each in app._notifications]
        assert "$VISUAL" in first
        assert "terminal" in second
        assert app.prompt.text == "a"
