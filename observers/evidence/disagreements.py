"""Finds sources that give different values for the same thing.

Each figure of the report that was found in a source is compared with the figures of the pages and search results of
other sites. A false accusation is worse than a miss: see `comparing.same_thing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim, Disagreement, Verdict
from ua_tui.observers.evidence.comparing.same_thing import agree, is_same_thing
from ua_tui.observers.evidence.comparing.statement import Statement, names_in, site_of
from ua_tui.observers.evidence.comparing.wordings import ATTRIBUTION, GENERIC
from ua_tui.observers.evidence.figures.find import find_figures
from ua_tui.observers.evidence.passages import passage
from ua_tui.observers.evidence.quoting.language import language_of
from ua_tui.observers.evidence.report import Report
from ua_tui.observers.evidence.sources import Sources, SourceText
from ua_tui.observers.evidence.tracing.rounding import how_same
from ua_tui.observers.evidence.tracing.words import stems

_MOST = 50
_MOST_VALUES = 5
_MOST_COMPARED = 200
"""Statements of other sources that are compared with a figure."""
_VERDICTS = frozenset({Verdict.TRACED, Verdict.CONVERTED})
_KINDS = frozenset({"article", "search_row", "earlier"})
_PER_CHECK = 200
_SUBJECT_BEFORE, _SUBJECT_AFTER = 60, 40
_FEWEST = 2

_MARK = re.compile(r"\[\d{1,3}\]")

_Sort = tuple[str, str]
"""The kind and the unit of figures that are compared with each other."""


@dataclass(eq=False)
class _Group:
    """A disagreement: a statement for each of its values, the one that the report has first."""

    subject: str
    statements: list[Statement]
    claims: list[int] = field(default_factory=list)

    @property
    def places(self) -> set[tuple[int, int]]:
        return {(each.source.number, each.number) for each in self.statements}


def find_disagreements(
    claims: Sequence[Claim], report: Report, sources: Sources, stop: Stop = NEVER
) -> Iterator[Disagreement]:
    """Give each disagreement of the sources about a figure of the report, at most 50.

    Raises:
        Stopped: the flag was set.
    """
    texts = {text.number: text for text in sources.texts if text.record.kind in _KINDS and text.text}
    traced = [
        claim
        for claim in claims
        if claim.kind == "figure"
        and claim.verdict in _VERDICTS
        and claim.evidence
        and claim.evidence[0].source in texts
    ]
    if not traced or len({site_of(text.record.url) for text in texts.values()}) < _FEWEST:
        return
    finder = _Finder(traced, report, texts, stop)
    for group in finder.groups():
        yield Disagreement(
            subject=group.subject,
            values=tuple(" ".join(each.figure.text.split()) for each in group.statements),
            evidence=tuple(
                passage(each.source, each.figure.start, each.figure.end) for each in group.statements
            ),
            claims=tuple(group.claims),
        )


class _Finder:
    """Compares the statements behind the claims with those of other sites."""

    def __init__(
        self, claims: Sequence[Claim], report: Report, texts: Mapping[int, SourceText], stop: Stop
    ) -> None:
        self._report = report
        self._texts = texts
        self._stop = stop
        self._anchors = [
            (claim, anchor) for claim in claims if (anchor := _anchor(claim, texts[claim.evidence[0].source]))
        ]
        self._statements: dict[_Sort, list[Statement]] = {}
        self._by_word: dict[_Sort, dict[str, set[int]]] = {}
        self._languages: dict[int, str] = {}
        self._own_language = language_of(" ".join(block.text for block in report.blocks[:50]))

    def groups(self) -> list[_Group]:
        """Give the disagreements in the order of the report."""
        self._read()
        groups: list[_Group] = []
        by_place: dict[tuple[int, int], _Group] = {}
        for claim, anchor in self._anchors:
            self._stop.check()
            known = by_place.get((anchor.source.number, anchor.number))
            if known is not None:
                known.claims.append(claim.id)
                continue
            others = self._others(claim, anchor)
            if not others:
                continue
            group = next((by_place[place] for each in others if (place := _place(each)) in by_place), None)
            if group is None:
                if len(groups) == _MOST:
                    break
                group = _Group(_subject(claim), [anchor, *others])
                groups.append(group)
            group.claims.append(claim.id)
            by_place.update(dict.fromkeys((_place(anchor), *map(_place, others)), group))
        return groups

    def _read(self) -> None:
        """Collect the statements with figures like those of the report, by the words that are near those."""
        wanted: dict[_Sort, set[str]] = {}
        for _, anchor in self._anchors:
            wanted.setdefault(_sort(anchor), set()).update(anchor.near)
        for text in self._texts.values():
            self._stop.check()
            for number, figure in enumerate(text.figures):
                if not number % _PER_CHECK:
                    self._stop.check()
                sort = figure.kind, figure.unit
                if (words := wanted.get(sort)) is None:
                    continue
                statement = Statement.at(text, number)
                statements = self._statements.setdefault(sort, [])
                by_word = self._by_word.setdefault(sort, {})
                for word in statement.about & words:
                    by_word.setdefault(word, set()).add(len(statements))
                statements.append(statement)

    def _others(self, claim: Claim, anchor: Statement) -> list[Statement]:
        """Other values than that of a claim for the same thing, one statement for each value and site."""
        subject = self._subject_names(claim, anchor)
        found: list[Statement] = []
        sites = {site_of(anchor.source.record.url)}
        for other in self._candidates(anchor):
            site = site_of(other.source.record.url)
            if site in sites or not is_same_thing(anchor, other, subject) or agree(anchor, other):
                continue
            if not other.is_comparable or not self._is_meant(claim, anchor, other):
                continue
            if self._has_value(other.source, anchor) or _fits(claim, other):
                continue
            sites.add(site)
            if not any(agree(other, each) for each in found):
                found.append(other)
            if len(found) == _MOST_VALUES:
                break
        return found

    def _candidates(self, anchor: Statement) -> Iterator[Statement]:
        """The statements of others that have all words nearest to a figure."""
        by_word = self._by_word.get(_sort(anchor), {})
        sets = sorted((by_word.get(word, set()) for word in anchor.near), key=len)
        if not sets:
            return
        common = set.intersection(*sets)
        statements = self._statements[_sort(anchor)]
        compared = 0
        for number in sorted(common):
            other = statements[number]
            if other.source is not anchor.source:
                yield other
                compared += 1
                if compared == _MOST_COMPARED:
                    return

    def _subject_names(self, claim: Claim, anchor: Statement) -> frozenset[str]:
        """The names of the claim's sentence, its section and its report that the source has, too."""
        said = ATTRIBUTION.sub(" ", claim.sentence[:1_000])
        names = names_in(said, self._report.source) | names_in(f"{claim.section}. {self._report.title}")
        return names & (anchor.about | anchor.names)

    def _is_meant(self, claim: Claim, anchor: Statement, other: Statement) -> bool:
        """Whether the sentence of the report is about what both statements are about."""
        words = stems(f"{claim.sentence} {claim.section} {self._report.title}")
        common = anchor.about & other.about & words
        if not common - GENERIC:
            return False
        if anchor.near & other.near & words:
            return True
        own, theirs = self._own_language, self._language(anchor.source)
        return bool(own and theirs and own != theirs)

    def _language(self, text: SourceText) -> str:
        if (language := self._languages.get(text.number)) is None:
            language = self._languages[text.number] = language_of(text.text)
        return language

    def _has_value(self, text: SourceText, anchor: Statement) -> bool:
        """Whether a source has the value of a statement, too, near some of the same words."""
        statements = self._statements[_sort(anchor)]
        return any(
            each.source is text and each.near & anchor.near and agree(anchor, each) for each in statements
        )


