"""Writes claims as HTML: their marks in the report, the list of doubtful ones, and the evidence for all."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from ua_tui.core.evidence.records import Claim, Evidence, Level, ReportCheck, Source
from ua_tui.core.evidence.wording import NAMES, finding
from ua_tui.tui.export.convert import PICTURE
from ua_tui.tui.export.marks import MOST_MARKS, START, TOKEN, marked_ids, without_marks
from ua_tui.tui.export.markup import GLYPHS, element, escaped, facts, source_line

Pictures = Mapping[str, str]
"""The data addresses of pictures by the addresses that a report has for them."""

_PARTS = re.compile(f'(<(?:[^>"]|"[^"]*")*+>)|{TOKEN.pattern}')
_HEADING = re.compile(r"(</?)h([1-6])\b")
_SOURCE = re.compile(r'\bsrc="([^"]*)"')
_ALTERNATIVE = re.compile(r'\balt="([^"]*)"')
_SEVERITY = (Level.UNSUPPORTED, Level.LOOK, Level.SUPPORTED)
_STRUCTURE = frozenset({"<tr", "</t", "<tb", "<th", "<td", "<co", "<ul", "<ol", "<dl"})
_LONGEST = 500
_PASSAGES, _MANY = 4, 500
"""How many passages a claim has in the list, and from how many claims on there is only one."""


def noted_claims(check: ReportCheck | None) -> list[Claim]:
    """The claims that get a mark, in their order; of too many, the doubtful ones first."""
    claims = [claim for claim in check.claims if claim.kind != "name" or claim.is_doubtful] if check else []
    if len(claims) <= MOST_MARKS:
        return claims
    claims.sort(key=lambda claim: (not claim.is_doubtful, claim.id))
    return sorted(claims[:MOST_MARKS], key=lambda claim: claim.id)


def mark_up(
    text: str, claims: Mapping[int, Claim], sources: Sequence[Source], pictures: Pictures, *, deeper: int = 0
) -> str:
    """Turn the tokens in sanitised HTML into marks, embed its pictures, and put its headings `deeper` levels down."""
    writer = _Writer(claims, sources, pictures, deeper, marked_ids(text))
    done = 0
    for found in _PARTS.finditer(text):
        writer.text(text[done : found.start()])
        if found[1] is not None:
            writer.tag(found[1])
        else:
            writer.token(found[2], int(found[3]))
        done = found.end()
    writer.text(text[done:])
    return without_marks("".join(writer.parts))


class _Writer:
    """Writes a report part by part, and knows which claims it is in."""

    def __init__(
        self,
        claims: Mapping[int, Claim],
        sources: Sequence[Source],
        pictures: Pictures,
        deeper: int,
        complete: set[int],
    ) -> None:
        self.parts: list[str] = []
        self._claims = claims
        self._sources = sources
        self._pictures = pictures
        self._deeper = deeper
        self._complete = complete
        self._open: dict[int, Level] = {}
        self._waiting: list[Claim] = []
        self._in_link = False

    def text(self, text: str) -> None:
        """Write text, highlighted inside a claim."""
        if self._open and text.strip():
            level = next(level for level in _SEVERITY if level in self._open.values())
            text = f'<span class="q {level}">{text}</span>'
        self.parts.append(text)

    def tag(self, tag: str) -> None:
        """Write a tag; no link is inside another."""
        if tag.startswith("<img"):
            self.parts.append(self._picture(tag))
            return
        if tag.startswith(("<a ", "<a>")):
            self._in_link = True
        if self._deeper:
            tag = _HEADING.sub(lambda found: f"{found[1]}h{min(int(found[2]) + self._deeper, 6)}", tag)
        self.parts.append(tag)
        if tag == "</a>":
            self._in_link = False
            for claim in self._waiting:
                self.parts.append(_mark(claim, self._sources))
            self._waiting.clear()

    def token(self, kind: str, number: int) -> None:
        """Begin or end a claim."""
        claim = self._claims.get(number)
        if claim is None or number not in self._complete:
            return
        if kind == START:
            self._open[number] = claim.level
            return
        self._open.pop(number, None)
        if self._in_link:
            self._waiting.append(claim)
        else:
            self.parts.append(_mark(claim, self._sources))
        self._complete.discard(number)

    def _picture(self, tag: str) -> str:
        source, alternative = _SOURCE.search(tag), _ALTERNATIVE.search(tag)
        alt = html.unescape(alternative[1]) if alternative else ""
        address = unquote(html.unescape(source[1]).removeprefix(PICTURE)) if source else ""
        if data := self._pictures.get(address):
            return f'<img src="{escaped(data)}" alt="{escaped(alt)}">'
        return element("span", f"[Picture: {escaped(alt) or 'not included'}]", class_="missing")


def _mark(claim: Claim, sources: Sequence[Source]) -> str:
    level, number = claim.level, claim.id
    verdict = NAMES[claim.verdict]
    label = f"{claim.kind} {number}: {verdict}"
    mark = element(
        "a",
        f'<span aria-hidden="true">{GLYPHS[level]}</span><span class="num">{number}</span>',
        href=f"#c{number}",
        id=f"m{number}",
        aria_label=label,
    )
    return f'<span class="mark {level}">{mark}{_tip(claim, sources)}</span>'


def _tip(claim: Claim, sources: Sequence[Source]) -> str:
    """The note that opens beside a mark; of phrasing elements only, as it may be inside a paragraph."""
    parts = [_verdict(claim)]
    parts += (element("span", escaped(note), class_="why") for note in _notes(claim))
    if claim.evidence:
        parts.append(_passage(claim.evidence[0], sources, "span"))
    more = len(claim.evidence) - 1
    ends = element("a", f"All evidence ({more} more)" if more > 0 else "In the list", href=f"#e{claim.id}")
    ends += element("a", "Close", href=f"#m{claim.id}", class_="close")
    parts.append(element("span", ends, class_="ends"))
    return element("span", "".join(parts), class_="tip", id=f"c{claim.id}", role="note")


def _notes(claim: Claim) -> Iterator[str]:
    """The address of a link that a reader does not see, why a claim has its verdict, and what is suspicious."""
    if claim.kind == "link" and claim.url != claim.text:
        yield claim.url
    if note := finding(claim) if claim.is_doubtful else claim.note:
        yield note
    yield from claim.remarks


def _verdict(claim: Claim) -> str:
    glyph = f'<span aria-hidden="true">{GLYPHS[claim.level]}</span>'
    name = element("span", f"{glyph} {NAMES[claim.verdict]}", class_=f"verdict {claim.level}")
    return element("span", f"{name} <span>{claim.kind} {claim.id}</span>", class_="head")


def _passage(evidence: Evidence, sources: Sequence[Source], tag: str) -> str:
    quoted = ""
    if evidence.passage:
        quoted = element(tag, _marked(evidence.passage, evidence.marks), class_="passage")
    source = sources[evidence.source] if 0 <= evidence.source < len(sources) else None
    named = element(tag, source_line(source), class_="from") if source is not None else ""
    return quoted + named


def _marked(passage: str, marks: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    done = 0
    for start, end in sorted(marks):
        if done <= start < end <= len(passage):
            parts += (escaped(passage[done:start]), element("mark", escaped(passage[start:end])))
            done = end
    return "".join((*parts, escaped(passage[done:])))


def _sentence(claim: Claim) -> str:
    text = claim.sentence or claim.text
    start, end = claim.at, claim.at + len(claim.text)
    if claim.sentence and text[start:end] == claim.text:
        if start > _LONGEST:
            text, start, end = f"…{text[start - 100 :]}", 101, 101 + len(claim.text)
        return _marked(text[: max(_LONGEST, end)], ((start, end),))
    return escaped(text[:_LONGEST])


def doubtful_list(check: ReportCheck, sources: Sequence[Source], placed: set[int]) -> str:
    """The claims to look at, the unsupported ones first; empty if there are none."""
    doubtful = sorted(
        (claim for claim in check.claims if claim.is_doubtful and claim.kind != "name"),
        key=lambda claim: (_SEVERITY.index(claim.level), claim.id),
    )[:MOST_MARKS]
    items = "".join(_item(claim, sources, placed, "d", 1) for claim in doubtful)
    return element("ol", items, class_="claims") if items else ""


def evidence_list(check: ReportCheck, sources: Sequence[Source], placed: set[int]) -> str:
    """Every claim with its verdict and its evidence."""
    noted = noted_claims(check)
    most = _PASSAGES if len(noted) <= _MANY else 1
    items = "".join(_item(claim, sources, placed, "e", most) for claim in noted)
    return element("ol", items, class_="claims") if items else ""


def _item(claim: Claim, sources: Sequence[Source], placed: set[int], prefix: str, most: int) -> str:
    place = facts([escaped(claim.section)])
    if claim.id in placed:
        place = facts([place, element("a", "in the report", href=f"#m{claim.id}")])
    notes = "".join(element("p", escaped(note), class_="why") for note in _notes(claim))
    passages = "".join(_passage(each, sources, "p") for each in claim.evidence[:most])
    head = element("p", facts([_verdict(claim), place]), class_="head")
    said = element("p", _sentence(claim), class_="sentence")
    return element("li", f"{head}{said}{notes}{passages}", id=f"{prefix}{claim.id}", class_=claim.level)


def disagreement_list(check: ReportCheck, sources: Sequence[Source]) -> str:
    """The things for which sources give different values; empty if there are none."""
    return "".join(_disagreements(check, sources))


def _disagreements(check: ReportCheck, sources: Sequence[Source]) -> Iterator[str]:
    for each in check.disagreements:
        values = "".join(
            element("li", f"<b>{escaped(value)}</b>{_passage(evidence, sources, 'p')}")
            for value, evidence in zip(each.values, each.evidence, strict=False)
        )
        yield f"<h4>{escaped(each.subject)}</h4>{element('ul', values, class_='values')}"
