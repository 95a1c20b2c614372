"""Made-up reports with their sources, in four languages and four formats, and with seeded faults."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.bench.evidence.fault_texts import LANGUAGES, TEXTS, Texts
from tests.bench.evidence.fault_values import Value, company_values, draw_distractors
from ua_tui.core.evidence.records import Source
from ua_tui.observers.evidence.sources import Sources, SourceText

FORMATS = ("inline.md", "footnotes.md", "links.html", "notes.html", "numbered.txt")
_STARTS = (
    "Alt",
    "Bren",
    "Cor",
    "Dun",
    "Elv",
    "Fros",
    "Gral",
    "Hal",
    "Ister",
    "Jor",
    "Kest",
    "Lom",
    "Mar",
    "Nor",
)
_ENDS = ("avia", "dorf", "etta", "holm", "ingen", "mont", "ora", "sted", "una", "wick")
_PERSONS = ("Ilse Brandauer", "Tomás Ferrán", "Odile Marchais", "Ruth Ansell", "Pedro Lanuza", "Jan Wiegers")
_MARK = re.compile("\ue000([^\ue000-\ue002]*)\ue001|\ue002")
_SUBJECTS = {
    "revenue": ("revenue", "staff"),
    "plant": ("plant",),
    "survey": ("survey",),
    "market": ("market",),
    "price": ("price",),
}
"""The sources by the facts that they have."""


@dataclass(frozen=True)
class Place:
    """A place of a report where a fault can be seeded: a value, a link, or the sentence that cites a source."""

    name: str
    start: int
    end: int


def _marked(name: str, text: str) -> str:
    return f"\ue000{name}\ue001{text}\ue002"


def _unmarked(text: str) -> tuple[str, list[Place]]:
    """The text without marks, and the places between them."""
    parts: list[str] = []
    places: list[Place] = []
    opened: list[tuple[str, int]] = []
    at = length = 0
    for found in _MARK.finditer(text):
        parts.append(text[at : found.start()])
        length += found.start() - at
        at = found.end()
        if found[1] is None:
            name, start = opened.pop()
            places.append(Place(name, start, length))
        else:
            opened.append((found[1], length))
    return "".join([*parts, text[at:]]), places


class Made:
    """A made-up report: its sources, its values, and the report with or without a fault."""

    def __init__(self, number: int, seed: int) -> None:
        rng = random.Random(seed * 1_000 + number)
        self.language = LANGUAGES[number % len(LANGUAGES)]
        self.format = FORMATS[number % len(FORMATS)]
        self._texts: Texts = TEXTS[self.language]
        self._seed = rng.random()
        self.company, self.rival = (f"{rng.choice(_STARTS)}{end}" for end in rng.sample(_ENDS, 2))
        self.place = f"{rng.choice(_STARTS)}{rng.choice(_ENDS)}"
        self.person = rng.choice(_PERSONS)
        self.quote = rng.choice(self._texts.quotations)
        self.values = company_values(rng, self.language)
        self.years = [(year, round(rng.uniform(30, 90), 1)) for year in range(2016, 2021)]
        self.rng = rng

    @property
    def path(self) -> str:
        """The path of the report."""
        return f"work_products/report.{self.format.rpartition('.')[2]}"

    def url(self, subject: str) -> str:
        """The address of a source."""
        return f"https://www.{self.company.lower()}-{subject}.example/articles/{subject}-{len(self.company)}"

    @cached_property
    def sources(self) -> Sources:
        """What the session read: a source for each subject, and one that says the same of a rival."""
        rng = random.Random(self._seed)
        pages = [
            (subject, self._page(rng, facts, self.company, self.values, subject))
            for subject, facts in _SUBJECTS.items()
        ]
        others = company_values(rng, self.language)
        everything = [fact for facts in _SUBJECTS.values() for fact in facts]
        pages.append(("rival", self._page(rng, everything, self.rival, others, "")))
        return Sources(
            texts=[
                SourceText(
                    number,
                    Source(kind="article", url=self.url(subject), title=f"{self.company} {subject}"),
                    text,
                )
                for number, (subject, text) in enumerate(pages)
            ]
        )

    def _page(
        self,
        rng: random.Random,
        facts: Sequence[str],
        company: str,
        values: Mapping[str, Value],
        subject: str,
    ) -> str:
        texts = self._texts
        lines = []
        for fact in facts:
            written = {name: value.source for name, value in values.items()}
            lines.append(
                rng.choice(texts.facts[fact].source).format(company=company, place=self.place, **written)
            )
        for _ in range(rng.randint(4, 8)):
            lines.append(rng.choice(texts.distractors).format(**draw_distractors(rng, self.language)))
        rng.shuffle(lines)
        if subject == "price":
            lines.insert(1, rng.choice(texts.said).format(person=self.person, quote=self.quote))
        if subject == "revenue":
            rows = [f"| {year} | {self._number(value)} |" for year, value in self.years]
            lines += ["", f"| {texts.table[0]} | {texts.table[1]} |", "|---|---|", *rows]
        return f"{company}\n\n" + "\n".join(lines) + "\n"

    def _number(self, value: float) -> str:
        return f"{value:.1f}" if self.language == "en" else f"{value:.1f}".replace(".", ",")

    def report(self, wrong: Mapping[str, str]) -> tuple[str, list[Place]]:
        """The report and its places; `wrong` has what to write at some of them instead."""
        return _Writer(self, wrong).write()


class _Writer:
    """Writes one version of a report."""

    def __init__(self, made: Made, wrong: Mapping[str, str]) -> None:
        self._made = made
        self._wrong = wrong
        self._texts = TEXTS[made.language]
        self._rng = random.Random(len(made.company) + len(made.values["staff"].report) + ord(made.place[0]))
        self._is_html = made.path.endswith("html")
        self._notes: list[str] = []

    def write(self) -> tuple[str, list[Place]]:
        sections = (("revenue", "price"), ("staff", "plant"), ("market", "survey"))
        lines = [self._heading(1, f"{self._made.company}, {self._made.place}")]
        for title, facts in zip(self._texts.headings, sections, strict=False):
            lines.append(self._heading(2, title))
            lines += [self._paragraph(fact) for fact in facts]
            if facts[0] == "revenue":
                lines.append(self._table())
        lines.append(self._heading(2, self._texts.headings[3]))
        lines.append(self._quotation())
        lines += self._bibliography()
        text = "\n\n".join(lines) + "\n"
        return _unmarked(f"<!doctype html><html><body>{text}</body></html>" if self._is_html else text)

    def _plain(self, text: str) -> str:
        return html.escape(text, quote=False) if self._is_html else text

    def _heading(self, level: int, text: str) -> str:
        if self._is_html:
            return f"<h{level}>{html.escape(text)}</h{level}>"
        return f"{'#' * level} {text}" if self._made.path.endswith("md") else text.upper()

    def _paragraph(self, fact: str) -> str:
        made = self._made
        sentence = self._rng.choice(self._texts.facts[fact].report)
        names = re.findall(r"\{(\w+)\}", sentence)
        values = {
            name: _marked(
                f"value {fact} {name}", self._wrong.get(f"value {fact} {name}", made.values[name].report)
            )
            for name in names
            if name in made.values
        }
        subject = next(subject for subject, facts in _SUBJECTS.items() if fact in facts)
        sentences = self._plain(sentence.format(company=made.company, place=made.place, **values))
        return self._block(_marked(f"cite {fact}", self._cited(sentences, subject, fact)))

    def _quotation(self) -> str:
        made = self._made
        text = self._rng.choice(self._texts.said).format(person=made.person, quote=made.quote)
        return self._block(_marked("cite quote", self._cited(self._plain(text), "price", "quote")))

    def _block(self, text: str) -> str:
        return f"<p>{text}</p>" if self._is_html else text

    def _cited(self, text: str, subject: str, fact: str) -> str:
        """The sentences with the reference to their source at their end."""
        made = self._made
        subject = self._wrong.get(f"cite {fact}", subject)
        url = self._wrong.get(f"link {fact}", made.url(subject))
        title, name = f"{made.company} {subject}", f"link {fact}"
        if made.format == "inline.md":
            return f"{text} ({_marked(name, f'[{title}]({url})')})"
        if made.format == "links.html":
            link = f'<a href="{url}">{title}</a>'
            return f"{text} ({_marked(name, link)})"
        if url not in self._notes:
            self._notes.append(url)
        number = self._notes.index(url) + 1
        if made.format == "footnotes.md":
            return text + _marked(name, f"[^{number}]")
        if made.format == "notes.html":
            return text + _marked(name, f'<sup><a href="#n{number}">{number}</a></sup>')
        return f"{text} {_marked(name, f'[{number}]')}"

    def _table(self) -> str:
        made = self._made
        year, amount, _, total = self._texts.table
        rows = [(str(at), _marked(f"value table {at}", self._cell(at, value))) for at, value in made.years]
        rows.append((total, self._cell(0, sum(value for _, value in made.years))))
        if self._is_html:
            body = "".join(f"<tr><td>{at}</td><td>{value}</td></tr>" for at, value in rows)
            return f"<table><thead><tr><th>{year}</th><th>{amount}</th></tr></thead><tbody>{body}</tbody></table>"
        if made.path.endswith("txt"):
            return ""
        return "\n".join(
            [f"| {year} | {amount} |", "|---|---:|", *(f"| {at} | {value} |" for at, value in rows)]
        )

    def _cell(self, year: int, value: float) -> str:
        return self._wrong.get(f"value table {year}", self._made._number(value))

    def _bibliography(self) -> list[str]:
        if not self._notes:
            return []
        titled = [(number, url) for number, url in enumerate(self._notes, 1)]
        if self._made.format == "footnotes.md":
            return ["\n".join(f"[^{number}]: {url}" for number, url in titled)]
        if self._made.format == "notes.html":
            entries = "".join(f'<li id="n{number}"><a href="{url}">{url}</a></li>' for number, url in titled)
            return [f"<h2>{self._texts.sources}</h2><ol>{entries}</ol>"]
        return [self._texts.sources, "\n".join(f"[{number}] {url}" for number, url in titled)]


def make_report(number: int, seed: int = 18) -> Made:
    """Make the report with a number; the same every time."""
    return Made(number, seed)
