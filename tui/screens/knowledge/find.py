"""Finds what any session found or wrote: results while typing, and the way to each file, call and session."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from textual import events, on
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from ua_tui.core.concurrency.cancellation import in_thread
from ua_tui.core.errors import KnowledgeError, UniversalAgentError
from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.units import quantity
from ua_tui.core.knowledge.place import folder_path
from ua_tui.core.knowledge.records import Hit, Results
from ua_tui.core.records.journal_reader import read_call
from ua_tui.core.text import as_sentence, clean_line
from ua_tui.core.toolkit.knowledge.earlier_articles import article_of
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.format import moment, tail_cut
from ua_tui.tui.screens.files.article import ArticleScreen
from ua_tui.tui.screens.files.link import follow_link
from ua_tui.tui.screens.files.viewer import ViewerScreen
from ua_tui.tui.screens.knowledge.hit_list import HitList
from ua_tui.tui.screens.knowledge.hit_text import citation, kind_name, title_of
from ua_tui.tui.screens.knowledge.reader import KnowledgeReader
from ua_tui.tui.screens.session.open_session import open_read_only
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.passage import Passage
from ua_tui.tui.viewers.reader import missing_reason
from ua_tui.tui.viewers.view.chrome import KeyLine, TitleLine
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

POLL_SECONDS = 0.7
"""How often the screen checks for something new."""
MOST_HITS = 50
_LONGEST = 4_000
_PLACEHOLDER = 'words, "a phrase", -without, last week, site: kind: session: tool: since: published:'
_EMPTY = "There is nothing yet. What sessions find or write appears here as it is saved."
_SHORTEST = 3
"""Letters of a word, of which fewer are searched as a whole word."""
_UNFINISHED = "Nothing contains the last word. Keep typing, or delete it."


@dataclass(frozen=True, slots=True)
class SessionAccess:
    """The session that is shown, which is not opened again.

    Attributes:
        show_current: shows the panes of the running session.
        current: the folder of that session; None if there is none.
        is_read_only: whether that session is a past one, too.
    """

    show_current: Callable[[], object] = lambda: None
    current: Path | None = None
    is_read_only: bool = False


def show_find(
    app: App[str], database: KnowledgePlace | None, sessions: SessionAccess, words: str = ""
) -> None:
    """Show what any session found for these words; a search that is in front goes to them."""
    if isinstance(app.screen, FindScreen):
        app.screen.search_for(words)
    else:
        app.push_screen(FindScreen(database, sessions, words))


class _Words(Input):
    """A line in which a letter with Alt is a key of the screen, and no text."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Leave letters with Alt to the screen."""
        return not key.startswith("alt+") and super().check_consume_key(key, character)

    async def _on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):
            event.prevent_default()


