"""How well the search ranks the public test collections NPL, CISI and Cranfield, where a folder has them.

The folder has a folder for each, with the files as they are published. Queries with odd numbers are those on which the
weights of the ranking were chosen; those with even numbers were not looked at.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sqlite3
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench.knowledge.team import team_database
from tests.bench.table import Row
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE, KnowledgePlace
from ua_tui.core.knowledge.records import Batch, Cursor, KnowledgeDocument
from ua_tui.core.knowledge.search.embeddings import Embedder
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address

VARIABLE = "UA_TUI_COLLECTIONS"
"""The environment variable that names the folder."""
SERVER = "UA_TUI_EMBEDDINGS"
"""That which names a server of vectors and its model: URL, a space, and the name."""
GOALS = {"npl": 0.44, "cisi": 0.34, "cranfield": 0.40}
MEANING_GOAL = 0.47
"""That of NPL with vectors."""
APART = 0.02
"""How far the two databases may be apart on NPL."""
FIRST = 10
_MADE_AT = 1_790_000_000.0
_FIELD = re.compile(r"^\.([A-Z])[ ]?", re.MULTILINE)
_GAIN_OF_CODE = {1: 4, 2: 3, 3: 2, 4: 1, -1: 1}
"""Cranfield has codes from 1, a complete answer, to 4, of minimum interest; nobody says what its -1 is."""


@dataclass(frozen=True)
class Page:
    """A document of a collection."""

    number: int
    title: str
    text: str


@dataclass(frozen=True)
class Collection:
    """Documents, queries, and how relevant each document is to each query."""

    name: str
    pages: Sequence[Page]
    queries: Mapping[int, str]
    gains: Mapping[int, Mapping[int, int]]

    def half(self, half: str) -> list[int]:
        """The numbers of the queries with a relevant document: the odd ones, the even ones or all."""
        return [
            number
            for number in sorted(self.queries)
            if self.gains.get(number) and half in ("all", ("even", "odd")[number % 2])
        ]


def read_collections(folder: Path) -> Iterator[Collection]:
    """Read those collections that the folder has."""
    for name, read in (("npl", _npl), ("cisi", _cisi), ("cranfield", _cranfield)):
        if (folder / name).is_dir():
            yield read(folder / name)


def store_collection(place: KnowledgePlace, collection: Collection) -> None:
    """Put the documents into a knowledge base, each as a page that was fetched at the same time."""
    with open_store(place) as store:
        documents = (
            KnowledgeDocument(
                kind="article", path=f"{page.number}.md", title=page.title, text=page.text, made_at=_MADE_AT
            )
            for page in collection.pages
        )
        assert store.apply(collection.name, Cursor(), Batch(after=Cursor(1, 1), documents=documents))


def ranked_by_search(
    place: KnowledgePlace, collection: Collection, embedder: Embedder | None = None
) -> Mapping[int, list[int]]:
    """The first documents that the search finds for each query."""
    with closing(KnowledgeSearch(place, budget=60, embedder=embedder)) as search:
        return {
            number: [int(hit.path.removesuffix(".md")) for hit in search.search(text, limit=FIRST).hits]
            for number, text in collection.queries.items()
        }


def ranked_by_index(collection: Collection) -> Mapping[int, list[int]]:
    """The same of a plain full-text index: any of the words, ordered by bm25."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE pages USING fts5(title, text, tokenize='porter unicode61')")
        db.executemany(
            "INSERT INTO pages(rowid, title, text) VALUES (?, ?, ?)",
            ((page.number, page.title, page.text) for page in collection.pages),
        )
        return {
            number: [
                found
                for (found,) in db.execute(
                    "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY bm25(pages) LIMIT ?",
                    (" OR ".join(f'"{word}"' for word in set(re.findall(r"\w+", text.lower()))), FIRST),
                )
            ]
            for number, text in collection.queries.items()
        }


def ndcg(ranked: Sequence[int], gains: Mapping[int, int]) -> float:
    """The normalised discounted cumulative gain of the first documents."""

    def gained(values: Sequence[int]) -> float:
        return sum(value / math.log2(place + 2) for place, value in enumerate(values[:FIRST]))

    best = gained(sorted(gains.values(), reverse=True))
    return gained([gains.get(number, 0) for number in ranked]) / best


def quality(collection: Collection, ranked: Mapping[int, list[int]], half: str = "all") -> float:
    """The mean of the queries of a half."""
    return statistics.fmean(
        ndcg(ranked[number], collection.gains[number]) for number in collection.half(half)
    )


