"""Finds what any session found or wrote: results while typing, and the way to each file, call and session."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.widgets import Input

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
from ua_tui.tui.render.format import moment
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
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.modal import Modal
from ua_tui.tui.workers import start_job

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

Part = Literal["passage", "call", "session"]
POLL_SECONDS = 3.0
"""How often the screen asks again: sessions may have stored something."""
MOST_HITS = 50
_LONGEST = 4_000
_PLACEHOLDER = 'words, "a phrase", -without, last week, site: kind: session: tool: since: published:'
_EMPTY = "There is nothing yet. What sessions find or write appears here as it is saved."
_NOTHING = "Nothing found.\nTry other words. Words match only from their beginning."
_SHORTEST = 3
"""Letters of a word, of which fewer are searched as a whole word."""
_UNFINISHED = "Nothing contains the last word. Keep typing, or delete it."


@dataclass(frozen=True, slots=True)
class SessionAccess:
    """The session that is shown, which is not opened again.

    Attributes:
        show_current: shows the panes of the running session.
        current: the folder of that session, without links; None if there is none.
        is_read_only: whether that session is a past one, too.
    """

    show_current: Callable[[], object] = lambda: None
    current: Path | None = None
    is_read_only: bool = False


class _Line(Input):
    """A line in which a letter with Alt is a key of the screen, and no text."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Leave letters with Alt to the screen."""
        return not key.startswith("alt+") and super().check_consume_key(key, character)

    async def _on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):
            event.prevent_default()


class FindScreen(Modal[None]):
    """Searches the knowledge base, at first for `words`; `database` is None if the settings turn it off."""

    PARTS = (HitList,)
    BINDINGS = bindings("FindScreen")
    AUTO_FOCUS = "#find-line"

    def __init__(self, database: KnowledgePlace | None, sessions: SessionAccess, words: str = "") -> None:
        super().__init__()
        self._reader = KnowledgeReader(database)
        self._place = database
        self._sessions = sessions
        self._asked = self._shown = ""
        self._results = Results()
        self._waits = False
        self._opens_first = False
        self._words = clean_line(words, _LONGEST)
        self._notice = Words(id="find-notice")
        self._list = HitList(id="find-hits")
        self._detail = Words(id="find-detail")

    def compose(self) -> ComposeResult:
        """Create the title, the line, the hits, the details and the keys."""
        self._line = _Line(self._words, _PLACEHOLDER, id="find-line", compact=True, select_on_focus=False)
        yield from (TitleLine(), self._line, self._notice, self._list, self._detail, KeyLine())

    def on_mount(self) -> None:
        """Search for the first words, and again regularly."""
        self._ask(delay=0)
        start_job(self, self._poll, "poll")

    def on_unmount(self) -> None:
        """Close the knowledge base, for which the application does not wait: all threads may be busy."""
        asyncio.get_running_loop().run_in_executor(None, self._reader.close)

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
        results = await self._reader.search(words, limit=MOST_HITS, patient=keep)
        self._waits = False
        begun = words.rpartition(" ")[2]
        if 0 < len(begun) < _SHORTEST and self._list.chosen and not (results.hits or results.problem):
            # The hits of the text before stay until the word is longer.
            self._notice.show(_UNFINISHED)
            return
        self._show(results, keep=keep)
        if results.partial and not keep:
            # The person waits, as the next key would have stopped this.
            results = await self._reader.search(words, limit=MOST_HITS, patient=True)
            self._show(results, keep=True)

    def _show(self, results: Results, *, keep: bool) -> None:
        self._shown = self._asked
        # Scores change with time.
        results = replace(results, hits=[msgspec.structs.replace(hit, score=0.0) for hit in results.hits])
        if results != self._results or not keep:
            self._results = results
            nothing = _NOTHING if self._asked.strip() else _EMPTY
            self._list.show_hits(results.hits, clean_line(results.problem, 1_000) or nothing, keep=keep)
            self._show_title(results)
            self._notice.show(clean_line(" ".join(map(as_sentence, results.notices)), 400))
        if self._opens_first:
            self._opens_first = False
            self.action_open()

    async def _poll(self) -> None:
        while True:
            # A search that took long on a large base, or on a busy server, is repeated less often.
            await asyncio.sleep(POLL_SECONDS + self._results.ms / 100)
            if self.is_current and not self._waits:
                self._ask(delay=0, keep=True)

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

    def _show_title(self, results: Results) -> None:
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
        hit = self._list.chosen
        self._detail.update(_details(hit) if hit is not None else "")
        self._offer_keys()

    def on_descendant_focus(self) -> None:
        """Offer the keys of the focused part."""
        self._offer_keys()

    def _offer_keys(self) -> None:
        hit, typing = self._list.chosen, self.focused is self._line
        call, session, cite, kind = ("Alt+P", "Alt+S", "Alt+Y", "Alt+K") if typing else "psyK"
        self.query_one(KeyLine).show_keys(
            hit is not None and ("Enter", "open", "screen.open"),
            typing and ("↓", "hits", "screen.move('cursor_down')"),
            hit is not None and hit.tool_use_id is not None and (call, "call", "screen.open('call')"),
            hit is not None and (session, "session", "screen.open('session')"),
            hit is not None and (cite, "cite", "screen.cite"),
            hit is not None and (kind, "this kind", "screen.only('kind')"),
            not typing and ("/", "words", "app.focus('find-line')"),
            ("Esc", "back", "screen.close"),
        )

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

    @on(Input.Submitted, "#find-line")
    @on(HitList.Opened)
    def _opened(self) -> None:
        self.action_open()

    def action_open(self, what: Part = "passage") -> None:
        """Open the hit at its passage, its tool call or its session."""
        if what == "passage" and self._waits and (self._asked != self._shown or not self._list.chosen):
            # The hits on screen are those of other words, or there are none yet.
            self._opens_first = True
        elif self._place is not None and (hit := self._list.chosen) is not None:
            start_job(self, partial(self._open, self._place, hit, what), "open")

    async def _open(self, place: KnowledgePlace, hit: Hit, what: Part) -> None:
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

    async def _open_in_session(self, hit: Hit, folder: Path, what: Part) -> None:
        is_current = folder == self._sessions.current
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


def _details(hit: Hit) -> str:
    """Where a hit is from, and on a second line when, by whom and in which session it was found."""
    verb = {"article": "fetched", "query": "asked", "answer": "answered"}.get(hit.kind, "saved")
    name = hit.session.rpartition("/")[2]
    facts = (
        f"{verb} {moment(hit.made_at)}",
        f"by {clean_line(hit.author, 60)}" if hit.author else "",
        clean_line(tool_name(hit.tool).short, 60) if hit.tool else "",
        f"session: {clean_line(hit.session_title or name, 120)}",
    )
    return "\n".join((clean_line(hit.url or hit.path or name, 1_000), " · ".join(filter(None, facts))))


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
