"""The article pages of the demo: HTML with everything that makes extraction difficult, and some pages that fail."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from ua_tui.core.demo.pace import Pace
from ua_tui.core.demo.press.articles import Article, Catalogue

SECTIONS = ("Front page", "Chips", "Memory", "Cloud", "Markets", "Podcast")
LEGAL = ("Imprint", "Privacy", "Contact", "Jobs")


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


def _article(article: Article, catalogue: Catalogue) -> str:
    published = article.published(catalogue.now)
    stamp = published.strftime("%Y-%m-%dT%H:%M:%SZ")
    theme = catalogue.themes[article.theme]
    title, source, author = escape(article.title), escape(article.source), escape(article.author)
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
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} | {source}</title>
<link rel="canonical" href="{escape(article.url)}">
<meta name="description" content="{escape(article.lead)}">
<meta name="author" content="{author}">
<meta property="og:type" content="article">
<meta property="og:site_name" content="{source}">
<meta property="og:title" content="{title}">
<meta property="article:published_time" content="{stamp}">
<meta property="article:section" content="{escape(theme.section)}">
<script type="application/ld+json">{linked_data}</script>
<style>body{{font:18px/1.6 Georgia,serif;margin:0 auto;max-width:46rem}}nav a{{margin-right:1rem}}</style>
</head>
<body>
<div id="cookie-banner" class="cookie-consent" role="dialog" aria-label="Cookies">
<p>We and our 214 partners would like to store cookies on your device to count visits.</p>
<button>Accept all</button> <button>Only what is needed</button>
</div>
<header class="site-header"><a class="logo" href="/">{source}</a>
<nav class="main-nav">{_links(SECTIONS)}</nav></header>
<main>
<article>
<p class="kicker">{escape(theme.section)}</p>
<h1>{title}</h1>
<p class="byline">By <span class="author" rel="author">{author}</span>,
<time datetime="{stamp}">{published.strftime("%d %B %Y, %H:%M")} UTC</time></p>
{_paragraphs(article, catalogue)}
</article>
<aside class="related"><h2>More on {escape(theme.section.lower())}</h2>{_related(article, catalogue)}</aside>
<section class="newsletter"><h2>Never miss a chip</h2><p>One letter a week. Unsubscribe whenever you like.</p>
<form><input type="email" placeholder="you@mail.example"><button>Sign up</button></form></section>
</main>
<footer><p>© {published.year} {source}. All rights reserved.</p>{_links(LEGAL)}</footer>
</body>
</html>
"""


def _paragraphs(article: Article, catalogue: Catalogue) -> str:
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


def _related(article: Article, catalogue: Catalogue) -> str:
    items = "".join(
        f'<li><a href="{escape(other.url)}">{escape(other.title)}</a></li>'
        for other in catalogue.related(article)
    )
    return f"<ul>{items}</ul>"


def _links(names: Sequence[str]) -> str:
    return "".join(
        f'<a href="/{escape(name.lower().replace(" ", "-"))}">{escape(name)}</a> ' for name in names
    )
