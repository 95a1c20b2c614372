"""Scenes of the workspace: what files and keys make of it, played from `scenes/workspace.txt`.

A scene begins with `# its name [width x height]`; then each line is one step in a session's folder:

    write, pack, size, link, remove   make a file of this text (packed, or of this size), a link, or remove something
    press, type, click, double        keys, or the row of this name
    reveal, expect                    put the cursor on a file, which is there or still to come
    > Event field=value …             an event, as in `test_scenes.py`
    tree + name, tree - name          a row of this name is there, or is not
    names a|  b                       these are the rows, indented by depth
    files a|  b                       these are the rows of files
    screen + text, - text, 2 text     the text is on the screen, is not, or is there that often
    asked text, answered              a dialog asks about it and takes keys at once, or there is none
    said text                         the last message has this text
    new, cursor, opened, copied …     the facts of `FACTS`; `{path}` is a whole path

What is expected is waited for: the kernel and threads report files when they can.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.packed import pack
from tests.tui.files_host import Host, hosted, screen_text
from tests.tui.pane_host import handle_events
from tests.tui.panes.test_scenes import event_of, scenes
from tests.tui.tree_host import cursor, laid_session, model_of, pane_of, rows
from tests.waiting import until
from ua_tui.tui.panes.workspace.pane import WorkspacePane
from ua_tui.tui.screens.session.confirm import DeleteScreen


class Desk:
    """A workspace that plays one scene."""

    def __init__(self, root: Path, pane: WorkspacePane, app: Host, pilot: Pilot[None]) -> None:
        self.root, self.pane, self.app, self.pilot = root, pane, app, pilot

    def whole(self, text: str) -> str:
        return re.sub(r"\{([^ \"}]+)\}", lambda found: str(self.place(found[1])), text)

    def place(self, path: str) -> Path:
        return Path(os.path.normpath(self.root / path))

    def short(self, paths: Any) -> str:
        return " ".join(sorted(os.path.relpath(path, self.root) for path in paths))

    async def act(self, verb: str, given: str) -> None:
        """Take one step, or wait for what is expected."""
        name, _, text = given.partition(" ")
        path = self.place(name)
        match verb:
            case "write" | "pack" | "size" | "link":
                path.parent.mkdir(parents=True, exist_ok=True)
                self.make(verb, path, text)
            case "remove":
                path.unlink()
            case ">":
                handle_events(self.pane, [event_of(self.whole(given))])
            case "press":
                await self.pilot.press(*given.split())
                await self.pilot.pause()
            case "type":
                await self.pilot.press(*given)
            case "click" | "double":
                row = [each.strip() for each in rows(self.pane)].index(given)
                await self.pilot.click(self.pane, offset=(5, 2 + row), times=1 if verb == "click" else 2)
            case "reveal" | "expect":
                self.pane.focus()
                self.pane.reveal(path)
                await until(lambda: verb == "expect" or cursor(self.pane) == path.name, reported=self.state)
            case "asked":
                await until(
                    lambda: isinstance(self.app.screen, DeleteScreen) and self.app.screen._quiet_until
                )
                assert given in screen_text(self.app)
                self.app.screen._quiet_until = 0.0  # type: ignore[attr-defined]  # nobody was typing
            case _:
                await until(lambda: self.holds(verb, given), reported=self.state)

    def make(self, kind: str, path: Path, text: str) -> None:
        match kind:
            case "write":
                path.write_text(text.replace("\\0", "\0"))
            case "pack":
                path.write_bytes(pack(text.encode()))
            case "size":
                path.write_text("x" * int(text))
            case _:
                path.symlink_to(text)

    def holds(self, verb: str, given: str) -> bool:
        """Whether what is expected is there."""
        how, _, text = given.partition(" ")
        match verb:
            case "tree":
                return (text in [each.strip() for each in rows(self.pane)]) == (how == "+")
            case "screen":
                seen = screen_text(self.app).replace("\n", " ")
                assert seen.isprintable()
                return seen.count(text) == int(how) if how.isdigit() else (text in seen) == (how == "+")
            case "said":
                return bool(self.app.shown_text) and given in self.app.shown_text[-1]
            case "exists":
                return all(self.place(each).exists() for each in given.split())
            case "gone":
                return not self.place(given).exists()
            case "unread":
                folder = model_of(self.pane).folders.get(str(self.place(given)))
                return folder is None or folder.listing is None
            case _:
                return FACTS[verb](self) == self.whole(given)

    def state(self) -> str:
        facts = {name: fact(self) for name, fact in FACTS.items()}
        return f"{facts}, {self.app.shown_text}\n{screen_text(self.app)}"


FACTS: dict[str, Callable[[Desk], str]] = {
    "names": lambda desk: "|".join(rows(desk.pane)),
    "files": lambda desk: "|".join(each for each in rows(desk.pane) if "." in each),
    "cursor": lambda desk: str(cursor(desk.pane)),
    "new": lambda desk: desk.short(desk.pane.new_files),
    "opened": lambda desk: desk.short(desk.app.opened),
    "highlighted": lambda desk: desk.short(desk.app.highlighted[-1:]),
    "copied": lambda desk: " | ".join(desk.app.copied),
    "calls": lambda desk: " ".join(desk.app.calls),
    "answered": lambda desk: "" if not isinstance(desk.app.screen, DeleteScreen) else "asked",
}


@pytest.mark.parametrize(("_kind", "size", "lines"), scenes("workspace"))
async def test_the_scene_is_shown(
    tmp_path: Path, _kind: str, size: tuple[int, int], lines: list[str]
) -> None:
    root = laid_session(tmp_path)
    pane = pane_of(root, tmp_path / "SAVED_REPORTS")
    (tmp_path / "SAVED_REPORTS").mkdir()
    async with hosted(pane, size=size) as (app, pilot):
        desk = Desk(root, pane, app, pilot)
        await until(lambda: "run.log" in rows(pane))
        pane.focus()
        for line in filter(None, lines):
            verb, _, given = line.partition(" ")
            await desk.act(
                verb, given.replace("\\e", "\x1b").replace("\\a", "\a").replace("\\u202e", "\u202e")
            )
