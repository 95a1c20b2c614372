"""Quotations that are set otherwise than in their source, and those that were altered."""

from __future__ import annotations

import html
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.evidence.prose import LANGUAGES, Language, sentences
from tests.bench.knowledge.prose import Prose
from tests.bench.table import Row, Section, median
from ua_tui.core.evidence.records import Claim, Source, Verdict
from ua_tui.observers.evidence.check import check_report
from ua_tui.observers.evidence.quotations import check_quotations
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.sources import Sources, SourceText

SEED = 18
TRUE, ALTERED, PER_REPORT = 500, 200, 20
PER_SOURCE = 40
FEWEST_WORDS = 5
SOURCES, WORDS, QUOTED, LONGEST_MS = 50, 2_000, 60, 150.0
MARKS = [(pair[0], pair[1]) for pair in ('""', "“”", "„“", "«»", "»«", "‹›", "‘’", "””")]
MARKS += [("« ", " »"), ("«\u202f", "\u202f»")]
NAMES = {"en": "[the authority]", "de": "[die Behörde]", "fr": "[le port]", "es": "[el puerto]"}


@dataclass(frozen=True)
class Article:
    """A source with its sentences as a reader sees them."""

    code: str
    language: Language
    url: str
    sentences: Sequence[str]
    text: str


@dataclass(frozen=True)
class Quote:
    """A quotation of an article, and what was done to it."""

    article: Article
    text: str
    change: str


def quotations(_base: Path) -> Section:
    """Who is accused falsely, what is not found, and how long it takes."""
    draw = random.Random(SEED)
    articles = [
        _article(code, number, draw)
        for number, code in enumerate(code for code in LANGUAGES for _ in range(5))
    ]
    sources = Sources(
        [
            SourceText(number, Source(kind="article", url=each.url, title=f"Article {number}"), each.text)
            for number, each in enumerate(articles)
        ]
    )
    true = [_true(draw.choice(articles), draw) for _ in range(TRUE)]
    written = " ".join(sentence for each in articles for sentence in each.sentences)
    altered = [_altered(draw.choice(articles), number, draw, written) for number in range(ALTERED)]
    verdicts = _verdicts(true, sources, draw)
    wrong = [
        (quote, claim) for quote, claim in verdicts if claim is None or claim.verdict is not Verdict.VERBATIM
    ]
    missed = [
        (quote, claim)
        for quote, claim in _verdicts(altered, sources, draw)
        if claim is None or claim.verdict is not Verdict.ALTERED
    ]
    rows = [
        Row("evidence: true quotations that are accused", len(wrong), f"of {TRUE}", 0.0, "set otherwise"),
        Row(
            "evidence: altered quotations that are not found",
            100 * len(missed) / ALTERED,
            "%",
            2.0,
            f"of {ALTERED}",
        ),
        _speed(),
    ]
    return Section(
        rows, [f"{quote.change}: {quote.text!r}: {_words(claim)}" for quote, claim in (*wrong, *missed)]
    )


def _words(claim: Claim | None) -> str:
    return "no claim" if claim is None else f"{claim.verdict} {claim.note} ({claim.text!r})"


def _article(code: str, number: int, draw: random.Random) -> Article:
    """An article with headings, links, emphasis, footnotes, hyphens at line ends and ligatures."""
    language = LANGUAGES[code]
    made = sentences(language, PER_SOURCE, draw)
    paragraphs = []
    for at in range(0, PER_SOURCE, 4):
        written = [_as_markdown(each, draw) for each in made[at : at + 4]]
        text = " ".join(written)
        if draw.random() < 0.3:
            text = _wrapped(text, draw)
        paragraphs.append(text if at % 12 else f"## {number}.{at}\n\n{text}")
    return Article(code, language, f"https://news{number}.example/{code}", made, "\n\n".join(paragraphs))


def _as_markdown(sentence: str, draw: random.Random) -> str:
    words = sentence.split(" ")
    at = draw.randrange(len(words) - 2)
    how = draw.randrange(7)
    if how == 0 and not re.search(r"[“„«»”–]", " ".join(words[at : at + 2])):
        words[at], words[at + 1] = f"[{words[at]}", f"{words[at + 1]}](https://other.example/{at}_(x))"
    elif how == 1 and words[at].isalpha():
        words[at] = f"**{words[at]}**"
    elif how == 2:
        words[-1] += f"[{draw.randrange(1, 60)}]"
    elif how == 3 and words[at].isalpha():
        words[at] = f"_{words[at]}_"
    text = " ".join(words)
    return text.replace("fi", "ﬁ").replace("fl", "ﬂ") if draw.random() < 0.2 else text


