"""Opens the article of a row: its file in the viewer, or a page made from the row, or else its link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from textual.screen import Screen
from textual.widget import Widget

from ua_tui.core.text import clean, clean_line
from ua_tui.core.toolkit.articles import Article
from ua_tui.tui.screens.files.document import DocumentScreen
from ua_tui.tui.screens.files.link import follow_link
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.viewers.articles.page import article_body, find_article
from ua_tui.tui.viewers.bodies.page import PageBody
from ua_tui.tui.viewers.cursor_body import OpenArticle
from ua_tui.tui.viewers.passage import Passage
from ua_tui.tui.workers import start_job

_NOT_READ = "The session has not read this page."


class ArticleScreen(DocumentScreen[None]):
    """Shows an article that is part of another document, such as an entry of the corpus.

    Args:
        article: what is shown.
        kind: what it is.
        passage: the passage to show first, if it is there.
    """

    def __init__(self, article: Article, kind: str = "Article", *, passage: Passage | None = None) -> None:
        super().__init__()
        self.article = article
        self._kind = kind
        self._passage = passage

    def on_mount(self) -> None:
        """Show the article."""
        self.view.show(PageBody(article_body(self.article)))
        self.update_chrome()

    def on_document_view_laid_out(self) -> None:
        """Go to the passage."""
        if self._passage is not None and self.view.is_laid_out:
            start_job(self, self._go_to_passage, "passage", self._passage)
            self._passage = None

    async def _go_to_passage(self, passage: Passage) -> None:
        await self.view.show_passage(passage)
        self.update_chrome()

    def update_chrome(self) -> None:
        """Update the title and the keys."""
        title = clean_line(self.article.title or self.article.url, 200)
        self.title_line.show(title, facts=" · ".join([*self.search_facts(), self._kind]))
        has_link = bool(self.article.url)
        self.key_line.show_keys(
            ("Esc", "close", "screen.close"),
            *self.search_keys(),
            has_link and ("o", "open link", "screen.open_link"),
            has_link and ("y", "copy link", "screen.copy_link"),
            ("Y", "copy text", "screen.copy_text"),
            ("?", "keys", "app.keys_here"),
        )

    def action_open_link(self) -> None:
        """Ask before the page is opened in the browser."""
        if self.article.url:
            follow_link(self, self.article.url)

    def action_copy_link(self) -> None:
        """Copy the address."""
        if self.article.url:
            copy_text(self, self.article.url, "Link")

    def action_copy_text(self) -> None:
        """Copy the text of the article."""
        copy_text(self, clean(self.article.text), "Text")


async def open_article(
    owner: Widget | Screen[None],
    found: OpenArticle,
    session: Path | None,
    viewer: Callable[[Path], Screen[None]],
) -> None:
    """Open the article of a row, or ask whether to open its link if the session has not read the page.

    Args:
        owner: the widget or screen that the article is opened from.
        found: the row.
        session: the folder of the session with its articles; None if unknown.
        viewer: makes the screen that shows the file of the article.
    """
    page = found.page
    path = await asyncio.to_thread(find_article, session, found.path, page.url)
    if path is not None:
        owner.app.push_screen(viewer(path))
    elif page.text:
        owner.app.push_screen(ArticleScreen(page))
    elif page.url:
        follow_link(owner, page.url, note=_NOT_READ)
    else:
        owner.notify("This row has neither text nor an address.")
