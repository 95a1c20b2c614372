"""Asks before a link is opened in the browser, and lets the person choose one of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from textual.app import App
from textual.dom import DOMNode

from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.screens.requests.arguments import reveal
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.terminal.links import browser_link, leads_to
from ua_tui.tui.viewers.view.links import FoundLink
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, Words, fields

Answer = Literal["open", "copy"]


class LinkScreen(Dialog[Answer | None]):
    """Shows where a link leads; web links can be opened or copied, others only copied.

    Args:
        url: the address, which is untrusted.
        note: a sentence above it.
    """

    FIRST = "copy"

    def __init__(self, url: str, note: str = "") -> None:
        self.url = url
        self.note = note
        self._link = link = browser_link(url)
        box = Box(
            "Link",
            "",
            *([Words(note)] if note else []),
            Words(fields(("Opens", leads_to(link))), "facts"),
            Words(reveal(url[:2000]), "link"),
            Foot(
                Choice("o", "Open", "open", "choose('open')", disabled=link is None),
                Choice("y", "Copy", "copy", "choose('copy')"),
                Choice("Esc", "Close", "close"),
            ),
        )
        super().__init__(box, requested=True)

    def action_choose(self, what: Answer) -> None:
        """Answer, unless the link cannot be opened."""
        if what == "copy" or self._link is not None:
            self.answer(what)


def follow_link(owner: DOMNode, url: str, *, note: str = "") -> None:
    """Ask whether to open or copy `url`, which is untrusted, and do what the person chooses.

    `note` is a sentence above the address.
    """
    link = browser_link(url)

    def answered(answer: str | None) -> None:
        if answer == "copy":
            copy_text(owner, url, "Link")
        elif answer == "open" and link is not None:
            owner.app.open_url(link.url)

    owner.app.push_screen(LinkScreen(url, note), answered)


def choose_link(app: App[Any], links: Sequence[FoundLink], choose: Callable[[str], object]) -> None:
    """Offer links by their text and their host, with their addresses; `choose` gets that of the chosen one."""
    from textual.command import SimpleCommand

    from ua_tui.tui.screens.application.command_palette import Palette

    commands = (
        SimpleCommand(_name_of(each), partial(choose, each.url), each.text and clean_line(each.url, 400))
        for each in links
    )
    app.push_screen(Palette(app.screen, commands, "Search for links…"))


def _name_of(link: FoundLink) -> str:
    if not link.text:
        return clean_line(link.url, 400)
    leads = browser_link(link.url)
    host = "not a web link" if leads is None else leads.host.removeprefix("www.")
    return f"{tail_cut(link.text, 120)} · {host}"
