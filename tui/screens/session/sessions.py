"""The sessions there are: to find one again, read it, go on with it, name it, or delete it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from core.errors import JournalError, UniversalAgentError
from core.history.headline import Summary
from core.history.index import SessionIndex
from core.text import clean_line
from tui.keys.keymap import keys_of
from tui.ports import ScreenHost
from tui.render.format import tail_cut
from tui.screens.files.confirm_delete import DeleteScreen
from tui.screens.session.session_list import MARKS, SessionList
from tui.viewers.view.chrome import KeyLine, TitleLine
from tui.widgets.command import CommandSpec
from tui.widgets.modal import Modal
from tui.widgets.workers import start_job

__all__ = ["COMMAND", "SORTS", "SessionsScreen", "open_screen"]

COMMAND = CommandSpec("sessions", "Sessions", "Read, resume, search, delete", order=40)

SORTS = ("newest", "longest", "dearest", "by title")
SLICE_SECONDS = 0.05
"""How long is searched in one go."""
REDRAW_SECONDS = 0.1
LOOK_SECONDS = 2.0
"""How often is looked for what became of the sessions."""
REST_SECONDS = 0.2
"""How long nothing is typed before journals are searched."""
_MOST_WORDS = 24
"""Cells of what is searched for that stand in the title."""

Item = TypeVar("Item")


def open_screen(app: ScreenHost) -> None:
    """Show the sessions."""
    app.open_sessions()


class SessionsScreen(Modal[Path | None]):
    """Lists the sessions below a folder; closes with the one that is to go on, or with None.

    Args:
        index: knows them.
        read: opens a session to be read; called with its folder.
        current: the folder of the session around this screen, which can be neither resumed nor deleted here.
        zone: in which times are shown; by default that of this machine.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "resume", "Go on", id="sessions.resume", show=False),
        Binding("n", "rename", "Name", id="sessions.rename", show=False),
        Binding("d,delete", "delete", "Delete", id="sessions.delete", show=False),
        Binding("s", "sort", "Sort", id="sessions.sort", show=False),
        Binding("slash", "search", "Search", id="find.search", show=False),
        Binding("escape", "leave", "Close", id="screen.leave", show=False),
        Binding("q", "close", "Close", id="screen.close", show=False),
    ]

    def __init__(
        self,
        index: SessionIndex,
        read: Callable[[Path], None],
        *,
        current: Path | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        super().__init__()
        self._index = index
        self._read = read
        self._current = current.name if current is not None and current.parent == index.sessions else None
        self._all: dict[str, Summary] = {}
        self._found: set[str] | None = None
        self._sort = 0
        self._doing = "reading"
        self._asked_for = ""
        self._folded: dict[str, tuple[Summary, str]] = {}
        self._trouble = ""
        self._deeds = 0
        self._list = SessionList(zone=zone, id="sessions-list")

    def compose(self) -> ComposeResult:
        """Put down the title, the list, what the chosen one is, a line to type in, and the keys."""
        yield TitleLine(id="sessions-title")
        yield self._list
        yield Static(id="sessions-detail")
        yield Input(id="sessions-line", compact=True)
        yield KeyLine(
            ("Enter", "read", "screen.open"),
            ("r", "go on", "screen.resume"),
            ("/", "search", "screen.search"),
            ("s", "sort", "screen.sort"),
            ("n", "name", "screen.rename"),
            ("d", "delete", "screen.delete"),
            ("Esc", "back", "screen.close"),
            id="sessions-keys",
        )

    def on_mount(self) -> None:
        """Read the list, beside the event loop."""
        self.query_one("#sessions-line", Input).display = False
        self._list.focus()
        self._tell()
        start_job(self, self._follow, "sessions")

    # -- the list ----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Read the list, and from then on what becomes of the sessions, wherever they run."""
        await self._look(first=True)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self.is_current:
                await self._look()

    async def _look(self, *, first: bool = False) -> None:
        batches, drawn = self._index.refresh(keep=first), 0.0
        seen: dict[str, Summary] = {}
        deeds, trouble = self._deeds, ""
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                seen.update((summary.name, summary) for summary in batch)
                if first and (not drawn or time.monotonic() - drawn > REDRAW_SECONDS):
                    drawn = time.monotonic()
                    self._all = seen
                    self._show()
        except UniversalAgentError as error:
            trouble = str(error)
        if deeds != self._deeds and not first:
            # What was named or deleted meanwhile may be in it as it was before.
            return
        changed = [row for name, row in seen.items() if self._all.get(name) != row]
        gone = self._all.keys() - seen.keys()
        self._all, self._trouble = seen, trouble
        if first:
            self._doing = ""
            if self._asked_for:
                self._search_for(self._asked_for)
            else:
                self._show()
        elif changed or gone or trouble:
            if words := self._asked_for:
                results = self._index.search(words, changed)
                hits = await asyncio.to_thread(lambda: {row.name for row in results if row is not None})
                if words == self._asked_for and self._found is not None:
                    self._found |= hits
            self._show()

    def _show(self, at: str | None = None) -> None:
        found = self._found
        rows = [row for row in self._all.values() if found is None or row.name in found]
        match SORTS[self._sort]:
            case "longest":
                rows.sort(key=lambda row: -(row.seconds or 0.0))
            case "dearest":
                rows.sort(key=lambda row: -(row.cost or 0.0))
            case "by title":
                rows.sort(key=lambda row: (not row.heading, row.heading.casefold()))
            case _:
                pass
        self._list.show(rows, at)
        self._tell()

    def _tell(self) -> None:
        count, shown = len(self._all), len(self._list.rows)
        counted = f"{count:,} session{'' if count == 1 else 's'}"
        if self._found is not None:
            counted = f"{shown:,} of {counted}"
        looked_for = ""
        if self._found is not None:
            looked_for = f"filter: {tail_cut(clean_line(self._asked_for, 200), _MOST_WORDS)} · "
            looked_for += f"{keys_of(self.app).shown('screen.leave')} clears"
        parts = (looked_for, self._doing, SORTS[self._sort], counted)
        facts = " · ".join(part for part in parts if part)
        title = self.query_one("#sessions-title", TitleLine)
        title.show("Sessions", place=str(self._index.sessions), facts=facts)

    def on_session_list_highlighted(self) -> None:
        """Say more of the session under the cursor."""
        chosen, detail = self._list.chosen, self.query_one("#sessions-detail", Static)
        if chosen is None:
            told = "Nothing was found." if self._found is not None else "There is no session here yet."
            detail.update(Content("" if self._doing else self._trouble or told))
            return
        word = MARKS[chosen.state][1]
        facts = [f"{word}: {chosen.why}" if chosen.why else word]
        if chosen.name == self._current:
            facts.append("this one")
        if chosen.demo:
            facts.append("demo")
        facts.append(chosen.name)
        if chosen.artifacts is not None:
            facts.append(f"{chosen.artifacts} file{'' if chosen.artifacts == 1 else 's'}")
        asked = chosen.query if chosen.title else ""
        detail.update(Content("\n").join([Content(" · ".join(facts)), Content(asked)]))

    def action_sort(self) -> None:
        """Sort by something else."""
        self._sort = (self._sort + 1) % len(SORTS)
        self._show()

    # -- what is done with a session ---------------------------------------------------------------

    def action_open(self) -> None:
        """Read the session under the cursor."""
        self._list.action_open()

    def on_session_list_opened(self) -> None:
        """Read the session under the cursor, then show what became of it."""
        if (chosen := self._list.chosen) is not None:
            try:
                self._read(self._index.folder(chosen.name))
            except JournalError as error:
                # In a few words, as the list has them; a long path would be broken.
                why = f"{chosen.name} cannot be opened: {chosen.why}."
                self._complain(why if chosen.state == "corrupt" else str(error))
            except UniversalAgentError as error:
                self._complain(str(error))
            self._renew(chosen.name)

    def action_resume(self) -> None:
        """Go on with the session under the cursor."""
        chosen = self._list.chosen
        if chosen is None:
            return
        if chosen.name == self._current:
            self._complain("This is the session you are in: it goes on already.")
        elif chosen.state == "running":
            self._complain("It runs in another program, which must end first.")
        elif chosen.state == "corrupt":
            self._complain(f"It cannot go on: {chosen.why}.")
        else:
            self.dismiss(self._index.folder(chosen.name))

    def action_delete(self) -> None:
        """Delete the session under the cursor, after asking."""
        chosen = self._list.chosen
        if chosen is None:
            return
        if chosen.state == "running" or chosen.name == self._current:
            self._complain("It is running: it cannot be deleted.")
            return

        def settle(yes: bool | None) -> None:
            if yes:
                start_job(self, partial(self._delete, chosen.name), "delete")

        facts = "The session's folder with everything in it; reports in SAVED_REPORTS stay."
        if chosen.heading:
            facts = f"{chosen.name}. {facts}"
        self.app.push_screen(DeleteScreen(chosen.heading or chosen.name, facts), settle)

    async def _delete(self, name: str) -> None:
        try:
            await asyncio.to_thread(self._index.delete, name)
        except UniversalAgentError as error:
            self._complain(str(error))
            self._renew(name)
            return
        self._deeds += 1
        self._all.pop(name, None)
        self._show()

    def _renew(self, name: str) -> None:
        async def look() -> None:
            found = await asyncio.to_thread(self._index.refresh_one, name)
            self._deeds += 1
            self._all[name] = found
            self._show()

        start_job(self, look, "renew")

    def _complain(self, why: str) -> None:
        self.notify(why, markup=False, severity="warning")

    # -- the line ----------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Search titles, queries and answers for words."""
        self._open_line("search", "words of titles, queries and answers", self._asked_for)

    def action_rename(self) -> None:
        """Give the session under the cursor a title."""
        if (chosen := self._list.chosen) is not None:
            self._renamed = chosen.name
            self._open_line("rename", "a title; empty for the first query", chosen.title)

    _line_for = ""
    _renamed = ""

    def _open_line(self, what: str, placeholder: str, value: str) -> None:
        line = self.query_one("#sessions-line", Input)
        self._line_for = ""
        line.placeholder, line.value = placeholder, value
        self._line_for = what
        line.display = True
        # At once, for whoever types on: every letter does something in the list.
        self.set_focus(line)

    def _close_line(self) -> None:
        self._line_for = ""
        self.query_one("#sessions-line", Input).display = False
        self.set_focus(self._list)

    @on(Input.Changed, "#sessions-line")
    def _typed(self, event: Input.Changed) -> None:
        if self._line_for == "search" and event.value.strip() != self._asked_for:
            self._search_for(event.value.strip())

    @on(Input.Submitted, "#sessions-line")
    def _said(self, event: Input.Submitted) -> None:
        event.stop()
        if self._line_for == "rename":
            name, title = self._renamed, event.value
            start_job(self, partial(self._rename, name, title), "rename")
        self._close_line()

    async def _rename(self, name: str, title: str) -> None:
        try:
            named = await asyncio.to_thread(self._index.rename, name, title)
        except UniversalAgentError as error:
            self._complain(str(error))
            return
        self._deeds += 1
        self._all[name] = named
        self._show()

    def _search_for(self, words: str) -> None:
        self._asked_for = words
        self._doing = "searching" if words else ""
        self._found = set() if words else None
        if words:
            folded = words.casefold().split()
            # What is in memory answers at once; the answers are read behind it.
            self._found = {
                row.name for row in self._all.values() if all(word in self._words_of(row) for word in folded)
            }
        self._show()
        start_job(self, partial(self._search, words), "search")

    def _words_of(self, row: Summary) -> str:
        known = self._folded.get(row.name)
        if known is None or known[0] is not row:
            known = self._folded[row.name] = (row, f"{row.title} {row.query} {row.name}".casefold())
        return known[1]

    async def _search(self, words: str) -> None:
        if not words:
            return
        # While somebody types, what is read for half a word is read for nothing.
        await asyncio.sleep(REST_SECONDS)
        among = [row for row in self._all.values() if self._found is not None and row.name not in self._found]
        results, done, drawn = self._index.search(words, among), 0, time.monotonic()
        while (batch := await asyncio.to_thread(_some, results)) and words == self._asked_for:
            done += len(batch)
            hits = {row.name for row in batch if row is not None}
            assert self._found is not None
            self._found |= hits
            self._doing = f"searching {done / max(1, len(among)):.0%}"
            if time.monotonic() - drawn > REDRAW_SECONDS:
                drawn = time.monotonic()
                self._show()
        if words == self._asked_for:
            self._doing = ""
            self._show()

    def action_leave(self) -> None:
        """Leave the line, then the search, then the screen."""
        if self._line_for:
            if self._line_for == "search":
                self._search_for("")
            self._close_line()
        elif self._found is not None:
            self._search_for("")
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


def _some(results: Iterator[Item]) -> Sequence[Item]:
    """Take as many as come in a short while, at least one if there is any."""
    until, taken = time.monotonic() + SLICE_SECONDS, list[Item]()
    for each in results:
        taken.append(each)
        if time.monotonic() > until:
            break
    return taken