def collection_rows(base: Path) -> tuple[list[Row], list[str]]:
    """A row for each collection in the folder that the environment names, on all queries."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return [], [f"the public collections are not measured: {VARIABLE} names no folder"]
    rows, details = [], []
    for collection in read_collections(Path(named)):
        place = base / collection.name / FILE
        store_collection(place, collection)
        ranked = ranked_by_search(place, collection)
        if collection.name == "npl":
            rows.append(_row_of_meaning(place, collection))
            with team_database(partial(store_collection, collection=collection)) as address:
                if address is None:
                    details.append("npl on PostgreSQL: it is not installed here")
                else:
                    other = quality(collection, ranked_by_search(address, collection))
                    apart = abs(quality(collection, ranked) - other)
                    shown = f"nDCG@10 on PostgreSQL {other:.3f}"
                    rows.append(
                        Row("knowledge: how far PostgreSQL is from SQLite on npl", apart, "", APART, shown)
                    )
        halves = ", ".join(f"{half} {quality(collection, ranked, half):.3f}" for half in ("odd", "even"))
        plain = quality(collection, ranked_by_index(collection))
        rows.append(
            Row(
                f"knowledge: what {collection.name} loses of nDCG@10",
                1 - quality(collection, ranked),
                "",
                1 - GOALS[collection.name],
                f"{len(collection.half('all'))} queries: {halves}; a plain index loses {1 - plain:.3f}",
            )
        )
    return rows, details


def _row_of_meaning(place: KnowledgePlace, collection: Collection) -> Row:
    """The same with vectors of the server that the environment names; unknown without one."""
    what, bound = "knowledge: what npl loses of nDCG@10 with vectors", 1 - MEANING_GOAL
    url, _, model = os.environ.get(SERVER, "").partition(" ")
    if not url:
        return Row(what, None, "", bound, f"unknown: {SERVER} names no server of vectors")
    embedder = Embedder(url, model)
    with open_store(place) as store:
        while missing := store.rows("passages_without", model=model, limit=64):
            store.put_vectors(model, missing, embedder.embed([text for _, _, text in missing]))
    loses = 1 - quality(collection, ranked_by_search(place, collection, embedder))
    return Row(what, loses, "", bound, f"vectors of {model}")


def _npl(folder: Path) -> Collection:
    texts = {
        name: {
            int(number): " ".join(text.split())
            for number, text in re.findall(
                r"^\s*(\d+)\s*\n(.*?)^\s*/", (folder / name).read_text("latin-1"), re.S | re.M
            )
        }
        for name in ("doc-text", "query-text", "rlv-ass")
    }
    return Collection(
        "npl",
        [Page(number, "", text) for number, text in texts["doc-text"].items()],
        {number: text.lower() for number, text in texts["query-text"].items()},
        {number: dict.fromkeys(map(int, text.split()), 1) for number, text in texts["rlv-ass"].items()},
    )


def _cisi(folder: Path) -> Collection:
    gains: dict[int, dict[int, int]] = defaultdict(dict)
    for line in (folder / "CISI.REL").read_text("latin-1").splitlines():
        query, page = line.split()[:2]
        gains[int(query)][int(page)] = 1
    queries = {number: fields.get("W", "") for number, fields in _fields(folder / "CISI.QRY")}
    return Collection("cisi", _pages(folder / "CISI.ALL"), queries, gains)


def _cranfield(folder: Path) -> Collection:
    gains: dict[int, dict[int, int]] = defaultdict(dict)
    for line in (folder / "cranqrel").read_text("latin-1").splitlines():
        query, page, code = map(int, line.split())
        gains[query][page] = max(_GAIN_OF_CODE[code], gains[query].get(page, 0))
    # The judgements number the queries by their order.
    texts = [fields.get("W", "") for _, fields in _fields(folder / "cran.qry")]
    return Collection("cranfield", _pages(folder / "cran.all.1400"), dict(enumerate(texts, 1)), gains)


def _pages(file: Path) -> list[Page]:
    return [Page(number, fields.get("T", ""), fields.get("W", "")) for number, fields in _fields(file)]


def _fields(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The records of a file of the SMART system, with each field on one line."""
    for record in re.split(r"^\.I ", file.read_text("latin-1"), flags=re.M)[1:]:
        number, *parts = _FIELD.split(record)
        yield (
            int(number),
            {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)},
        )


def main() -> None:
    """Print a line for each collection and half."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("odd", "even"), action="append")
    parser.add_argument("--postgres", type=Address.parse, help="the address of an empty database of a team")
    given = parser.parse_args()
    halves = given.half or ["odd", "even", "all"]
    for collection in read_collections(given.folder):
        with tempfile.TemporaryDirectory() as made:
            place: KnowledgePlace = given.postgres or Path(made) / FILE
            store_collection(place, collection)
            began = time.perf_counter()
            ranked = {
                "search": ranked_by_search(place, collection),
                "plain index": ranked_by_index(collection),
            }
            took = (time.perf_counter() - began) * 1_000 / len(collection.queries)
        for name, found in ranked.items():
            values = ", ".join(f"{half} {quality(collection, found, half):.3f}" for half in halves)
            print(f"{collection.name}: {name}: nDCG@{FIRST} {values} ({took:.1f} ms a query for both)")


if __name__ == "__main__":
    main()
