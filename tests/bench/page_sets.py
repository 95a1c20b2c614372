"""How well the articles of public sets of pages are extracted, where a folder has these sets.

The folder has copies of the repositories, as they are published: `readability` of Mozilla, `trafilatura`, and
`article-extraction-benchmark`. The rules were written with a look at the pages of one half of each, by the hash of
their names; those of the other half, `kept`, were not looked at.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lxml import html as lxml_html  # type: ignore[import-untyped]  # ships no types

from tests.bench.table import Row
from ua_tui.core.net.bodies import declared_encoding
from ua_tui.core.toolkit.extract import extract_html
from ua_tui.core.toolkit.html_text import separate
from ua_tui.core.toolkit.sources.web_page import guess_encoding

VARIABLE = "UA_TUI_PAGE_SETS"
"""The environment variable that names the folder."""
_IN_A_ROW = 4
# A sign of Chinese or Japanese is a word, as there are no spaces.
_WORD = re.compile(r"[\u3040-\u9fff]|[^\W\u3040-\u9fff]+")
_NUMBER = re.compile(r"\]\[\d+\]")

Pages = Iterator[tuple[str, bytes, Any, str]]
"""The name of each page, its HTML, what is known of its text, and its address."""
Score = Callable[[Sequence[tuple[Any, str]]], dict[str, float]]


def words_in_a_row(text: str) -> Counter[tuple[str, ...]]:
    """The runs of four words of a text, with their number; a shorter text is one run."""
    words = _WORD.findall(text)
    return Counter(tuple(words[at : at + _IN_A_ROW]) for at in range(max(1, len(words) - _IN_A_ROW + 1)))


def set_rows() -> tuple[list[Row], list[str]]:
    """Rows for each set in the folder that the environment names, and a line for each half."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        return [], [f"the public sets of pages are not measured: {VARIABLE} names no folder"]
    rows, details = [], []
    for name, (read, score, goals) in _SETS.items():
        if not (Path(named) / name).is_dir():
            continue
        halves: dict[str, list[tuple[Any, str]]] = {"looked at": [], "kept": []}
        for page, body, known, url in read(Path(named) / name):
            half = "looked at" if hashlib.sha256(page.encode()).digest()[0] % 2 else "kept"
            encoding = declared_encoding(body, "text/html", "") or guess_encoding(body)
            text = _NUMBER.sub("]", extract_html(body.decode(encoding, "replace"), url).text)
            halves[half].append((known, text))
        found = score([*halves["looked at"], *halves["kept"]])
        pages = f"{sum(map(len, halves.values()))} pages"
        rows += [
            Row(f"{name}: {what}, 100 % less it", 100 * (1 - found[what]), "%", 100 * (1 - goal), pages)
            for what, goal in goals.items()
        ]
        details += [
            f"{name}, {half}: {', '.join(f'{what} {value:.4f}' for what, value in score(each).items())}"
            for half, each in halves.items()
        ]
    return rows, details


def by_words_in_a_row(pages: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Precision, recall and F1 of the words in a row, with the same weight for each page."""
    shares = []
    for known, text in pages:
        wanted, found = words_in_a_row(known), words_in_a_row(text)
        common = (wanted & found).total()
        shares.append((common / found.total(), common / wanted.total()))
    return _measures(*(statistics.fmean(each) for each in zip(*shares, strict=True)))


def by_parts(pages: Sequence[tuple[dict[str, Any], str]]) -> dict[str, float]:
    """The measures of parts of texts that must be found, and of those that must not."""
    right = wrong = missing = spared = 0
    for known, text in pages:
        words = f" {' '.join(_WORD.findall(text))} "
        for part in known["with"]:
            right, missing = (right + 1, missing) if _plain(part) in words else (right, missing + 1)
        for part in known["without"]:
            wrong, spared = (wrong + 1, spared) if _plain(part) in words else (wrong, spared + 1)
    accuracy = (right + spared) / (right + spared + wrong + missing)
    return _measures(right / (right + wrong), right / (right + missing)) | {"accuracy": accuracy}


def _measures(precision: float, recall: float) -> dict[str, float]:
    return {"precision": precision, "recall": recall, "F1": 2 * precision * recall / (precision + recall)}


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text))


def _readability(folder: Path) -> Pages:
    for page in sorted((folder / "test/test-pages").iterdir()):
        known = separate((page / "expected.html").read_text("utf-8"))
        text = lxml_html.fromstring(f"<div>{known}</div>").text_content()
        yield page.name, (page / "source.html").read_bytes(), text, "http://fakehost/test/page.html"


def _trafilatura(folder: Path) -> Pages:
    known = json.loads((folder / "tests/evaldata.json").read_text("utf-8"))
    for url, item in sorted(known.items()):
        for path in (folder / "tests" / part / item["file"] for part in ("cache", "eval")):
            if path.is_file():
                yield url, path.read_bytes(), item, url
                break


def _article_extraction(folder: Path) -> Pages:
    known = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    for name, item in sorted(known.items()):
        body = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        yield name, body, item["articleBody"], item["url"]


_SETS: dict[str, tuple[Callable[[Path], Pages], Score, dict[str, float]]] = {
    "readability": (_readability, by_words_in_a_row, {"F1": 0.945}),
    "trafilatura": (_trafilatura, by_parts, {"F1": 0.93, "accuracy": 0.93, "recall": 0.946}),
    "article-extraction-benchmark": (_article_extraction, by_words_in_a_row, {"F1": 0.965}),
}
