"""Counts which links of a report are classified wrongly: 80 of each kind, spelled as reports spell them."""

from __future__ import annotations

import random
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from core.evidence.records import Verdict
from core.knowledge.database import FILE
from core.knowledge.store import KnowledgeStore
from core.redaction.redactor import Redactor
from core.storage.workspace import WORKSPACES
from observers.evidence.earlier import earlier_pages
from observers.evidence.links import check_links, report_addresses
from observers.evidence.report import Block, Link, Report
from observers.evidence.session_sources import read_sources
from observers.knowledge.catch_up import index_piece
from tests.bench.knowledge.sessions import Page, invent_sessions, write_session
from tests.bench.table import Row, Section
from tests.observers.evidence.sessions import REPORT, ReadSession, crawled_page

__all__ = ["measure_links"]

PER_KIND = 80
READ, MILLISECONDS = 50, 300.0
REDIRECTS = 10
RUNS = 5
_SPELLINGS: Sequence[Callable[[str], str]] = (
    lambda url: url,
    lambda url: url.replace("https://", "http://"),
    lambda url: url.replace("https://", "https://www."),
    lambda url: f"{url}/",
    lambda url: f"{url}#:~:text=some%20words",
    lambda url: f"{url}?utm_source=report&utm_medium=link",
    lambda url: f"{url}?utm_source=report&amp;fbclid=x1",
    lambda url: url.replace("https://", "HTTPS://").replace(".example/", ".EXAMPLE:443/"),
    lambda url: f"{url[:-1]}%{ord(url[-1]):02x}",
    lambda url: url.removeprefix("https:"),
)
_OTHERS: Sequence[Callable[[str], str]] = (
    lambda url: url.replace(".example/", "-group.example/"),
    lambda url: url.replace(".example/", ".example/news/2025/"),
    lambda url: f"{url}-2",
    lambda url: url[:-3],
    lambda url: f"{url}?page=2",
    lambda url: url.replace("https://", "https://m."),
    lambda url: url.replace(".example/", ".example.org/"),
    lambda url: url.replace("e", "\u0435", 1),
    lambda url: "../downloads/" + url.rsplit("/", 1)[1],
    lambda url: "../../../../etc/passwd",
)


@dataclass(frozen=True)
class _Case:
    url: str
    verdict: Verdict


def measure_links(base: Path) -> Section:
    """Check the links of a report on a session that read pages, was redirected, searched, and had a predecessor."""
    draw = random.Random(400)
    earlier, current, other = invent_sessions(3, seed=400, read=READ)
    folder = write_session(base, earlier)
    database = base / WORKSPACES / FILE
    with KnowledgeStore(database) as store:
        while index_piece(store, folder, Redactor()).more:
            pass
    session = ReadSession(base, current.name)
    cases = [
        *_read(session, current.pages),
        *_seen(session, other.pages),
        *_cases(Verdict.EARLIER, [page.url for page in earlier.pages if page.read]),
        *_local(session),
        *(_Case(_OTHERS[at % len(_OTHERS)](page.url), Verdict.INVENTED)
          for at, page in enumerate(islice(cycle(current.pages), PER_KIND))),
    ]  # fmt: skip
    draw.shuffle(cases)
    report = _report(cases)
    took = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        sources = read_sources(session.folder, Redactor(), REPORT, earlier_pages(database, session.folder))
        took.append((time.perf_counter() - begun) * 1_000)
    sources.look_up(report_addresses(report))
    wrong: Counter[str] = Counter()
    details = []
    claims = list(check_links(report, sources))
    for case, claim in zip(cases, claims, strict=True):
        if claim.verdict is not case.verdict:
            wrong[case.verdict] += 1
            details.append(f"{case.verdict} is called {claim.verdict}: {case.url} ({claim.note})")
    return Section(
        [
            Row(
                f"evidence: links classified wrongly, of {len(cases)}",
                100 * wrong.total() / len(cases),
                "%",
                0.0,
            ),
            Row(
                f"evidence: the {len(sources.texts)} sources of a session read", min(took), "ms", MILLISECONDS
            ),
        ],
        ["links of reports", *details],
    )


def _read(session: ReadSession, pages: Sequence[Page]) -> Iterator[_Case]:
    """Pages that were crawled, and others that a reader was redirected to."""
    direct, redirected = pages[REDIRECTS:], pages[:REDIRECTS]
    session.crawl(*((page.url, page.text) for page in direct))
    urls = [page.url for page in direct]
    for number, page in enumerate(redirected):
        asked = f"https://go.example/{number}"
        use = session.call("mcp__reader__read_url", {"url": asked}, page.text)
        content = crawled_page(page.url, page.text, page.title, tool_use_id=use)
        session.save(f"extracted_articles/r{number}.json", content, "article", use)
        urls += [asked, page.url]
    yield from _cases(Verdict.READ, urls[::-1])


def _seen(session: ReadSession, pages: Sequence[Page]) -> Iterator[_Case]:
    """Rows of searches, addresses in them, and addresses in the text of a page and of a query."""
    rows = [
        {"position": place, "title": page.title, "url": page.url, "snippet": page.snippet,
         "extra": {"pdf": f"https://files.example/{place}.pdf"}}
        for place, page in enumerate(pages[:20], 1)
    ]  # fmt: skip
    session.search(*rows)
    links = [f"https://linked.example/{number}/a_(b)" for number in range(10)]
    text = "\n".join(f"See [this]({url}) and more." for url in links)
    session.crawl(("https://links.example/", f"Links.\n{text}"))
    urls = [page.url for page in pages[:20]] + [row["extra"]["pdf"] for row in rows[:10]] + links  # type: ignore[index]
    yield from _cases(Verdict.SEEN, urls)


def _local(session: ReadSession) -> Iterator[_Case]:
    """Files of the session in each of the ways to link to them."""
    cases = []
    for number in range(PER_KIND // 5):
        (session.folder / "downloads").mkdir(exist_ok=True)
        (session.folder / f"downloads/table {number}.csv").write_text("city,people\n")
        cases += [
            f"../downloads/table%20{number}.csv",
            f"downloads/table {number}.csv",
            f"./../downloads/table {number}.csv?raw=1#row",
            f"file://{session.folder}/downloads/table%20{number}.csv",
            f"{session.folder}/downloads/table {number}.csv",
        ]
    yield from (_Case(url, Verdict.LOCAL) for url in cases)


def _cases(verdict: Verdict, urls: Sequence[str]) -> Iterator[_Case]:
    for at, url in enumerate(islice(cycle(urls), PER_KIND)):
        # Another spelling in each round, so that every address has several.
        spelling = _SPELLINGS[(at + at // len(urls) * 3) % len(_SPELLINGS)]
        yield _Case(spelling(url), verdict)


def _report(cases: Sequence[_Case]) -> Report:
    blocks = []
    for number, case in enumerate(cases):
        text = f"The finding of number {number} is in the source."
        at = text.index("finding")
        offsets = array("L", range(len(text)))
        blocks.append(Block(kind="paragraph", text=text, offsets=offsets, links=[Link(at, at + 7, case.url)]))
    return Report(source="", blocks=blocks)
