"""The article pages of the demo: HTML with everything that makes extraction difficult, and some pages that fail."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ua_tui.core.demo.pace import Pace
from ua_tui.core.demo.press.articles import Catalogue, DemoArticle

_PAGE = Template(Path(__file__).with_name("article.html").read_text("utf-8"))


class ArticlePages:
    """Serves every host of the invented press by the Host header."""

    def __init__(self, catalogue: Catalogue, pace: Pace) -> None:
        self._catalogue = catalogue
        self._pace = pace

    def routes(self) -> list[Route]:
        """The routes for robots.txt and for everything else."""
        return [Route("/robots.txt", self._robots), Route("/{path:path}", self._page)]

    async def _robots(self, request: Request) -> Response:
        host = host_of(request)
        denied = any(a.host == host and a.robots == "deny" for a in self._catalogue.articles)
        rule = "Disallow: /" if denied else "Allow: /"
        return PlainTextResponse(f"User-agent: *\n{rule}\n")

    async def _page(self, request: Request) -> Response:
        host = host_of(request)
        article = self._catalogue.find(host, request.url.path)
        if article is None or article.status != 200:
            status = article.status if article is not None else 404
            return HTMLResponse(_missing(host), status)
        await self._pace.wait(article.delay)
        return HTMLResponse(_article(article, self._catalogue))


def host_of(request: Request) -> str:
    """The host of a request, without the port."""
    return request.headers.get("host", "").partition(":")[0].lower()


def _missing(host: str) -> str:
    return (
        f"<!doctype html><html lang=en><head><title>Page not found</title></head><body><nav>{escape(host)}</nav>"
        "<main><h1>Page not found</h1><p>The page has moved or never existed.</p></main></body></html>"
    )


def _article(article: DemoArticle, catalogue: Catalogue) -> str:
    published = article.published(catalogue.now)
    stamp = published.strftime("%Y-%m-%dT%H:%M:%SZ")
    section = catalogue.themes[article.theme].section
    related = "".join(
        f'<li><a href="{escape(other.url)}">{escape(other.title)}</a></li>'
        for other in catalogue.related(article)
    )
    linked_data = json.dumps(
        {
            "@context": "https://schema.org",
            "@type": "NewsArticle",
            "headline": article.title,
            "datePublished": stamp,
            "author": {"@type": "Person", "name": article.author},
            "publisher": {"@type": "Organization", "name": article.source},
        }
    ).replace("</", "<\\/")
    return _PAGE.substitute(
        title=escape(article.title),
        source=escape(article.source),
        author=escape(article.author),
        stamp=stamp,
        url=escape(article.url),
        lead=escape(article.lead),
        section=escape(section),
        lower_section=escape(section.lower()),
        linked_data=linked_data,
        published=f"{published:%d %B %Y, %H:%M}",
        year=published.year,
        paragraphs=_paragraphs(article, catalogue),
        related=f"<ul>{related}</ul>",
    )


def _paragraphs(article: DemoArticle, catalogue: Catalogue) -> str:
    """The body with its quotation set apart and one figure, as on a real page."""
    lead, *rest = catalogue.body(article)
    quote = f"“{article.quote}” said {article.quote_by}."
    parts = [f'<p class="lead"><strong>{escape(lead)}</strong></p>']
    for index, paragraph in enumerate(rest):
        if paragraph == quote:
            parts.append(
                f"<blockquote><p>“{escape(article.quote)}”</p><footer>{escape(article.quote_by)}</footer></blockquote>"
            )
            continue
        parts.append(f"<p>{escape(paragraph)}</p>")
        if index == len(article.facts):
            parts.append('<div class="advert" aria-hidden="true"><p>Advertisement</p></div>')
    return "\n".join(parts)
