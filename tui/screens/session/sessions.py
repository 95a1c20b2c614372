"""All sessions: search, read, resume, rename or delete one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input

from ua_tui.core.errors import JournalError, UniversalAgentError
from ua_tui.core.events.units import duration, money, quantity
from ua_tui.core.history.headline import Summary
from ua_tui.core.history.index import SessionIndex, branch, with_families
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.text import as_sentence, clean_line, natural_key
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.format import moment, tail_cut
from ua_tui.tui.screens.files.export import export_session
from ua_tui.tui.screens.knowledge.hit_text import kind_name, line_of, pieces_of
from ua_tui.tui.screens.knowledge.reader import KnowledgeReader
from ua_tui.tui.screens.session.confirm import DeleteScreen
from ua_tui.tui.screens.session.open_session import open_read_only, open_resumed
from ua_tui.tui.viewers.view.chrome import KeyLine, TitleLine
from ua_tui.tui.widgets.column_list import Column, ColumnList
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

_MARKS = {
    "finished": "✓",
    "stopped": "⊘",
    "running": "…",
    "crashed": "⊘",
    "corrupt": "✗",
    "unknown": "·",
}
_UNKNOWN = "–"
_MARKED = "◆"
_WHEN = 16


class SessionList(ColumnList[Summary]):
    """Shows summaries in columns.

    Attributes:
        found: the line that a search has found in a session, by its name; none without a search.
        depths: how deep a fork is below the first session of its family, by its name.
        marked: the name of the marked session; empty if none is.
    """

    BINDINGS = bindings("SessionList")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "sessions--running",
        "sessions--crashed",
        "sessions--corrupt",
        "sessions--marked",
    }

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.found: Mapping[str, str] = {}
        self.depths: Mapping[str, int] = {}
        self.marked = ""

    def toggle_mark(self, name: str) -> None:
        """Mark a session instead of another one, or no longer."""
        self.marked = name if name != self.marked else ""
        self.redraw()

    def name_of(self, row: Summary) -> str:
        """The name of the session."""
        return row.name

    def columns(self, width: int) -> Sequence[Column[Summary]]:
        """When, what, how long, for how much, more counts where there is room; of a search, what it has found."""
        muted, found = self.muted, self.found
        right = [
            # The time that the session was open, and not the time that the agent worked.
            Column("duration", 8, lambda row: _count(row.seconds, duration), muted, right=True),
            Column("cost", 7, _cost, muted, right=True),
            Column("calls", 5, lambda row: _count(row.calls), muted, right=True),
        ]
        if width >= 112:
            right += [
                Column("files", 5, lambda row: _count(row.artifacts), muted, right=True),
                Column("state", 8, lambda row: row.state, lambda row: self.mark(row)[1]),
            ]
        room = width - 2 - _WHEN - 2
        if found:
            line = Column[Summary](
                "found", max(1, room - room // 3 - 2), lambda row: found.get(row.name, ""), muted
            )
            right = [line]
        return [
            Column("when", _WHEN, self._when, muted, gap=0),
            Column(
                "title or first query",
                max(1, room - sum(column.width + column.gap for column in right)),
                lambda row: branch(self.depths.get(row.name, 0)) + row.line,
                lambda row: self.rich_style if row.heading else muted,
            ),
            *right,
        ]

    def mark(self, row: Summary) -> tuple[str, Style]:
        """The sign of its state, or that it is marked."""
        if row.name == self.marked:
            return _MARKED, self.get_component_rich_style("sessions--marked")
        has_colour = row.state in {"running", "crashed", "corrupt"}
        style = self.get_component_rich_style(f"sessions--{row.state}") if has_colour else self.muted
        return _MARKS[row.state], style

    def _when(self, summary: Summary) -> str:
        return (summary.started is not None and moment(summary.started)) or _UNKNOWN


def _cost(row: Summary) -> str:
    if row.unpriced:
        return "?"
    return money(row.cost, is_estimated=row.is_estimated) or _UNKNOWN


def _count(number: float | None, shown: Callable[[float], str] = str) -> str:
    return _UNKNOWN if number is None else shown(number)


SORTS = ("newest", "longest", "most expensive", "by title")
REDRAW_SECONDS = 0.1
REFRESH_SECONDS = 2.0
"""How often the list is refreshed."""
MOST_HITS = 200
"""Hits of the knowledge base that a search looks at."""
TYPING_SECONDS = 0.2
"""The pause in typing after which journals are searched."""
_QUERY_CELLS = 24
"""Cells of the search text in the title."""

Item = TypeVar("Item")


class SessionsScreen(Modal[Path | None]):
    """Lists the sessions below a folder; closes with the folder of the one to resume, or with None.

    Args:
        index: the index of the sessions.
        comes_back: whether a session is resumed by another program, after which the list is there again.
        current: the folder of the running session, which can be neither resumed nor deleted here.
        database: the knowledge base, in which the search finds passages; None if there is none.
    """

    PARTS = (SessionList,)

    def __init__(
        self,
        index: SessionIndex,
        *,
        comes_back: bool = False,
        current: Path | None = None,
        database: KnowledgePlace | None = None,
    ) -> None:
        super().__init__()
        self._index = index
        self._comes_back = comes_back
        self._current = current.name if current is not None and current.parent == index.sessions else None
        self._all: dict[str, Summary] = {}
        self._found: set[str] | None = None
        self._sort = 0
        self._activity = "reading"
        self._query = ""
        self._problem = ""
        self._reader = KnowledgeReader(database)
        self._passages: dict[str, Hit] = {}
        self._changes = 0
        self._list = SessionList(id="sessions-list")

    def compose(self) -> ComposeResult:
        """Create the title, the list, the details, an input line, and the keys."""
        yield TitleLine()
        yield Words(id="sessions-notice")
        yield self._list
        yield Words(id="sessions-detail")
        yield Input(id="sessions-line", compact=True)
        yield KeyLine(
            ("Enter", "read", "focused.open"),
            ("r", "resume", "screen.resume"),
            ("p", "replay", "screen.replay"),
            ("/", "search", "screen.search"),
            ("s", "sort", "screen.sort"),
            ("c", "compare", "screen.compare"),
            ("n", "rename", "screen.rename"),
            ("d", "delete", "screen.delete"),
            ("X", "export", "screen.export"),
            ("Esc", "back", "screen.close"),
        )

    def on_mount(self) -> None:
        """Read the list in a thread."""
        self._list.focus()
        self._show_title()
        start_job(self, self._follow, "sessions")

    def on_unmount(self) -> None:
        """Close the knowledge base, for which the application does not wait: all threads may be busy."""
        asyncio.get_running_loop().run_in_executor(None, self._reader.close)

    # -- the list ----------------------------------------------------------------------------------

    async def _follow(self) -> None:
        """Read the list, then refresh it regularly, because sessions may run in other programs."""
        await self._refresh_list(first=True)
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            if self.is_current:
                await self._refresh_list()

    async def _refresh_list(self, *, first: bool = False) -> None:
        batches, drawn = self._index.refresh(keep=first), 0.0
        seen: dict[str, Summary] = {}
        changes, problem = self._changes, ""
        try:
            while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                seen.update((summary.name, summary) for summary in batch)
                if first and (not drawn or time.monotonic() - drawn > REDRAW_SECONDS):
                    drawn = time.monotonic()
                    self._all = seen
                    self._show()
        except UniversalAgentError as error:
            problem = str(error)
        if changes != self._changes and not first:
            # A session may have been renamed or deleted in the meantime.
            return
        changed = [row for name, row in seen.items() if self._all.get(name) != row]
        gone = self._all.keys() - seen.keys()
        self._all, self._problem = seen, problem
        if first:
            self._activity = ""
            if self._query:
                self._search_for(self._query)
            else:
                self._show()
        elif changed or gone or problem:
            if query := self._query:
                results = self._index.search(query, changed)
                hits = await asyncio.to_thread(lambda: {row.name for row in results if row is not None})
                if query == self._query and self._found is not None:
                    self._found |= hits
            self._show()

    def _show(self, at: str | None = None) -> None:
        found = self._found
        self._list.found = {name: line_of(hit) for name, hit in self._passages.items()}
        rows = [row for row in self._all.values() if found is None or row.name in found]
        depths: dict[str, int] = {}
        match SORTS[self._sort]:
            case "longest":
                rows.sort(key=lambda row: -(row.seconds or 0.0))
            case "most expensive":
                rows.sort(key=lambda row: -(row.cost or 0.0))
            case "by title":
                rows.sort(key=lambda row: (not row.heading, natural_key(row.heading)))
            case _ if found is None:
                families = with_families(rows)
                rows = [row for row, _ in families]
                depths = {row.name: depth for row, depth in families}
            case _:
                pass
        self._list.depths = depths
        self._list.show(rows, at)
        self._show_title()

    def _show_title(self) -> None:
        count, shown = len(self._all), len(self._list.listed)
        counted = quantity(count, "session")
        if self._found is not None:
            counted = f"{shown:,} of {counted}"
        search = ""
        if self._found is not None:
            search = f"filter: {tail_cut(clean_line(self._query, 200), _QUERY_CELLS)} · "
            search += f"{self.keys.shown('screen.leave')} clears"
        marked = "1 marked" if self._list.marked else ""
        parts = (search, marked, self._activity, SORTS[self._sort], counted)
        facts = " · ".join(filter(None, parts))
        title = self.query_one(TitleLine)
        title.show("Sessions", place=str(self._index.sessions), facts=facts)

    def on_keyed_list_highlighted(self) -> None:
        """Show details of the session under the cursor."""
        chosen, detail = self._list.chosen, self.query_one("#sessions-detail", Words)
        if chosen is None:
            text = "Nothing found." if self._found is not None else "No sessions yet."
            detail.update("" if self._activity else self._problem or text)
            return
        facts = [f"{chosen.state}: {chosen.why}" if chosen.why else chosen.state]
        if chosen.name == self._current:
            facts.append("current session")
        if chosen.demo:
            facts.append("demo")
        facts.append(chosen.name)
        if chosen.forked_from:
            facts.append(f"fork of {chosen.forked_from}")
        if chosen.artifacts is not None:
            facts.append(quantity(chosen.artifacts, "file"))
        below = Content(chosen.query if chosen.title else "")
        if self._found is not None and (hit := self._passages.get(chosen.name)) is not None:
            marked = [(text, "$text-accent bold" if is_match else "") for text, is_match in pieces_of(hit)]
            below = Content.assemble((f"{kind_name(hit.kind)}: ", "$text-muted"), *marked)
        detail.update(Content("\n").join([Content(" · ".join(facts)), below]))

    def _show_notice(self, problem: str) -> None:
        """Show why only titles and journals are searched; nothing without a problem."""
        notice = f"Only titles and journals are searched. {clean_line(problem, 1_000)}"
        self.query_one("#sessions-notice", Words).show(notice if problem else "")

    def action_sort(self) -> None:
        """Change the sort order."""
        self._sort = (self._sort + 1) % len(SORTS)
        self._show()

    # -- what is done with a session ---------------------------------------------------------------

    def on_keyed_list_opened(self) -> None:
        """Read the session under the cursor."""
        self._open(partial(open_read_only, self.app))

    def action_replay(self) -> None:
        """Replay the session under the cursor."""
        self._open(partial(open_read_only, self.app, command="replay"))

    def _open(self, show: Callable[[Path], object]) -> None:
        if (chosen := self._list.chosen) is not None:
            try:
                show(self._index.folder(chosen.name))
            except JournalError as error:
                # The short reason of the list, because a long path would be wrapped.
                why = f"{chosen.name} cannot be opened: {chosen.why}."
                self.warn(why if chosen.state == "corrupt" else error.advice.sentence)
            except UniversalAgentError as error:
                self.warn(error.advice.sentence)

    def action_resume(self) -> None:
        """Resume the session under the cursor."""
        chosen = self._list.chosen
        if chosen is None:
            return
        if chosen.name == self._current:
            self.warn("This is the current session.")
        elif chosen.state == "running":
            self.warn("This session is running in another program: quit that program first.")
        elif chosen.state == "corrupt":
            self.warn(f"This session cannot be resumed: {chosen.why}.")
        else:
            resumed = partial(open_resumed, self.app, base=self._index.base)
            self._open(resumed if self._comes_back else self.dismiss)

    def action_export(self) -> None:
        """Export the session under the cursor."""
        chosen = self._list.chosen
        if chosen is None:
            return
        if chosen.state == "corrupt":
            self.warn(f"This session cannot be exported: {chosen.why}.")
        else:
            export_session(self.app, self._index.folder(chosen.name))

    def action_mark(self) -> None:
        """Mark the session under the cursor, or no longer."""
        if (chosen := self._list.chosen) is not None:
            self._list.toggle_mark(chosen.name)
            self._show_title()

    def action_compare(self) -> None:
        """Compare the session under the cursor with the marked one, or else with the current one."""
        from ua_tui.tui.screens.session.comparison import ComparisonScreen

        chosen = self._list.chosen
        others = {name: None for name in (self._list.marked, self._current) if name in self._all}
        if chosen is None or not (names := [name for name in others if name != chosen.name]):
            mark = self.keys.shown("sessions.mark")
            self.warn(f"Mark one session with {mark}, then compare another one with it.")
            return
        # The older one is what the newer one is compared with.
        a, b = map(self._index.folder, sorted((chosen.name, names[0]), key=natural_key))
        self.app.push_screen(ComparisonScreen(a, b))

    def action_delete(self) -> None:
        """Delete the session under the cursor after a confirmation."""
        chosen = self._list.chosen
        if chosen is None:
            return
        if chosen.state == "running" or chosen.name == self._current:
            self.warn("Running sessions cannot be deleted.")
            return

        def answered(confirmed: bool | None) -> None:
            if confirmed:
                start_job(self, self._delete, "delete", chosen.name)

        facts = "Deletes the session's folder and everything in it. Reports in SAVED_REPORTS are kept."
        if chosen.heading:
            facts = f"{chosen.name}. {facts}"
        self.app.push_screen(DeleteScreen(chosen.heading or chosen.name, facts), answered)

    async def _delete(self, name: str) -> None:
        try:
            problem = await asyncio.to_thread(self._index.delete, name)
        except UniversalAgentError as error:
            self.warn(error.advice.sentence)
            self._changes += 1
            self._all[name] = await asyncio.to_thread(self._index.refresh_one, name)
            self._show()
            return
        if problem:
            self.warn(as_sentence(problem))
        self._changes += 1
        self._all.pop(name, None)
        self._show()

    # -- the line ----------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Search titles, and what the sessions found and wrote."""
        self._open_line("search", "search titles, and what sessions found and wrote", self._query)

    def action_rename(self) -> None:
        """Give the session under the cursor a title."""
        if (chosen := self._list.chosen) is not None:
            self._renamed = chosen.name
            self._open_line("rename", "title; leave empty for the first query", chosen.title)

    _line_for = ""
    _renamed = ""

    def _open_line(self, what: str, placeholder: str, value: str) -> None:
        line = self.query_one("#sessions-line", Input)
        self._line_for = ""
        line.placeholder, line.value = placeholder, value
        self._line_for = what
        line.display = True
        # At once: letters typed next would be keys of the list.
        self.set_focus(line)

    def _close_line(self) -> None:
        self._line_for = ""
        self.query_one("#sessions-line", Input).display = False
        self.set_focus(self._list)

    @on(Input.Changed, "#sessions-line")
    def _search_typed(self, event: Input.Changed) -> None:
        if self._line_for == "search" and event.value.strip() != self._query:
            self._search_for(event.value.strip())

    @on(Input.Submitted, "#sessions-line")
    def _submit_line(self, event: Input.Submitted) -> None:
        if self._line_for == "rename":
            name, title = self._renamed, event.value
            start_job(self, self._rename, "rename", name, title)
        self._close_line()

    async def _rename(self, name: str, title: str) -> None:
        try:
            renamed = await asyncio.to_thread(self._index.rename, name, title)
        except UniversalAgentError as error:
            self.warn(error.advice.sentence)
            return
        self._changes += 1
        self._all[name] = renamed
        self._show()

    def _search_for(self, query: str) -> None:
        self._query = query
        self._activity = "searching" if query else ""
        self._found = set() if query else None
        self._passages = {}
        if not query:
            self._show_notice("")
        else:
            folded = query.casefold().split()
            # What is in memory is searched at once; journals are searched after that.
            self._found = {
                row.name
                for row in self._all.values()
                for text in [f"{row.title} {row.query} {row.name}".casefold()]
                if all(word in text for word in folded)
            }
        self._show()
        start_job(self, self._search, "search", query)

    async def _search(self, query: str) -> None:
        if not query:
            return
        # Do not read journals for half a word while the person types.
        await asyncio.sleep(TYPING_SECONDS)
        await self._search_knowledge(query)
        among = [row for row in self._all.values() if self._found is not None and row.name not in self._found]
        results, done, drawn = self._index.search(query, among), 0, time.monotonic()
        while (batch := await asyncio.to_thread(_some, results)) and query == self._query:
            done += len(batch)
            hits = {row.name for row in batch if row is not None}
            assert self._found is not None
            self._found |= hits
            self._activity = f"searching {done / max(1, len(among)):.0%}"
            if time.monotonic() - drawn > REDRAW_SECONDS:
                drawn = time.monotonic()
                self._show()
        if query == self._query:
            self._activity = ""
            self._show()

    async def _search_knowledge(self, query: str) -> None:
        """Add the sessions with hits in the knowledge base; those that are not in it are found in their journals."""
        found = await self._reader.search(query, limit=MOST_HITS, patient=True)
        if query != self._query or self._found is None:
            return
        self._show_notice(found.problem if found.failed else "")
        for hit in found.hits:
            name = hit.session.rpartition("/")[2]
            # One with some of the words tells more about a session that is listed anyway.
            if name in self._all and (hit.full or name in self._found):
                self._passages.setdefault(name, hit)
        self._found |= self._passages.keys()
        self._show()

    def action_leave(self) -> None:
        """Close the line, then the search, then the screen."""
        if self._line_for:
            if self._line_for == "search":
                self._search_for("")
            self._close_line()
        elif self._found is not None:
            self._search_for("")
        else:
            self.dismiss(None)


def _some(results: Iterator[Item]) -> Sequence[Item]:
    """Return the items that come within a time slice, at least one if there is any."""
    until, items = time.monotonic() + 0.05, list[Item]()
    for each in results:
        items.append(each)
        if time.monotonic() > until:
            break
    return items
