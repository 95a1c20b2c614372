"""What the viewer does with its file beside showing it: copy, open elsewhere, edit, delete, follow its links."""

from __future__ import annotations

import asyncio
import os
import stat
from abc import abstractmethod
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from core.errors import UniversalAgentError
from core.events.units import size
from core.storage.compression import inner_name
from core.storage.files import Root
from core.storage.workspace import RECORDS
from core.text import clean_line
from tui.screens.files.document import DocumentScreen
from tui.terminal.copy import copy_text
from tui.viewers.export import article_path
from tui.viewers.open_outside import open_outside
from tui.widgets.workers import start_job

__all__ = ["ViewerDeeds"]

_NAME = 120


class ViewerDeeds(DocumentScreen[None]):
    """The deeds of a screen that shows the file `path` of the session in `root`; every answer is a plain sentence."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_outside", "Open outside", id="file.open_outside", show=False),
        Binding("e", "edit", "Edit", id="file.edit", show=False),
        Binding("d", "delete", "Delete", id="file.delete", show=False),
        Binding("y", "copy_path", "Copy the path", id="file.copy_path", show=False),
        Binding("Y", "copy_text", "Copy the text", id="file.copy_text", show=False),
    ]

    path: Path
    root: Path | None
    copies: Path | None
    read_only: bool

    @abstractmethod
    def action_reload(self) -> None:
        """Read the file again."""

    def action_copy_path(self) -> None:
        """Copy the path."""
        copy_text(self, os.fspath(self.path), "Path")

    def action_copy_text(self) -> None:
        """Copy the text as it is written, all of it or none."""
        start_job(self, self._copy_text, "copy")

    async def _copy_text(self) -> None:
        from tui.viewers.export import text_of

        try:
            text = await asyncio.to_thread(text_of, self.path)
        except UniversalAgentError as error:
            self._warn(str(error))
        else:
            copy_text(self, text, "Text")

    def action_open_outside(self) -> None:
        """Open the file outside: HTML harmless in the browser, others in the desktop's program for them."""
        start_job(self, self._open_outside, "outside")

    async def _open_outside(self) -> None:
        await open_outside(self, self.path, self.copies)

    def action_edit(self) -> None:
        """Open the file in the person's editor, and read it again afterwards."""
        from tui.terminal.programs import EDITOR, NoProgram, command_of, edit

        why = self._why_kept("changed") or _not_for_editors(self.path)
        if why is not None:
            self._warn(why)
            return
        try:
            code = edit(self.app, self.path, command_of(EDITOR, os.environ))
        except NoProgram as error:
            self._warn(str(error))
            return
        if code:
            self._warn(f"The editor ended with code {code}; the file may not be saved.")
        self.action_reload()

    def action_delete(self) -> None:
        """Delete the file after asking, and go back."""
        from tui.screens.files.confirm_delete import DeleteScreen

        why = self._why_kept("deleted")
        if why is not None:
            self._warn(why)
            return
        try:
            facts = f"A file of {size(os.lstat(self.path).st_size)}."
        except OSError:
            self._warn("This file is no longer there.")
            return

        def settle(yes: bool | None) -> None:
            if yes:
                start_job(self, self._delete, "delete", replacing=False)

        self.app.push_screen(DeleteScreen(clean_line(self._relative(), 400), facts), settle)

    async def _delete(self) -> None:
        assert self.root is not None
        name = clean_line(self.path.name, _NAME)
        try:
            was_there = await asyncio.to_thread(Root(self.root).remove, self._relative())
        except UniversalAgentError as error:
            self._warn(str(error))
            return
        self.notify(f"{name} is deleted." if was_there else f"{name} was gone already.", markup=False)
        self.action_close()

    def go_to_article(self, path: str) -> None:
        """Show the article of a result, if the session has it."""
        start_job(self, partial(self._open_article, path), "article")

    async def _open_article(self, relative: str) -> None:
        path = await asyncio.to_thread(article_path, self.path, self.root, relative)
        if path is None:
            self.notify("There is no article of this result: the page was not read.", markup=False)
        else:
            article = type(self)(path, self.root, copies=self.copies, read_only=self.read_only)  # type: ignore[call-arg, arg-type]
            self.app.push_screen(article)

    def _relative(self) -> str:
        assert self.root is not None
        return self.path.relative_to(self.root).as_posix()

    def _why_kept(self, what: str) -> str | None:
        if self.read_only:
            return f"A past session is only to be read: this file is not {what} from here."
        if self.root is None or not self.path.is_relative_to(self.root):
            return f"This file is outside of this session and is not {what} from here."
        relative = self._relative()
        if relative in RECORDS or relative == ".lock":
            return f"{relative} is a record of this session: it stays as it is."
        if relative.startswith("tool_results/"):
            return "The journal of this session refers to this result: it stays as it is."
        return None

    def _warn(self, message: str) -> None:
        self.notify(message, markup=False, severity="warning")


def _not_for_editors(path: Path) -> str | None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return "This file is no longer there."
    if not stat.S_ISREG(mode):
        return "This is not a regular file and is not given to an editor."
    if inner_name(path.name) != path.name:
        return "This file is compressed: an editor could not read it."
    return None
