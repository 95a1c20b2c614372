"""Following a link: never without the dialog that names its host."""

from __future__ import annotations

from textual.dom import DOMNode

from tui.terminal.copy import copy_text
from tui.terminal.links import browser_link

__all__ = ["follow_link"]


def follow_link(owner: DOMNode, url: str) -> None:
    """Ask what to do with `url`, which is as untrusted as the text it stands in, and do that."""
    from tui.screens.files.link import LinkScreen

    link = browser_link(url)

    def settle(answer: str | None) -> None:
        if answer == "copy":
            copy_text(owner, url, "Link")
        elif answer == "open" and link is not None:
            owner.app.open_url(link.url)

    owner.app.push_screen(LinkScreen(url), settle)
