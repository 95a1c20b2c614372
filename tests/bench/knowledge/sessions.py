"""Sessions on a disk as the program leaves them: journals and artifacts, with pages that hold facts.

Each session searches twice, reads some of what it found, and writes a report that links to it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import html
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.bench.knowledge.facts import ATTRIBUTES, FIELDS, Company, Fact, Field, invent_company
from tests.bench.knowledge.prose import Prose, invent_word, join_paragraphs
from ua_tui.core.bus import Bus
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.observation import CrawlObservation, FileWriteObservation, McpObservation, TextContent
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.version import VERSION

SEED = 1_717
FIRST = datetime(2026, 1, 1, 8, 0, tzinfo=UTC)
APART = timedelta(hours=31, minutes=17)
COMPANIES = 6
NAMES = 600
PAGES = 20
READ = 10
"""Pages of a session that it reads; of the others it has the row of a search."""
FACTS = (3, 6)
ASIDES = 3
"""Facts of other companies of the session on a page."""
PAGE_WORDS = (250, 900)
SNIPPET = 320
SEARCH, CRAWL = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL", "mcp__local_toolkit__crawl_parallel"
WRITE = "mcp__local_toolkit__write_local_file"
OUTLETS = ("courier", "gazette", "ledger-post", "observer", "tribune", "wire", "review", "monitor")
HEADLINES = (
    "{short} and its {word}: what changed",
    "Inside {short}: the {word} year",
    "{word} watch: {name} in focus",
    "Why {short} bets on the {word}",
    "{name}, the {word} and the market",
    "A visit to {short}, where every {word} counts",
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page on one company; a page that was not read is only a row of a search."""

    url: str
    title: str
    text: str
    company: Company
    facts: tuple[Fact, ...]
    searched: str
    author: str
    at: datetime
    read: bool

    @property
    def snippet(self) -> str:
        """What a search shows of it."""
        return self.text[:SNIPPET]


@dataclass(frozen=True, kw_only=True)
class Session:
    """One session: a field, the pages that it found in two searches, and its report."""

    name: str
    began: datetime
    field: Field
    query: str
    pages: tuple[Page, ...]
    report_title: str
    report: str = dataclasses.field(repr=False)


def invent_sessions(count: int, seed: int = SEED, *, read: int = READ) -> Iterator[Session]:
    """Invent sessions whose companies, figures and texts are all their own."""
    draw, prose = random.Random(seed), Prose(seed, len(FIELDS))
    # Companies of different fields share the first word of their names, as they do in life.
    names = [invent_word(draw, (2, 2)).capitalize() for _ in range(NAMES)]
    for number in range(count):
        topic = draw.randrange(len(FIELDS))
        about = FIELDS[topic]
        began = FIRST + number * APART
        companies = [invent_company(draw, about, name) for name in draw.sample(names, COMPANIES)]
        searches = [f"{about.name} {draw.choice(about.searched)} {companies[half].short}" for half in (0, 3)]
        pages = []
        for place in range(max(PAGES, read)):
            company = companies[place % COMPANIES]
            facts = _facts(draw, company)
            others = draw.sample([each for each in companies if each != company], ASIDES)
            asides = [draw.choice(_facts(draw, other)).sentence for other in others]
            sentences = prose.sentences(topic, draw.randint(*PAGE_WORDS))
            for sentence in [*(fact.sentence for fact in facts), *asides]:
                sentences.insert(draw.randint(1, len(sentences)), sentence)
            headline, word = draw.choice(HEADLINES), draw.choice(about.written)
            title = headline.format(name=company.name, short=company.short, word=word)
            slug = "-".join(title.lower().replace(":", "").replace(",", "").split())
            pages.append(
                Page(
                    url=f"https://{draw.choice(OUTLETS)}-{draw.randrange(40)}.example/{place}/{slug}", title=title,
                    text=join_paragraphs(draw, sentences), company=company, facts=tuple(facts),
                    searched=searches[place % COMPANIES >= 3], author=draw.choice(companies).head,
                    at=began + timedelta(seconds=20 + place), read=place < read,
                )
            )  # fmt: skip
        title = f"{about.name}: {companies[0].name} against {companies[3].name}"
        query = f"Research {about.name}: {companies[0].name} and {companies[3].name}, and write a report"
        report = _report(title, [page for page in pages if page.read], prose.sentences(topic, 300))
        yield Session(
            name=f"session_{began:%Y%m%d_%H%M%S}", began=began, field=about, query=query, pages=tuple(pages),
            report_title=title, report=report,
        )  # fmt: skip


def _facts(draw: random.Random, company: Company) -> list[Fact]:
    facts = []
    for attribute in draw.sample(ATTRIBUTES, draw.randint(*FACTS)):
        figure = f"{draw.randrange(12, 990)}"
        sentence = draw.choice(attribute.texts).format(name=company.name, n=figure)
        facts.append(Fact(company, attribute, sentence, figure))
    return facts


def _report(title: str, pages: Sequence[Page], sentences: list[str]) -> str:
    shown = "\n".join(
        f"<h2>{html.escape(page.company.name)}</h2><p>{html.escape(sentences[place % len(sentences)])} "
        f'{html.escape(page.facts[0].sentence)} <a href="{page.url}">{html.escape(page.title)}</a></p>'
        for place, page in enumerate(pages)
    )
    head = f"<head><title>{html.escape(title)}</title></head>"
    return f"<!doctype html><html>{head}<body><h1>{html.escape(title)}</h1>{shown}</body></html>"