def _wrapped(text: str, draw: random.Random) -> str:
    """The text in short lines, some of them with a word divided at their end."""
    lines, line = [], ""
    for word in text.split(" "):
        if len(line) + len(word) > 60:
            if len(word) > 8 and word.isalpha() and draw.random() < 0.5:
                lines.append(f"{line} {word[:5]}-")
                line = word[5:]
                continue
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def _true(article: Article, draw: random.Random) -> Quote:
    at = draw.randrange(PER_SOURCE - 1)
    text = article.sentences[at]
    done = []
    # A heading stands before every twelfth sentence.
    if draw.random() < 0.25 and at % 12 != 11:
        text += " " + article.sentences[at + 1]
        done.append("two sentences")
    elif draw.random() < 0.3:
        words = text.split(" ")
        first = draw.randrange(0, max(len(words) - 7, 1))
        text = " ".join(words[first : first + draw.randrange(6, 12)])
        done.append("a part")
    for change in draw.sample(_CHANGES, draw.randrange(1, 5)):
        changed = change(text, article.code, draw)
        if changed != text:
            done.append(change.__name__.strip("_"))
            text = changed
    return Quote(article, text.strip(), ", ".join(done))


def _ellipsis(text: str, _code: str, draw: random.Random) -> str:
    words = text.split(" ")
    if len(words) < 9:
        return text
    first = draw.randrange(3, len(words) - 4)
    dots = draw.choice(("…", "...", "[…]", "[...]", "(...)", ". . ."))
    return " ".join([*words[:first], dots, *words[first + draw.randrange(1, 3) :]])


def _brackets(text: str, code: str, draw: random.Random) -> str:
    words = text.split(" ")
    if draw.random() < 0.5 and words[0].isalpha():
        return f"[{text[0].swapcase()}]{text[1:]}"
    if draw.random() < 0.3:
        return " ".join([*words[:4], "[sic]", *words[4:]])
    return " ".join([NAMES[code], *words[3:]]) if len(words) > 9 else text


def _case(text: str, _code: str, _draw: random.Random) -> str:
    return text[0].swapcase() + text[1:]


def _ending(text: str, _code: str, draw: random.Random) -> str:
    return text.rstrip(".") + draw.choice(("", ",", "!", ";", "…"))


def _spaces(text: str, _code: str, draw: random.Random) -> str:
    return re.sub(" ", lambda _: draw.choice("    \u00a0\u202f\u2009"), text)


def _dashes(text: str, _code: str, draw: random.Random) -> str:
    dash = draw.choice(("—", "-", "--", "―"))
    text = text.replace(" – ", draw.choice((f" {dash} ", dash)))
    return text.replace("-", draw.choice("-\u2010\u2011"))


def _inner_marks(text: str, _code: str, draw: random.Random) -> str:
    return re.sub("[“”„«»] ?", lambda _: draw.choice("'’"), text)


def _apostrophes(text: str, _code: str, draw: random.Random) -> str:
    return text.replace("’", draw.choice("'\u02bc´"))


def _hyphenation(text: str, _code: str, draw: random.Random) -> str:
    words = text.split(" ")
    return " ".join(
        f"{w[:3]}\u00ad{w[3:]}" if w.isalpha() and len(w) > 6 and draw.random() < 0.5 else w for w in words
    )


_CHANGES: Sequence[Callable[[str, str, random.Random], str]] = (
    _ellipsis,
    _brackets,
    _case,
    _ending,
    _spaces,
    _dashes,
    _inner_marks,
    _apostrophes,
    _hyphenation,
)


def _altered(article: Article, number: int, draw: random.Random, written: str) -> Quote:
    """A quotation with one fault that none of the articles has by chance."""
    change = ("changed", "dropped", "added", "joined", "order")[number % 5]
    while True:
        text = _with_fault(article, change, draw, is_short=bool(number % 2))
        if len(re.findall(r"\w+", text)) >= FEWEST_WORDS and _plain(text) not in _plain(written):
            return Quote(article, text, change)


def _with_fault(article: Article, change: str, draw: random.Random, *, is_short: bool) -> str:
    at = draw.randrange(PER_SOURCE - 1)
    words = article.sentences[at].rstrip(".").split(" ")
    if is_short:
        start = draw.randrange(max(len(words) - 6, 1))
        words = words[start : start + draw.randrange(5, 9)]
    inner = draw.randrange(1, len(words) - 1)
    if change == "changed":
        words[inner] = draw.choice(article.language.spare)
    elif change == "dropped":
        del words[inner]
    elif change == "added":
        words.insert(inner, draw.choice(article.language.spare))
    elif change == "joined":
        other = (at + draw.randrange(2, PER_SOURCE - 2)) % PER_SOURCE
        words = [*article.sentences[at].split(" ")[-5:], *article.sentences[other].split(" ")[:5]]
    else:
        words = [*words[inner:], *words[:inner]]
    return " ".join(words)