class FindScreen(Modal[None]):
    """Searches the knowledge base.

    Args:
        database: the file; None if the settings turn the knowledge base off.
        sessions: the session that is shown.
        words: what to search for first.
    """

    PARTS = (HitList,)
    BINDINGS = bindings("FindScreen")
    AUTO_FOCUS = "#find-line"

    def __init__(self, database: KnowledgePlace | None, sessions: SessionAccess, words: str = "") -> None:
        super().__init__()
        self._reader = KnowledgeReader(database)
        self._place = database
        self._sessions = sessions
        self._results = Results()
        self._asked = ""
        self._waits = False
        self._opens_first = False
        self._words = clean_line(words, _LONGEST)
        self._list = HitList(id="find-hits")

    def compose(self) -> ComposeResult:
        """Create the title, the line, the hits, the details and the keys."""
        yield TitleLine()
        yield _Words(self._words, _PLACEHOLDER, id="find-line", compact=True, select_on_focus=False)
        yield Static(id="find-notice")
        yield self._list
        yield Static(id="find-detail")
        yield KeyLine()

    def on_mount(self) -> None:
        """Search for the first words, and check for new ones regularly."""
        self._ask(delay=0)
        start_job(self, self._poll, "poll")

    def on_unmount(self) -> None:
        """Close the knowledge base, for which the application does not wait: all threads may be busy."""
        asyncio.get_running_loop().run_in_executor(None, self._reader.close)

    @property
    def _line(self) -> Input:
        return self.query_one("#find-line", Input)

    # -- searching ---------------------------------------------------------------------------------

    def search_for(self, words: str) -> None:
        """Go to the words, and replace them unless there are no others."""
        if words:
            self._line.value = clean_line(words, _LONGEST)
        self._line.focus()

    @on(Input.Changed, "#find-line")
    def _words_changed(self, event: Input.Changed) -> None:
        if event.value != self._asked:
            self._ask()

    def _ask(self, *, delay: float = 0.06, keep: bool = False) -> None:
        """Ask again after a pause in typing; a question that has no answer yet is stopped."""
        self._asked = self._line.value
        self._waits, self._opens_first = True, False
        start_job(self, partial(self._search, self._asked, delay, keep=keep), "search")

    async def _search(self, words: str, delay: float, *, keep: bool) -> None:
        await asyncio.sleep(delay)
        results = await self._reader.search(words, limit=MOST_HITS)
        self._waits = False
        begun = words.rpartition(" ")[2]
        if 0 < len(begun) < _SHORTEST and self._list.chosen and not (results.hits or results.problem):
            # The hits of the text before stay until the word is longer.
            self._show_notices([_UNFINISHED])
            return
        self._show(results, keep=keep)
        if results.partial:
            # The person waits, as the next key would have stopped this.
            results = await self._reader.search(words, limit=MOST_HITS, patient=True)
            self._show(results, keep=True)

    def _show(self, results: Results, *, keep: bool) -> None:
        self._results = results
        self._list.show_hits(results.hits, self._messages(results), keep=keep)
        self._show_title()
        self._show_notices(results.notices)
        if self._opens_first:
            self.action_open()

    def _show_notices(self, notices: Sequence[str]) -> None:
        line = self.query_one("#find-notice", Static)
        line.display = bool(notices)
        line.update(Content(clean_line(" ".join(map(as_sentence, notices)), 400)))

    async def _poll(self) -> None:
        """Ask again when something was stored."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self.is_current and not self._waits and await self._reader.changed():
                self._ask(delay=0, keep=True)

    def _messages(self, results: Results) -> list[str]:
        if results.problem:
            return [clean_line(results.problem, 1_000)]
        if not self._asked.strip():
            return [_EMPTY]
        return [
            "Nothing found.",
            "Try other words. Words match only from their beginning.",
        ]

    def action_only(self, dimension: str) -> None:
        """Narrow the words to the kind, the site or the session of the hit under the cursor, or no longer."""
        words = self._line.value.strip()
        others = re.sub(rf'(?:^|(?<=\s)){dimension}:(?:"[^"]*"|\S*)\s*', "", words)
        if others == words:
            value = str(getattr(self._list.chosen, dimension, "")).rpartition("/")[2]
            if not value:
                self.notify(f"This hit has no {dimension}.", markup=False)
                return
            # Before the words, of which the last one may be incomplete.
            others = f"{dimension}:{value} {words}"
        self._line.value = others
        self._line.cursor_position = len(others)

    # -- title, details and keys -------------------------------------------------------------------

    def on_resize(self) -> None:
        """Fit the details to the width."""
        if self.is_mounted:
            self._show_detail()

    def _show_title(self) -> None:
        results = self._results
        counted = quantity(len(results.hits), "hit")
        if not self._line.value.strip():
            counted = "the newest"
        elif len(results.hits) >= MOST_HITS:
            counted = f"first {counted}"
        facts = (
            "not all words" if results.relaxed else "",
            "stopped early, more may match" if results.partial else "",
            counted if results.hits else "",
        )
        self.query_one(TitleLine).show("Find", place="in all sessions", facts=" · ".join(filter(None, facts)))

    def on_keyed_list_highlighted(self) -> None:
        """Show the details of the hit under the cursor."""
        self._show_detail()
        self._offer_keys()

    def _show_detail(self) -> None:
        hit, detail = self._list.chosen, self.query_one("#find-detail", Static)
        if hit is None:
            detail.update("")
            return
        verb = {"article": "fetched", "query": "asked", "answer": "answered"}.get(hit.kind, "saved")
        name = hit.session.rpartition("/")[2]
        title = hit.session_title or name
        facts = (
            f"{verb} {moment(hit.made_at)}",
            f"by {clean_line(hit.author, 60)}" if hit.author else "",
            clean_line(tool_name(hit.tool).short, 60) if hit.tool else "",
            f"session: {clean_line(title, 120)}" if title else "",
        )
        where = clean_line(hit.url or hit.path or name, 1_000)
        lines = (where, " · ".join(filter(None, facts)))
        width = max(1, self.size.width - 2)
        detail.update(Content("\n").join(Content(tail_cut(line, width)) for line in lines))

    def on_descendant_focus(self) -> None:
        """Offer the keys of the focused part."""
        self._offer_keys()

    def _offer_keys(self) -> None:
        hit, typing = self._list.chosen, self.focused is self._line
        call_key, session, cite, kind = ("Alt+P", "Alt+S", "Alt+Y", "Alt+K") if typing else "psyK"
        keys = []
        if hit is not None:
            call = [(call_key, "call", "screen.open('call')")] if hit.tool_use_id is not None else []
            keys = [
                ("Enter", "open", "screen.open"),
                *call,
                (session, "session", "screen.open('session')"),
                (cite, "cite", "screen.cite"),
                (kind, "this kind", "screen.only('kind')"),
            ]
        if typing:
            keys.insert(1, ("↓", "hits", "screen.move('cursor_down')"))
        else:
            keys.append(("/", "words", "screen.edit"))
        self.query_one(KeyLine).show_keys(*keys, ("Esc", "back", "screen.close"))

    # -- keys --------------------------------------------------------------------------------------

    async def on_key(self, event: events.Key) -> None:
        """Add what is typed in the list, or before anything has the focus, to the words."""
        if self.focused is self._line or not event.is_printable or event.character is None:
            return
        event.stop()
        event.prevent_default()
        if self.focused is None or not await self.app._check_bindings(event.key):
            self._line.focus()
            self._line.insert_text_at_cursor(event.character)

    def action_move(self, action: str, *by: int) -> None:
        """Move in the list, which gets the focus, so that its letters are keys; others are added to the words."""
        self._list.focus()
        move: Callable[..., None] = getattr(self._list, f"action_{action}")
        move(*by)

    def action_step(self) -> None:
        """Focus the hits, or the words again."""
        (self._list if self.focused is self._line else self._line).focus()

    def action_edit(self) -> None:
        """Change the words."""
        self._line.focus()

    @on(Input.Submitted, "#find-line")
    @on(HitList.Opened)
    def _opened(self) -> None:
        self.action_open()

    def action_open(self, what: Literal["passage", "call", "session"] = "passage") -> None:
        """Open the hit at its passage, its tool call or its session."""
        if self._waits and what == "passage":
            # The hits on screen are those of other words.
            self._opens_first = True
        elif self._place is not None and (hit := self._list.chosen) is not None:
            start_job(self, partial(self._open, self._place, hit, what), "open")

    async def _open(
        self, place: KnowledgePlace, hit: Hit, what: Literal["passage", "call", "session"]
    ) -> None:
        try:
            if what == "passage" and not (hit.path and folder_path(place, hit.session)):
                await self._open_text(hit)
            elif what == "call" and hit.tool_use_id is None:
                self.notify("This did not come from a tool call.", markup=False)
            else:
                await self._open_in_session(hit, await _folder_of(place, hit), what)
        except UniversalAgentError as error:
            self.warn(clean_line(str(error), 400))

    async def _open_text(self, hit: Hit) -> None:
        """Show the text of the knowledge base, for what has no file on this machine."""
        found = await self._reader.ask(lambda search: search.document(hit.id))
        if found is None:
            raise KnowledgeError("This is no longer in the knowledge base.")
        article = msgspec.structs.replace(article_of(found), title=title_of(hit))
        kind = kind_name(hit.kind).capitalize()
        self.app.push_screen(ArticleScreen(article, kind, passage=_passage_of(hit)))

    def _is_current(self, folder: Path) -> bool:
        current = self._sessions.current
        return current is not None and current.resolve() == folder.resolve()

    async def _open_in_session(self, hit: Hit, folder: Path, what: str) -> None:
        is_current = self._is_current(folder)
        read_only = not is_current or self._sessions.is_read_only

        def view(path: str | None, passage: Passage | None = None) -> None:
            if path:
                self.app.push_screen(
                    ViewerScreen(folder / path, folder, read_only=read_only, passage=passage)
                )

        if what == "session" and is_current:
            self._sessions.show_current()
        elif what == "session":
            open_read_only(self.app, folder)
        elif what == "passage":
            if why := await asyncio.to_thread(missing_reason, folder, hit.path):
                raise KnowledgeError(why)
            view(hit.path, _passage_of(hit))
        else:
            call = await in_thread(read_call, folder, hit.tool_use_id or "")
            if call is None:
                raise KnowledgeError("The call that made this is not in the journal of its session.")
            self.app.push_screen(ToolCallScreen(call, folder=folder, read_only=read_only), view)

    def action_cite(self) -> None:
        """Copy a citation of the hit."""
        if (hit := self._list.chosen) is not None:
            copy_text(self, citation(hit), "Citation")

    def action_open_link(self) -> None:
        """Ask before the page of the hit is opened in the browser."""
        hit = self._list.chosen
        if hit is not None and hit.url:
            follow_link(self, hit.url)
        elif hit is not None:
            self.notify("This hit has no address.", markup=False)


async def _folder_of(place: KnowledgePlace, hit: Hit) -> Path:
    """The folder of the session of a hit; raises a `KnowledgeError` if it is not here."""
    folder = folder_path(place, hit.session)
    if folder is None:
        host, _, there = hit.session.partition(":")
        raise KnowledgeError(
            f"It is on another machine, {clean_line(host, 60)}, in the folder {clean_line(there, 200)}."
        )
    if not await asyncio.to_thread(folder.is_dir):
        name = clean_line(folder.name, 80)
        raise KnowledgeError(f"The session {name} no longer exists: it was deleted or moved.")
    return folder


def _passage_of(hit: Hit) -> Passage | None:
    """Return where the file of a hit is to be shown; None for its beginning."""
    start, end = hit.marks[0] if hit.marks else (0, 0)
    row = hit.part if hit.kind == "search_row" and hit.part > 0 else 0
    if not (row or hit.passage):
        return None
    return Passage(hit.passage, at=start, word=hit.passage[start:end].strip(), row=row)
