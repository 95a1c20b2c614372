"""Questions that a person would type to find a page again, and whether a search finds it.

Each names a fact of one page. The choices are made by a generator of their own, so that no wording depends on the
texts, and none on how a search ranks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from tests.bench.knowledge.facts import Attribute
from tests.bench.knowledge.sessions import Page, Session

SEED = 99

Asked = tuple[str, frozenset[str]]
Kind = Callable[[random.Random, Session], Asked]


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


def _fact(draw: random.Random, session: Session, words: Callable[[Page, int], str]) -> Asked:
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


def _of_fact(words: Callable[[random.Random, Page, Attribute], str]) -> Kind:
    """A kind of questions of which each is made of words for a fact of a page."""

    def kind(draw: random.Random, session: Session) -> Asked:
        return _fact(draw, session, lambda page, at: words(draw, page, page.facts[at].attribute))

    return kind


def _context(draw: random.Random, session: Session) -> Asked:
    """One word is only in the search that found the page."""

    def words(page: Page, at: int) -> str:
        fact = draw.choice(session.field.name.split()), page.company.short.lower()
        return f"{' '.join(fact)} {draw.choice(page.facts[at].attribute.words)}"

    return _fact(draw, session, words)


def _phrase(draw: random.Random, session: Session) -> Asked:
    """Two words of the sentence in quotation marks."""

    def words(page: Page, at: int) -> str:
        fact = page.facts[at]
        rest = max(fact.sentence.split(fact.company.name), key=len).strip(" .:").split()
        start = draw.randrange(max(len(rest) - 2, 1))
        return f'"{" ".join(rest[start : start + 3])}" {page.company.short}'

    return _fact(draw, session, words)


def _figure(draw: random.Random, session: Session) -> Asked:
    """The figure, and the company: only this page and those with the same figure are right."""
    page = draw.choice([page for page in session.pages if page.read])
    fact = draw.choice(page.facts)
    right = frozenset(other.url for other in session.pages if fact in other.facts)
    return f"{fact.figure} {page.company.short.lower()}", right


def _title(draw: random.Random, session: Session, *, read: bool = True) -> Asked:
    """The name of the company and two other words of a title, in any order."""
    page = draw.choice([page for page in session.pages if page.read is read])
    words = [word.strip(":,") for word in page.title.split()]
    others = [word.lower() for word in words if len(word) > 3 and word not in page.company.name]
    words = [page.company.short.lower(), *draw.sample(others, min(2, len(others)))]
    draw.shuffle(words)
    return " ".join(words), frozenset(other.url for other in session.pages if other.title == page.title)


def _address(draw: random.Random, session: Session) -> Asked:
    """The name of the site, and the company."""
    page = draw.choice([page for page in session.pages if page.read])
    site = page.url.split("/")[2].removesuffix(".example")
    right = (other.url for other in session.pages if site in other.url and other.company == page.company)
    return f"{site.replace('-', ' ')} {page.company.short.lower()}", frozenset(right)


KINDS: dict[str, Kind] = {
    "words of the fact": _of_fact(lambda draw, page, fact: f"{_name(draw, page)} {draw.choice(fact.words)}"),
    "other forms": _of_fact(lambda draw, page, fact: f"{draw.choice(fact.forms)} {_name(draw, page)}"),
    "other words": _of_fact(lambda draw, page, fact: f"{_name(draw, page)} {draw.choice(fact.meanings)}"),
    "a sentence": _of_fact(lambda draw, page, fact: draw.choice(fact.asked).format(page.company.short)),
    "a word of the search": _context,
    "a phrase": _phrase,
    "the figure": _figure,
    "the title": _title,
    "a row's title": lambda draw, session: _title(draw, session, read=False),
    "the address": _address,
}
"""The kinds of questions: each gives what is typed, and the addresses that are right."""
