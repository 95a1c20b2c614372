"""How much of the text of pages is extracted, and how little else, in the measure of the public benchmark."""

from __future__ import annotations

import re
import time
from html import unescape
from itertools import count
from pathlib import Path

from tests.bench.page_sets import set_rows, words_in_a_row
from tests.bench.table import Row, Section, median
from ua_tui.core.toolkit.extract import MAX_ARTICLE_HTML, extract_html

_PAGES = Path(__file__).with_name("article_pages")
_URL = "https://site.example/a/1"
_ARTICLE = re.compile(r"<!-- article -->(.*)<!-- end of article -->", re.DOTALL)
_BETWEEN = re.compile(r"<!-- end of part -->.*?<!-- next part -->", re.DOTALL)
_ORDERED = re.compile(r"<ol>.*?</ol>", re.DOTALL)
_BLOCK_END = re.compile(r"</(?:p|h\d|li|td|th|tr|pre)>")
_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"\]\[\d+\]")
_MOST_WRONG = 2.0
_MOST_BESIDE = 8.0


def extracting(_base: Path, runs: int) -> Section:
    """The share of wrong and missing words in extracted articles, and the characters that a model gets for the text."""
    known = pages()
    found = {name: extract_html(html, _URL).text for name, (html, _) in known.items()}
    given = {name: f1(text, found[name]) for name, (_, text) in known.items()}
    plain = {name: f1(text, _NUMBER.sub("]", found[name])) for name, (_, text) in known.items()}
    true = sum(len(" ".join(text.split())) for _, text in known.values())
    read = sum(map(len, found.values()))
    times = [_seconds([html for html, _ in known.values()]) for _ in range(runs)]
    report = f"{len(known)} pages of our own, by four words in a row"
    beside = f"marks and empty lines; {read:,} characters in all"
    of_sets, by_half = set_rows()
    return Section(
        [
            Row("articles as given to the model, 100 % less F1", _wrong(given), "%", _MOST_WRONG, report),
            Row("articles without marks, 100 % less F1", _wrong(plain), "%", _MOST_WRONG, report),
            Row("characters beside those of articles", 100 * (read / true - 1), "%", _MOST_BESIDE, beside),
            Row("extract an article", 1_000 * median(times), "ms", None, f"mean of {len(known)} pages"),
            *of_sets,
        ],
        [*(f"{name}: F1 {score:.3f}" for name, score in given.items()), *by_half],
    )


def pages() -> dict[str, tuple[str, str]]:
    """Pages of different layouts by their names: the HTML, and the text that a reader came for."""
    found = {}
    for path in sorted(_PAGES.glob("*.html")):
        html = path.read_text(encoding="utf-8")
        article = _ARTICLE.search(html)
        assert article is not None, path.name
        body = _ORDERED.sub(_numbered, _BETWEEN.sub("", article[1]))
        text = unescape(_TAG.sub("", _BLOCK_END.sub("\n", body)))
        # Most of many pages is the state of their scripts.
        found[path.stem] = html.replace("/* state */", "x<b>y</b>" * (MAX_ARTICLE_HTML // 9)), text
    return found


def f1(true: str, found: str) -> float:
    """The harmonic mean of precision and recall of the words in a row in a text that was found."""
    wanted, got = words_in_a_row(true), words_in_a_row(found)
    common = (wanted & got).total()
    return 2 * common / (wanted.total() + got.total()) if common else 0.0


def _numbered(found: re.Match[str]) -> str:
    number = count(1)
    return re.sub("<li>", lambda _: f"{next(number)}. ", found[0])


def _wrong(scores: dict[str, float]) -> float:
    return 100 * (1 - sum(scores.values()) / len(scores))


def _seconds(texts: list[str]) -> float:
    """The mean of the times of these pages."""
    began = time.perf_counter()
    for html in texts:
        extract_html(html, _URL)
    return (time.perf_counter() - began) / len(texts)
