"""The blacklist of the web reader: a dialog to see and clear its sites."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.content import Content

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.core.web_reader import Blacklist, Listing
from ua_tui.tui.widgets.choice_list import ChoiceList
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, Words
from ua_tui.tui.workers import start_job

_EMPTY = (
    "No sites are listed. A site is listed for a day if the web reader cannot read one of its pages, and for 30 days "
    "after three such errors."
)
_WHAT = "The web reader cannot read pages of these sites. They are skipped until the date shown."


class BlacklistScreen(Dialog[None]):
    """Lists the sites with their errors; clearing a site deletes its errors, too."""

    def __init__(self, blacklist: Blacklist) -> None:
        box = Box(
            "Web reader blacklist",
            "",
            Words("Reading the list…", id="blacklist-what"),
            ChoiceList(id="blacklist-sites"),
            Foot(
                Choice("d", "Clear", "clear", disabled=True),
                Choice("a", "Clear all", "clear-all", "clear_all", disabled=True),
                Choice("Esc", "Close", "close"),
            ),
        )
        super().__init__(box, requested=True)
        self._blacklist = blacklist
        self._entries: list[Listing] = []
        self._confirming = False

    def on_mount(self) -> None:
        """Read the list."""
        self._work(None)

    def on_option_list_option_highlighted(self) -> None:
        """Cancel the confirmation of clearing everything."""
        if self._confirming:
            self._confirming = False
            self._explain(_WHAT)

    def action_clear(self) -> None:
        """Clear the chosen site."""
        at = self.query_one(ChoiceList).highlighted
        if at is not None and at < len(self._entries) and self.accepts_answers:
            host = self._entries[at].host
            self._work(lambda: self._blacklist.clear(host))

    def action_clear_all(self) -> None:
        """Clear every site, after a second press."""
        if not self._entries or not self.accepts_answers:
            return
        if len(self._entries) > 1 and not self._confirming:
            self._confirming = True
            self._explain(f"Press a again to clear all {len(self._entries)} sites.")
            return
        self._work(self._blacklist.clear)

    def _work(self, change: Callable[[], object] | None) -> None:
        self._confirming = False
        start_job(self, self._change_and_read, "blacklist", change)

    async def _change_and_read(self, change: Callable[[], object] | None) -> None:
        try:
            if change is not None:
                await asyncio.to_thread(change)
            self._entries = await asyncio.to_thread(self._blacklist.entries)
        except UniversalAgentError as error:
            self._explain(clean_line(error.advice.sentence, 500))
            return
        self._show()

    def _show(self) -> None:
        sites = self.query_one(ChoiceList)
        sites.show_rows(map(_row, self._entries))
        sites.display = bool(self._entries)
        self.query_one("#clear", Choice).disabled = not self._entries
        self.query_one("#clear-all", Choice).disabled = not self._entries
        self._explain(_WHAT if self._entries else _EMPTY)
        if self._entries:
            sites.focus()
        else:
            self.query_one("#close", Choice).focus()

    def _explain(self, text: str) -> None:
        self.query_one("#blacklist-what", Words).update(text)


def _row(entry: Listing) -> Content:
    errors = f"{len(entry.strikes)} errors" if len(entry.strikes) > 1 else "1 error"
    if entry.expires is not None:
        standing = Content.styled(f"until {entry.expires.astimezone():%Y-%m-%d}", "$text-warning")
    else:
        standing = Content.styled("no longer skipped", "$text-muted")
    last = f"{errors}, last: {entry.last_error} at {clean_line(entry.strikes[-1].url, 200)}"
    return Content.assemble(
        (clean_line(entry.host, 253), "bold"), "  ", standing, "\n  ", Content.styled(last, "$text-muted")
    )