def _anchor(claim: Claim, text: SourceText) -> Statement | None:
    """The statement of the source behind a claim, if it can be compared."""
    evidence = claim.evidence[0]
    number = next(
        (
            at
            for at, each in enumerate(text.figures)
            if (each.start, each.end) == (evidence.start, evidence.end)
        ),
        None,
    )
    if number is None:
        return None
    statement = Statement.at(text, number)
    return statement if statement.is_comparable and len(statement.near) >= _FEWEST else None


def _sort(statement: Statement) -> _Sort:
    return statement.figure.kind, statement.figure.unit


def _place(statement: Statement) -> tuple[int, int]:
    return statement.source.number, statement.number


def _fits(claim: Claim, other: Statement) -> bool:
    """Whether the figure of the report, which may be rounded, is that of the other source, too."""
    for figure in find_figures(claim.sentence[:2_000]):
        if figure.start == claim.at and figure.unit == other.figure.unit:
            return how_same(figure, other.figure, claim.sentence[: claim.at]) is not None
    return False


def _subject(claim: Claim) -> str:
    """The words around a figure of the report, with an ellipsis in its place."""
    sentence, end = claim.sentence, claim.at + len(claim.text)
    if sentence[claim.at : end] != claim.text:
        return " ".join((claim.section or claim.text).split())
    before = " ".join(_MARK.sub("", sentence[max(claim.at - 200, 0) : claim.at]).split())
    after = " ".join(_MARK.sub("", sentence[end : end + 200]).split())
    if len(before) > _SUBJECT_BEFORE:
        before = before[-_SUBJECT_BEFORE:].partition(" ")[2]
    if len(after) > _SUBJECT_AFTER:
        after = after[:_SUBJECT_AFTER].rpartition(" ")[0]
    return f"{before} … {after}".strip(" .;,:")