def _plain(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _verdicts(
    quotes: Sequence[Quote], sources: Sources, draw: random.Random
) -> list[tuple[Quote, Claim | None]]:
    """The claims of the quotations in reports of both formats."""
    found: list[tuple[Quote, Claim | None]] = []
    for at in range(0, len(quotes), PER_REPORT):
        part = quotes[at : at + PER_REPORT]
        write = _markdown if (at // PER_REPORT) % 2 else _html
        text, places = write(part, draw)
        check = check_report(
            text.encode(), f"work_products/report.{'md' if write is _markdown else 'html'}", sources
        )
        claims = [claim for claim in check.claims if claim.kind == "quotation"]
        found += [(quote, _within(claims, place)) for quote, place in zip(part, places, strict=True)]
    return found


def _within(claims: Sequence[Claim], place: tuple[int, int]) -> Claim | None:
    """The worst claim in a range of the report."""
    inside = [claim for claim in claims if place[0] <= claim.start < place[1]]
    return max(inside, key=lambda claim: claim.verdict is not Verdict.VERBATIM, default=None)


def _markdown(quotes: Sequence[Quote], draw: random.Random) -> tuple[str, list[tuple[int, int]]]:
    text, places = "# A report\n", []
    for number, quote in enumerate(quotes):
        start = len(text)
        if number % 5 == 4:
            text += f"\n> {_escaped(quote.text)}\n>\n> — [The article]({quote.article.url})\n"
        else:
            opening, closing = _marks(quote, draw)
            quoted = _escaped(quote.text)
            quoted = re.sub(" ", lambda _: draw.choice(" " * 15 + "\n"), quoted)
            text += f"\n{quote.article.language.said} {opening}{quoted}{closing} ([source]({quote.article.url})).\n"
        places.append((start, len(text)))
    return text, places


def _escaped(text: str) -> str:
    return text.replace("[", "\\[").replace("]", "\\]")


def _html(quotes: Sequence[Quote], draw: random.Random) -> tuple[str, list[tuple[int, int]]]:
    text, places = "<!doctype html><title>A report</title><h1>A report</h1>", []
    for number, quote in enumerate(quotes):
        start = len(text)
        link = f'<a href="{quote.article.url}">source</a>'
        quoted = html.escape(quote.text).replace(" ", draw.choice((" ", "\n  "))).replace("\u00a0", "&nbsp;")
        if number % 5 == 4:
            text += f"<blockquote><p>{quoted}</p><footer>{link}</footer></blockquote>\n"
        elif number % 5 == 3:
            text += f"<p>{quote.article.language.said} <q>{quoted}</q> ({link}).</p>\n"
        else:
            opening, closing = _marks(quote, draw)
            text += f"<p>{quote.article.language.said} {opening}{quoted}{closing} ({link}).</p>\n"
        places.append((start, len(text)))
    return text, places


def _marks(quote: Quote, draw: random.Random) -> tuple[str, str]:
    """A pair of marks that the quotation does not have itself."""
    inside = set(quote.text) & set("“”„«»'’")
    usable = [
        pair for pair in MARKS if not inside or (pair[0] in '"‹' and inside <= set("'’")) or pair[0] == "‹"
    ]
    pair = draw.choice(usable)
    return pair[0], pair[1]


def _speed() -> Row:
    """Finding and comparing the quotations of a report with many long sources."""
    prose = Prose(SEED, 5)
    made = [prose.sentences(number % 5, WORDS) for number in range(SOURCES)]
    lines, draw = [], random.Random(SEED)
    for number in range(QUOTED):
        words = draw.choice(made[number % SOURCES]).split(" ")
        if number % 4 == 0 and len(words) > 4:
            words[len(words) // 2] = "otherwise"
        lines.append(f"It says “{' '.join(words)}” ([source](https://{number % SOURCES}.example/)).")
    report = read_report("\n\n".join(lines).encode(), "report.md")

    def once() -> float:
        sources = Sources(
            [
                SourceText(number, Source(kind="article", url=f"https://{number}.example/"), " ".join(each))
                for number, each in enumerate(made)
            ]
        )
        started = time.perf_counter()
        claims = list(check_quotations(report, sources))
        assert len(claims) >= QUOTED // 2
        return (time.perf_counter() - started) * 1_000

    compared = f"{QUOTED} quotations, {SOURCES} sources of {WORDS:,} words"
    return Row(
        "evidence: quotations compared", median([once() for _ in range(5)]), "ms", LONGEST_MS, compared
    )
