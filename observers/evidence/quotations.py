"""Checks the quotations of a report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim, Evidence, Verdict
from ua_tui.observers.evidence.figures.look_alikes import HAS_INVISIBLE, HAS_LOOK_ALIKE
from ua_tui.observers.evidence.passages import passage
from ua_tui.observers.evidence.quoting.alterations import Alteration, closest, describe, shared_pairs
from ua_tui.observers.evidence.quoting.finding import Quotation, find_quotations, is_title
from ua_tui.observers.evidence.quoting.folding import INVISIBLE, Folded, has_look_alikes
from ua_tui.observers.evidence.quoting.language import language_of
from ua_tui.observers.evidence.quoting.matching import Part, Span, find_parts, occurrences, read_parts
from ua_tui.observers.evidence.report import Block, Report, Sentence
from ua_tui.observers.evidence.sources import Sources, SourceText

_MOST = 1_000
"""Quotations that are checked."""
_LONGEST = 20_000
"""Characters of a quotation that are compared."""
_LONGEST_TEXT = 2_000
_LONGEST_SENTENCE = 1_000
_MOST_ALTERED = 3
"""Sources that are searched for the passage that a quotation was changed from."""
_FEW_WORDS = 8
_NO_TEXT = "The session has no source with text."
_SEEN = ("search_row", "query")
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
# Between letters of scripts that need them, these are no trick.
_JOINERS = re.compile("(?<=[^\x00-\u058f])[\u200b-\u200f\u2060-\u2069](?=[^\x00-\u058f]|$)")
_NOTE = re.compile(
    r"[\[(]?\W?[\d*†‡]{1,3}[\])]?|[⁰¹²³⁴-⁹,]{1,9}|\[\^[^\[\]\s]{1,40}\]|\[\d{1,3}(?:[\s,;–-]{1,3}\d{1,3}){1,9}\]"
)
_SAYS = re.compile(
    r"\b(?:sa(?:id|ys?|ying)|stat(?:e[sd]?|ing)|wr(?:ote|ites?)|written|told|tells|according|added|adds|warn\w*|argu\w+"
    r"|explain\w*|report(?:s|ed)|quot\w+|describ\w+|claim\w*|note[sd]|call(?:s|ed)|announc\w+|concluded?s?|puts?|conced\w+"
    r"|sagte?n?|schr\w+|laut|erkl\w+|meinte?n?|so|betonte?n?|dit|affirm\w+|selon|écri\w+|déclar\w+|explique\w*"
    r"|dijo|dice|según|escrib\w+|declar\w+)\b",
    re.IGNORECASE,
)


@dataclass
class _Found:
    """A quotation with what was found out about it."""

    quotation: Quotation
    text: str
    parts: list[Part]
    """The quotation split at its ellipses."""
    wild: list[Part]
    """The quotation split at its brackets, too; empty if it has none."""
    cited: list[SourceText] = field(default_factory=list)
    near: list[SourceText] = field(default_factory=list)
    """The texts that are cited in the paragraphs around it."""
    cites: tuple[str, ...] = ()
    claim: Claim | None = None


def check_quotations(report: Report, sources: Sources, stop: Stop = NEVER) -> Iterator[Claim]:
    """Give a claim for each of the quotations of the report.

    Raises:
        Stopped: the flag was set.
    """
    check = _Check(report, sources, stop)
    for found in check.run():
        if found.claim is not None:
            yield found.claim


class _Check:
    """Compares the quotations of one report with its sources."""

    def __init__(self, report: Report, sources: Sources, stop: Stop) -> None:
        self._report, self._sources, self._stop = report, sources, stop
        self._texts = [text for text in sources.texts if text.text.strip()]
        self._sentences = report.sentences_by_block()

    def run(self) -> list[_Found]:
        """Check all quotations, in the order of the report."""
        quotations: list[_Found] = []
        is_cut = False
        for quotation in find_quotations(self._report.blocks, self._report.source):
            self._stop.check()
            if len(quotations) == _MOST:
                is_cut = True
                break
            quotations.append(self._read(quotation))
        for found in quotations:
            self._stop.check()
            self._check_verbatim(found)
        self._check_others([found for found in quotations if found.claim is None])
        if is_cut and quotations:
            last = quotations[-1]
            note = f"Only the first {_MOST:,} quotations of the report were checked."
            last.claim = self._claim(last, Verdict.UNCHECKED, note)
        return quotations

    def _read(self, quotation: Quotation) -> _Found:
        block = self._report.blocks[quotation.number]
        text = _without_notes(block, quotation.start, min(quotation.end, quotation.start + _LONGEST))
        parts = read_parts(text, brackets=False)
        wild = read_parts(text, brackets=True) if "[" in text else []
        cites = tuple(dict.fromkeys(url for each in self._around(quotation) for url in each.cites)) or tuple(
            block.cites
        )
        found = _Found(quotation, text, parts, wild, cites=cites)
        found.cited = self._texts_at(cites)
        near = self._report.blocks[max(quotation.number - 1, 0) : quotation.number + 2]
        found.near = self._texts_at(
            url for each in near for url in [*(link.url for link in each.links), *each.cites]
        )
        return found

    def _texts_at(self, urls: Sequence[str] | Iterator[str]) -> list[SourceText]:
        texts = {text.number: text for url in dict.fromkeys(urls) for text in self._sources.cited(url)}
        # Rows of a search may have words of a page that its text does not have.
        addresses = {text.record.url for text in texts.values() if text.record.url}
        texts |= {text.number: text for text in self._texts if text.record.url in addresses}
        return [text for text in texts.values() if text.text.strip()]

    def _around(self, quotation: Quotation) -> list[Sentence]:
        """The sentences that a quotation is in."""
        block = self._report.blocks[quotation.number]
        sentences = self._sentences.get(id(block), [])
        return [each for each in sentences if each.start < quotation.end and each.end > quotation.start]

    def _check_verbatim(self, found: _Found) -> None:
        if not found.parts or not self._texts:
            found.claim = self._claim(found, Verdict.UNCHECKED, _NO_TEXT)
            return
        first = [*found.cited, *(text for text in found.near if text not in found.cited)]
        numbers = {text.number for text in first}
        for text in [*first, *(text for text in self._texts if text.number not in numbers)]:
            evidence = self._verbatim(found, text)
            if evidence is not None:
                verdict, note = self._place(found, text)
                found.claim = self._claim(found, verdict, note, [evidence])
                return

    def _verbatim(self, found: _Found, text: SourceText) -> Evidence | None:
        folded = text.folded
        spans = find_parts(found.parts, folded)
        if spans is None and found.wild and sum(len(part.folded) for part in found.wild) > 2:
            spans = find_parts(found.wild, folded)
        if spans is not None:
            return _evidence(text, folded, spans)
        if len(found.parts) == 1 and text.record.title:
            title = Folded(text.record.title)
            if next(occurrences(found.parts[0], title), None) is not None:
                return Evidence(source=text.number, passage=text.record.title)
        return None

    def _place(self, found: _Found, text: SourceText) -> tuple[Verdict, str]:
        """The verdict on a quotation that a text has word for word."""
        if not found.cites or text in found.cited or text in found.near or text.record.kind == "query":
            return Verdict.VERBATIM, ""
        name = text.record.title or text.record.url or text.record.path
        if self._unread(found):
            note = f"Found word for word in “{name}”; the text of the cited page is not known in full."
            return Verdict.UNCHECKED, note
        return Verdict.MISATTRIBUTED, f"Found word for word in “{name}”, not in the cited source."

    def _unread(self, found: _Found) -> bool:
        """Whether the text of a cited source is not known, or only a part of it."""
        return any(
            not (texts := self._sources.cited(url))
            or all(text.record.kind in _SEEN or text.record.gone or not text.text.strip() for text in texts)
            for url in found.cites
        )

    def _check_others(self, others: Sequence[_Found]) -> None:
        """Find the passages that quotations were changed from; titles that no source has are no quotations."""
        blocks = self._report.blocks
        others = [each for each in others if not is_title(blocks[each.quotation.number], each.quotation)]
        if not others:
            return
        parts = [(found, part) for found in others for part in found.parts]
        texts = {text.number: text.folded for text in self._texts}
        shared = shared_pairs([part for _, part in parts], texts, self._stop)
        by_quotation: dict[int, dict[int, list[tuple[Part, list[Span]]]]] = {}
        for (found, part), places in zip(parts, shared, strict=True):
            for number, each in places.items():
                by_quotation.setdefault(id(found), {}).setdefault(number, []).append((part, each))
        for found in others:
            self._stop.check()
            found.claim = self._altered(found, by_quotation.get(id(found), {})) or self._not_found(found)

    def _altered(self, found: _Found, places: dict[int, list[tuple[Part, list[Span]]]]) -> Claim | None:
        cited = {text.number for text in found.cited}

        def score(number: int) -> tuple[int, bool]:
            return sum(len({inside for _, inside in each}) for _, each in places[number]), number in cited

        best: tuple[float, SourceText, list[Alteration]] | None = None
        by_number = {text.number: text for text in self._texts}
        for number in sorted(places, key=score, reverse=True)[:_MOST_ALTERED]:
            text = by_number[number]
            alterations = self._alterations(found, text, places[number])
            if alterations is None:
                continue
            ratio = min(each.ratio for each in alterations)
            if best is None or ratio > best[0]:
                best = ratio, text, alterations
        if best is None:
            return None
        _, text, alterations = best
        notes = [note for each in alterations for note in each.notes]
        folded = text.folded
        evidence = _evidence(
            text,
            folded,
            [each.span for each in alterations],
            [span for each in alterations for span in each.marks],
        )
        if not notes and len(found.parts) > 1:
            return self._claim(
                found,
                Verdict.UNCHECKED,
                "The parts around the ellipsis are far apart in the source.",
                [evidence],
            )
        if not notes:
            verdict, note = self._place(found, text)
            return self._claim(found, verdict, note, [evidence])
        return self._claim(found, Verdict.ALTERED, describe(notes), [evidence])

    def _alterations(
        self, found: _Found, text: SourceText, places: Sequence[tuple[Part, list[Span]]]
    ) -> list[Alteration] | None:
        """The passages of one text for all parts of a quotation."""
        folded = text.folded
        by_part = {id(part): each for part, each in places}
        alterations: list[Alteration] = []
        for part in found.parts:
            spans = find_parts([part], folded)
            alteration = (
                Alteration(1.0, spans[0]) if spans else closest(part, folded, by_part.get(id(part), []))
            )
            if alteration is None:
                return None
            alterations.append(alteration)
        if any(each.notes for each in alterations) or len(alterations) < 2:
            return alterations
        order = [each.span[0] for each in alterations]
        if order != sorted(order):
            alterations[0].notes.append("the parts around the ellipsis are in another order in the source")
        return alterations

    def _not_found(self, found: _Found) -> Claim:
        if not self._sources.has_text:
            return self._claim(found, Verdict.UNCHECKED, _NO_TEXT)
        block = self._report.blocks[found.quotation.number]
        if any(text.record.gone for url in found.cites for text in self._sources.cited(url)):
            return self._claim(found, Verdict.UNCHECKED, "The text of the cited source is no longer there.")
        if other := self._other_language(found):
            return self._claim(found, Verdict.UNCHECKED, f"It may be translated: the source is in {other}.")
        is_attributed = bool(found.cites or block.cites or _SAYS.search(_near(block, found.quotation)))
        if not is_attributed and (found.quotation.is_block or len(found.text.split()) < _FEW_WORDS):
            return self._claim(
                found,
                Verdict.UNCHECKED,
                "No source has these words, and the report does not say whose they are.",
            )
        unread = ", and the cited page was not read" if found.cites and not found.cited else ""
        return self._claim(found, Verdict.NOT_FOUND, f"No source of the session has these words{unread}.")

    def _other_language(self, found: _Found) -> str:
        """The language of the cited texts, or of all, if the quotation is in another one; else empty."""
        block = self._report.blocks[found.quotation.number]
        own = language_of(found.text) or language_of(block.text)
        languages = {language_of(text.text) for text in found.cited or self._texts}
        if not own or own in languages or "" in languages:
            return ""
        return min(languages)

    def _claim(self, found: _Found, verdict: Verdict, note: str, evidence: Sequence[Evidence] = ()) -> Claim:
        quotation = found.quotation
        block = self._report.blocks[quotation.number]
        around = self._around(quotation)
        begin = min([quotation.start, *(each.start for each in around)])
        begin = max(begin, quotation.start - _LONGEST_SENTENCE // 2)
        last = min(max([quotation.end, *(each.end for each in around)]), begin + _LONGEST_SENTENCE)
        start, end = block.source_range(quotation.start, quotation.end)
        raw = self._report.source[start : min(end, start + 2 * _LONGEST)]
        if quotation.end - quotation.start > _LONGEST:
            note = f"{note} Only its beginning was compared.".lstrip()
        return Claim(
            kind="quotation",
            verdict=verdict,
            text=block.text[quotation.start : min(quotation.end, quotation.start + _LONGEST_TEXT)].strip(),
            start=start,
            end=end,
            sentence=block.text[begin:last],
            at=quotation.start - begin,
            section=block.section,
            url=found.cites[0] if found.cites else "",
            note=note,
            remarks=_remarks(found.text, raw),
            evidence=tuple(evidence),
        )


def _evidence(
    text: SourceText, folded: Folded, spans: Sequence[Span], marks: Sequence[Span] = ()
) -> Evidence:
    def place(span: Span) -> tuple[int, int]:
        return folded.starts[span[0]], folded.ends[span[1] - 1]

    places = [place(span) for span in spans]
    start, end = min(first for first, _ in places), max(last for _, last in places)
    return passage(text, start, end, [place(span) for span in marks] or places)


def _without_notes(block: Block, start: int, end: int) -> str:
    """The text of a range without the marks of footnotes."""
    parts, at = [], start
    for link in block.links_in(start, end):
        if at <= link.start < link.end <= end and _NOTE.fullmatch(block.text[link.start : link.end]):
            parts.append(block.text[at : link.start])
            at = link.end
    return "".join([*parts, block.text[at:end]])


def _near(block: Block, quotation: Quotation) -> str:
    """The words before and after a quotation."""
    return (
        block.text[max(quotation.start - 150, 0) : quotation.start] + " " + block.text[quotation.end :][:100]
    )


def _remarks(text: str, raw: str) -> tuple[str, ...]:
    remarks = []
    for each in (text, raw):
        if _INVISIBLE.search(_JOINERS.sub("", each)):
            remarks.append(HAS_INVISIBLE)
            break
    if has_look_alikes(text):
        remarks.append(HAS_LOOK_ALIKE)
    return tuple(remarks)
