"""The links of a document in a grid of number, text and site, to open one of them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import events, getters
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.terminal.links import browser_link
from ua_tui.tui.viewers.view.links import FoundLink
from ua_tui.tui.widgets.choice_list import LetterKeyList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot, Words

_MANY = 10
_GAP = "  "
_SITE, _ADDRESS = 28, 400
_FILTER = "type to filter by number, text or address"
_NO_WEB = "not a web link"


class LinksScreen(Dialog[str | None]):
    """Lists links by their text and their site, above the address of the chosen one; closes with it, or with None.

    Ten links and more are filtered by what is typed; fewer are chosen by their number, too.

    Args:
        links: the links; their addresses are untrusted.
        at: the index the cursor starts on.
    """

    _list = getters.query_one("#links-found", OptionList)

    def __init__(self, links: Sequence[FoundLink], at: int) -> None:
        super().__init__(requested=True)
        self.links = links
        self._first = at
        self._shown: list[int] = list(range(len(links)))
        self._addresses = [_address(link.url) for link in links]

    def compose(self) -> ComposeResult:
        """Create the filter, if there are many links, the list, the address and the keys."""
        with Box(quantity(len(self.links), "link"), "-links"):
            if len(self.links) >= _MANY:
                yield Input(placeholder=_FILTER, compact=True, id="links-filter")
            yield LetterKeyList(id="links-found")
            yield Words(id="links-address")
            close = self.keys.shown("screen.back")
            number = "" if len(self.links) >= _MANY else f"   1 to {len(self.links)} open by number"
            yield Foot(hint=f"Enter open (asks first){number}   {close} close")

    def on_mount(self) -> None:
        """Start on the first visible link."""
        fields = self.query(Input)
        (fields.first() if fields else self._list).focus()

    def on_resize(self) -> None:
        """Fit the columns to the width."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        found = self._list
        chosen = self._chosen
        width = found.scrollable_content_region.width
        found.set_options([Option(row) for row in self._rows(max(20, width))])
        at = self._first if chosen is None else chosen
        found.highlighted = self._shown.index(at) if at in self._shown else 0 if self._shown else None
        self._show_address()

    @property
    def _chosen(self) -> int | None:
        at = self._list.highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None

    def _rows(self, width: int) -> list[Content]:
        digits = len(str(len(self.links)))
        sites = [_site(link.url) for link in self.links]
        site = min(_SITE, max(map(cell_len, sites), default=0))
        room = max(8, width - digits - site - 2 * len(_GAP))
        address = 0
        if width >= 110:
            longest = max(cell_len(self._text(number)) for number in range(len(self.links)))
            narrow = min(longest, room // 2)
            room, address = narrow, room - narrow - len(_GAP)
        rows = []
        for number in self._shown:
            text = self._text(number)
            cut = tail_cut(text, room) if self.links[number].text else middle_cut(text, room)
            parts: list[str | tuple[str, str]] = [
                (f"{number + 1:>{digits}}{_GAP}", "$text-muted"),
                cut + " " * (room - cell_len(cut)) + _GAP,
                (tail_cut(sites[number], site).ljust(site), "$text-muted"),
            ]
            if address:
                parts.append((_GAP + middle_cut(self._addresses[number], address), "$text-muted"))
            rows.append(Content.assemble(*parts))
        return rows

    def _text(self, number: int) -> str:
        return self.links[number].text or self._addresses[number]

    def _show_address(self) -> None:
        chosen = self._chosen
        line = self.query_one("#links-address", Words)
        text = "No link contains this text." if chosen is None else self._addresses[chosen]
        line.update(middle_cut(text, max(8, 2 * line.content_size.width - 2)))

    def on_option_list_option_highlighted(self) -> None:
        """Show the address of the chosen link."""
        self._show_address()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show only the links with this number, or with this text in their text or address."""
        wanted = event.value.strip().casefold()
        self._shown = [
            number
            for number, link in enumerate(self.links)
            if str(number + 1) == wanted
            or wanted in link.text.casefold()
            or wanted in self._addresses[number].casefold()
        ]
        if wanted.isdecimal() and 0 < int(wanted) <= len(self.links):
            self._first = int(wanted) - 1
            self._list.highlighted = None
        self._draw()

    def on_input_submitted(self) -> None:
        """Close with the chosen link."""
        if (chosen := self._chosen) is not None:
            self.dismiss(self.links[chosen].url)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the chosen link."""
        self.dismiss(self.links[self._shown[event.option_index]].url)

    def on_key(self, event: events.Key) -> None:
        """Close with the link of a number."""
        if len(self.links) < _MANY and event.key.isdecimal() and 0 < int(event.key) <= len(self.links):
            event.stop()
            event.prevent_default()
            self.dismiss(self.links[int(event.key) - 1].url)

    def action_scroll_box(self, rows: int) -> None:
        """Move in the list instead, also while something is typed."""
        if self._shown:
            at = (self._list.highlighted or 0) + rows
            self._list.highlighted = max(0, min(at, len(self._shown) - 1))

    def action_close(self) -> None:
        """Clear the filter, then close."""
        fields = self.query(Input)
        if fields and fields.first(Input).value:
            fields.first(Input).value = ""
        else:
            self.dismiss(None)


def _site(url: str) -> str:
    """Return the host as the browser will use it."""
    leads = browser_link(url)
    return _NO_WEB if leads is None else leads.host.removeprefix("www.")


def _address(url: str) -> str:
    """Return the address with the host as the browser will use it, on one line."""
    leads = browser_link(url)
    if leads is None:
        return clean_line(url, _ADDRESS)
    return clean_line(leads.host + "".join(url.partition("://")[2].partition("/")[1:]), _ADDRESS)
