from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.packed import pack
from tests.tui.files_host import Host, hosted, sit_at_a_desktop
from tests.tui.tree_host import cursor, laid_session, pane_of, rows
from tests.waiting import until
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.files import Root
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.terminal.foreground import NoProgram
from ua_tui.tui.terminal.programs import editor_command
from ua_tui.tui.viewers.export import text_of


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return laid_session(tmp_path)


async def go_to(pane: WorkspacePane, path: Path) -> None:
    pane.focus()
    pane.reveal(path)
    await until(lambda: cursor(pane) == path.name)


def test_the_text_for_the_clipboard_of_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for name, why in (("pipe", "pipe"), ("gone", "no longer"), ("empty", "empty")):
        with pytest.raises(WorkspaceError, match=why):
            text_of(tmp_path / name)


async def test_o_hands_a_harmless_copy_of_html_to_the_browser(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sit_at_a_desktop(monkeypatch)
    report = session / "work_products" / "report.html"
    report.write_text("<h1>Report</h1><script>alert(1)</script>")
    (session / "script.sh").write_text("rm -r x")
    pane = pane_of(session)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copies = tmp_path / "cache" / "ua-tui" / "opened"
    async with hosted(pane, size=(60, 24)) as (app, pilot):
        await until(lambda: "run.log" in rows(pane))
        await go_to(pane, report)
        await pilot.press("o")
        await until(lambda: app.urls)
        copy = Path(app.urls[0].removeprefix("file://"))
        assert copy.is_relative_to(copies)
        assert "without scripts" in app.shown_text[-1]
        await go_to(pane, session / "script.sh")
        await pilot.press("o")
        await until(lambda: "Only HTML, pictures" in app.shown_text[-1])
        assert len(app.urls) == 1
    assert "alert" not in (copies / copy.name).read_text()


def test_a_root_removes_only_empty_folders(tmp_path: Path) -> None:
    (tmp_path / "full" / "inner").mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "full")
    root = Root(tmp_path)
    assert root.remove("full/inner", is_folder=True)
    assert not root.remove("full/inner", is_folder=True)
    (tmp_path / "full" / "x").touch()
    for name in ("full", "file", "link", "../x"):
        with pytest.raises(WorkspaceError):
            root.remove(name, is_folder=True)
    assert (tmp_path / "full" / "x").exists()


@contextmanager
def terminal_given_away(app: Host) -> Iterator[None]:
    """Stands for a terminal that can be given away: there is none in a test."""
    app.shown_text.append("suspended")
    yield


async def test_e_opens_the_editor_and_says_plainly_when_there_is_none(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file that is gone keeps its row.
    monkeypatch.setattr("ua_tui.tui.panes.workspace.tree.SWEEP_SECONDS", 3_600.0)
    notes = session / "notes.md"
    notes.write_text("a")
    (session / "packed.json.zst").write_bytes(pack(b"{}"))
    (session / "film.mp4").write_bytes(b"\0\0\0\x18ftypisom" + bytes(range(256)))
    (session / "paper.pdf").write_bytes(b"%PDF-1.4\nall of it is text")
    editor = tmp_path / "my editor.py"
    editor.write_text("import sys; open(sys.argv[1], 'a').write('edited'); sys.exit(len(sys.argv) - 2)")
    pane = pane_of(session)
    async with hosted(pane, size=(80, 24)) as (app, pilot):
        await until(lambda: "notes.md" in rows(pane))
        monkeypatch.delenv("VISUAL", raising=False)
        await go_to(pane, notes)
        monkeypatch.setenv("EDITOR", "no-such-editor -w")
        await pilot.press("e")
        await until(lambda: app.shown_text)
        assert app.shown_text[-1].startswith("The editor 'no-such-editor' in $EDITOR was not found:")
        monkeypatch.setenv("EDITOR", f"{sys.executable} '{editor}'")
        await pilot.press("e")
        await until(lambda: "needs a terminal" in app.shown_text[-1])
        assert notes.read_text() == "a"
        monkeypatch.setattr(app, "suspend", lambda: terminal_given_away(app))
        await pilot.press("e")
        await until(lambda: notes.read_text() == "aedited")
        assert app.shown_text[-1] == "suspended"
        for path, why in (
            (session / "run.log", "a record of this session"),
            (session / "work_products", "A folder cannot be edited"),
            (session / "packed.json.zst", "is compressed"),
            (session / "film.mp4", "film.mp4 is not text and cannot be edited."),
            (session / "paper.pdf", "paper.pdf is not text"),
        ):
            await go_to(pane, path)
            await pilot.press("e")
            assert why in app.shown_text[-1]
            assert ("file.edit" in dict(pane.key_hints)) == (path.suffix not in {".mp4", ".pdf"})
        await go_to(pane, notes)
        notes.unlink()
        await pilot.press("e")
        assert "No such file" in app.shown_text[-1]


def test_which_editor_is_started(tmp_path: Path) -> None:
    vi = tmp_path / "vi"
    vi.write_text("#!/bin/sh\n")
    vi.chmod(0o755)
    here = {"PATH": str(tmp_path)}
    assert editor_command(here) == [str(vi)]
    assert editor_command({**here, "VISUAL": "", "EDITOR": "vi -R"}) == ["vi", "-R"]
    for broken in ({"EDITOR": "'vi"}, {"EDITOR": "emacs"}):
        with pytest.raises(NoProgram, match="set"):
            editor_command({**here, **broken})
    with pytest.raises(NoProgram, match="No editor found"):
        editor_command({"PATH": "/nowhere"})
