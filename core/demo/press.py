"""The demo's invented press: the articles and their dates, the results of searches, and their web pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ua_tui.core.demo.playbook import Pace

if TYPE_CHECKING:
    from jinja2 import Template

DOMAIN = ".example"
WORD = re.compile(r"[a-z0-9]{4,}")
COMMON_WORDS = frozenset({"news", "latest", "week", "this", "that", "with", "about", "what", "from", "today"})


class Theme(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A section of the press and paragraphs that fit any article in it."""

    section: str
    background: tuple[str, ...]


class DemoArticle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page; `status`, `robots` and `delay` (seconds) make it fail, deny access, or answer slowly."""

    kind: Literal["news", "web"]
    host: str
    path: str
    source: str
    author: str
    hours_ago: int
    theme: str
    title: str
    lead: str
    facts: tuple[str, ...]
    quote: str
    quote_by: str
    status: int = 200
    robots: Literal["allow", "deny"] = "allow"
    delay: float = 0.0

    @property
    def url(self) -> str:
        """Its address."""
        return f"https://{self.host}{self.path}"

    @property
    def age(self) -> str:
        """Its age in the words of a news search."""
        hours = self.hours_ago
        if hours < 24:
            return "1 hour ago" if hours == 1 else f"{hours} hours ago"
        days = hours // 24
        return "1 day ago" if days == 1 else f"{days} days ago"

    def published(self, now: datetime) -> datetime:
        """When it appeared, relative to `now`."""
        return now - timedelta(hours=self.hours_ago)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    themes: dict[str, Theme]
    articles: tuple[DemoArticle, ...]


@dataclass(frozen=True)
class Catalogue:
    """All articles and themes; `now` is when the demo started, so that dates agree everywhere."""

    articles: Sequence[DemoArticle]
    themes: Mapping[str, Theme]
    now: datetime

    def find(self, host: str, path: str) -> DemoArticle | None:
        """The article at an address, if there is one."""
        return next((a for a in self.articles if a.host == host and a.path == path), None)

    def related(self, article: DemoArticle) -> list[DemoArticle]:
        """Other articles of the same theme that can be read."""
        return [a for a in self.articles if a.theme == article.theme and a != article and a.status == 200][:4]

    def search(self, kind: str, query: str, limit: int) -> list[DemoArticle]:
        """Rank the articles of a kind: those that share words with the query first, then the newest."""
        wanted = set(WORD.findall(query.lower())) - COMMON_WORDS
        ranked = sorted(
            (article for article in self.articles if article.kind == kind),
            key=lambda article: (
                -len(wanted & set(WORD.findall(f"{article.title} {article.lead} {article.source}".lower()))),
                article.hours_ago,
            ),
        )
        return ranked[: max(0, limit)]

    def body(self, article: DemoArticle) -> list[str]:
        """The paragraphs of an article, its lead first."""
        quote = f"“{article.quote}” said {article.quote_by}."
        return [article.lead, *article.facts, quote, *self.background(article)]

    def background(self, article: DemoArticle) -> list[str]:
        """The last paragraphs of an article, which fit its theme."""
        background = self.themes[article.theme].background
        start = self.articles.index(article)
        return [background[(start + i) % len(background)] for i in range(5)]


def load_catalogue(text: str, now: datetime) -> Catalogue:
    """Read the articles from the text of their data file; raises msgspec.MsgspecError when it is broken."""
    found = msgspec.json.decode(text, type=_File)
    return Catalogue(found.articles, found.themes, now)


class ArticlePages(msgspec.Struct, eq=False):
    """Serves every host of the invented press by the Host header."""

    catalogue: Catalogue
    pace: Pace

    def routes(self) -> list[Route]:
        """The routes for robots.txt and for everything else."""
        return [Route("/robots.txt", self._robots), Route("/{path:path}", self._page)]

    async def _robots(self, request: Request) -> Response:
        host = host_of(request)
        denied = any(a.host == host and a.robots == "deny" for a in self.catalogue.articles)
        rule = "Disallow: /" if denied else "Allow: /"
        return PlainTextResponse(f"User-agent: *\n{rule}\n")

    async def _page(self, request: Request) -> Response:
        host = host_of(request)
        article = self.catalogue.find(host, request.url.path)
        if article is None or article.status != 200:
            status = article.status if article is not None else 404
            return HTMLResponse(
                f"<!doctype html><html lang=en><title>Page not found</title><body><nav>{escape(host)}</nav><main>"
                "<h1>Page not found</h1><p>The page has moved or never existed.</p></main></body></html>",
                status,
            )
        await self.pace.wait(article.delay)
        text = _template().render(
            article=article,
            catalogue=self.catalogue,
            published=article.published(self.catalogue.now),
            section=self.catalogue.themes[article.theme].section,
        )
        return HTMLResponse(text)


def host_of(request: Request) -> str:
    """The host of a request, without the port."""
    return request.headers.get("host", "").partition(":")[0].lower()


@cache
def _template() -> Template:
    # Not needed before the first page is asked for.
    from jinja2 import Environment

    page = Path(__file__).with_name("article.html.jinja").read_text("utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(page)