def write_session(base: Path, session: Session) -> Path:
    """Write the folder of a session below `base`; gives the folder."""
    folder = base / WORKSPACES / session.name
    for name in ("search_results", "extracted_articles", "work_products"):
        (folder / name).mkdir(parents=True)
    (folder / ".lock").touch()
    now = session.began

    def clock() -> datetime:
        nonlocal now
        now += timedelta(seconds=0.5)
        return now

    bus, lines = Bus(now=clock), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    for event in _events(folder, session):
        bus.publish(event)
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    os.utime(folder / "journal.jsonl", (now.timestamp(), now.timestamp()))
    return folder


def _events(folder: Path, session: Session) -> Iterator[Event]:
    yield SessionStarted(session_id=session.name, workspace=str(folder), cwd="/", version=VERSION)
    yield QueryReceived(query_id="q1", text=session.query)
    searches = dict.fromkeys(page.searched for page in session.pages)
    for number, query in enumerate(searches):
        yield from _search(folder, f"toolu_search{number}", query, session.pages)
    yield from _crawl(folder, [page for page in session.pages if page.read])
    path = f"work_products/{session.field.name.lower().replace(' ', '-')}.html"
    saved = _save(folder, path, session.report.encode(), "work_product", "toolu_write")
    arguments = {"path": path, "content": session.report}
    yield ToolCallStarted(query_id="q1", tool_use_id="toolu_write", name=WRITE, input=arguments, iteration=3)
    written = FileWriteObservation(
        tool_name=WRITE, tool_use_id="toolu_write", server="local_toolkit", path=path, content=()
    )
    yield ToolCallFinished(tool_use_id="toolu_write", status="success", observation=written, duration_ms=20.0)
    yield saved
    answer = f"The report “{session.report_title}” is in the workspace: {path}."
    yield MessageFinished(query_id="q1", message_id="m1", text=answer)
    yield QueryFinished(query_id="q1", status="success", text=answer, cost_usd=0.1, duration_ms=9_000.0)
    yield SessionFinished(
        reason="quit", queries=1, tool_calls=4, artifacts=13, cost_usd=0.1, duration_ms=12_000.0
    )


def _search(folder: Path, use: str, query: str, pages: Sequence[Page]) -> Iterator[Event]:
    found = [page for page in pages if page.searched == query]
    arguments = {"tools": [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": query}}]}
    yield ToolCallStarted(query_id="q1", tool_use_id=use, name=SEARCH, input=arguments, iteration=1)
    text = json.dumps({"successful": True, "data": {"results": [{"link": page.url} for page in found]}})
    seen = McpObservation(tool_name=SEARCH, tool_use_id=use, server="composio", content=(TextContent(text),))
    yield ToolCallFinished(tool_use_id=use, status="success", observation=seen, duration_ms=400.0)
    rows = [
        {"position": place, "title": page.title, "url": page.url,
         "source": page.url.split("/")[2],
         "date": f"{page.at:%Y-%m-%d}", "snippet": page.snippet}
        for place, page in enumerate(found, 1)
    ]  # fmt: skip
    content = {"type": "web", "tool": "COMPOSIO_SEARCH_WEB", "query": query, "timestamp": found[0].at.isoformat(),
               "tool_use_id": use, "results": rows}  # fmt: skip
    path = f"search_results/composio_search_web_{use}.json"
    yield _save(folder, path, _json(content), "search_results", use)


def _crawl(folder: Path, pages: Sequence[Page]) -> Iterator[Event]:
    use = "toolu_crawl"
    urls = [page.url for page in pages]
    yield ToolCallStarted(query_id="q1", tool_use_id=use, name=CRAWL, input={"urls": urls}, iteration=2)
    text = json.dumps({"articles": [{"title": page.title, "url": page.url} for page in pages]})
    seen = CrawlObservation(
        tool_name=CRAWL,
        tool_use_id=use,
        server="local_toolkit",
        pages=len(pages),
        content=(TextContent(text),),
    )
    yield ToolCallFinished(tool_use_id=use, status="success", observation=seen, duration_ms=900.0)
    for place, page in enumerate(pages):
        yield save_article(folder, page, f"extracted_articles/page_{place}.json", use)


def save_article(folder: Path, page: Page, path: str, use: str) -> ArtifactSaved:
    """Write the file of an article; gives the event of that."""
    content = {
        "type": "article", "url": page.url, "title": page.title, "author": page.author,
        "source": page.url.split("/")[2],
        "date": f"{page.at:%Y-%m-%d}", "words": len(page.text.split()), "timestamp": page.at.isoformat(),
        "tool": "crawl_parallel", "tool_use_id": use, "content": f"# {page.title}\n\n{page.text}", "links": [],
    }  # fmt: skip
    return _save(folder, path, _json(content), "article", use)


def _save(folder: Path, path: str, content: bytes, kind: str, use: str) -> ArtifactSaved:
    (folder / path).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return ArtifactSaved(
        path=path, kind=kind, size=len(content), sha256=digest, observer="bench", tool_use_id=use
    )


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()
