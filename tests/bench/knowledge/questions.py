"""Questions that a person would type to find a page again, and whether a search finds it.

Each names a fact of one page. The choices are made by a generator of their own, so that no wording depends on the
texts, and none on how a search ranks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from tests.bench.knowledge.sessions import Page, Session

__all__ = ["KINDS", "Question", "ask"]

SEED = 99


@dataclass(frozen=True)
class Question:
    """What is typed, which kind of question it is, and the addresses of the pages that answer it."""

    kind: str
    text: str
    urls: frozenset[str]


def ask(sessions: Sequence[Session], count: int, seed: int = SEED) -> list[Question]:
    """Ask this many questions, of all kinds in turns."""
    draw = random.Random(seed)
    return [Question(kind, *KINDS[kind](draw, draw.choice(sessions))) for kind in islice(cycle(KINDS), count)]


def _fact(
    draw: random.Random, session: Session, words: Callable[[Page, int], str]
) -> tuple[str, frozenset[str]]:
    """Ask for a fact of a page that was read; every page of the session with this fact about the company is right."""
    page = draw.choice([page for page in session.pages if page.read])
    place = draw.randrange(len(page.facts))
    asked = page.facts[place]
    right = frozenset(
        other.url
        for other in session.pages
        for fact in other.facts
        if (fact.company, fact.attribute) == (asked.company, asked.attribute)
    )
    return words(page, place), right


def _name(draw: random.Random, page: Page) -> str:
    """The company as a person types it."""
    return draw.choice((page.company.short, page.company.short.lower(), page.company.name))


def _words(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    return _fact(
        draw, session, lambda page, at: f"{_name(draw, page)} {draw.choice(page.facts[at].attribute.words)}"
    )


def _forms(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    return _fact(
        draw, session, lambda page, at: f"{draw.choice(page.facts[at].attribute.forms)} {_name(draw, page)}"
    )


def _meaning(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    return _fact(
        draw,
        session,
        lambda page, at: f"{_name(draw, page)} {draw.choice(page.facts[at].attribute.meanings)}",
    )


def _sentence(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    return _fact(
        draw,
        session,
        lambda page, at: draw.choice(page.facts[at].attribute.asked).format(page.company.short),
    )


def _context(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    """One word is only in the search that found the page."""
    return _fact(
        draw,
        session,
        lambda page, at: " ".join(
            (
                draw.choice(session.field.name.split()),
                page.company.short.lower(),
                draw.choice(page.facts[at].attribute.words),
            )
        ),
    )


def _phrase(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    """Two words of the sentence in quotation marks."""

    def words(page: Page, at: int) -> str:
        fact = page.facts[at]
        rest = max(fact.sentence.split(fact.company.name), key=len).strip(" .:").split()
        start = draw.randrange(max(len(rest) - 2, 1))
        return f'"{" ".join(rest[start : start + 3])}" {page.company.short}'

    return _fact(draw, session, words)


def _figure(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    """The figure, and the company: only this page and those with the same figure are right."""
    page = draw.choice([page for page in session.pages if page.read])
    fact = draw.choice(page.facts)
    right = frozenset(other.url for other in session.pages if fact in other.facts)
    return f"{fact.figure} {page.company.short.lower()}", right


def _title(draw: random.Random, session: Session, *, read: bool = True) -> tuple[str, frozenset[str]]:
    """The name of the company and two other words of a title, in any order."""
    page = draw.choice([page for page in session.pages if page.read is read])
    words = [word.strip(":,") for word in page.title.split()]
    others = [word.lower() for word in words if len(word) > 3 and word not in page.company.name]
    words = [page.company.short.lower(), *draw.sample(others, min(2, len(others)))]
    draw.shuffle(words)
    return " ".join(words), frozenset(other.url for other in session.pages if other.title == page.title)


def _row(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    """The title of a page that was found and not read."""
    return _title(draw, session, read=False)


def _address(draw: random.Random, session: Session) -> tuple[str, frozenset[str]]:
    """The name of the site, and the company."""
    page = draw.choice([page for page in session.pages if page.read])
    site = page.url.split("/")[2].removesuffix(".example")
    right = (other.url for other in session.pages if site in other.url and other.company == page.company)
    return f"{site.replace('-', ' ')} {page.company.short.lower()}", frozenset(right)


KINDS: dict[str, Callable[[random.Random, Session], tuple[str, frozenset[str]]]] = {
    "words of the fact": _words,
    "other forms": _forms,
    "other words": _meaning,
    "a sentence": _sentence,
    "a word of the search": _context,
    "a phrase": _phrase,
    "the figure": _figure,
    "the title": _title,
    "a row's title": _row,
    "the address": _address,
}
"""The kinds of questions: each gives what is typed, and the addresses that are right."""
