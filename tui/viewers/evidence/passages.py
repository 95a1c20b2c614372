"""What the panel says of a claim: its verdict in words, its sentence, and the passages of the sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from textual.content import Span

from ua_tui.core.evidence.records import Claim, Disagreement, Evidence, Level, ReportCheck, Source, Verdict
from ua_tui.core.evidence.wording import NAMES, finding
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.evidence.signs import role_of, sign_of

_ROLES = {Level.SUPPORTED: "good", Level.LOOK: "warn", Level.UNSUPPORTED: "bad"}
_WITHOUT_SOURCE = frozenset({Verdict.UNTRACED, Verdict.NOT_FOUND, Verdict.INVENTED, Verdict.UNCHECKED})
_AROUND = 240
_KINDS = {
    "article": "page",
    "search_row": "search result",
    "run": "run in the sandbox",
    "result": "result of a tool",
    "file": "file",
    "query": "what you wrote",
    "earlier": "page of an earlier session",
}

Piece = tuple[str, str]
"""A text and its roles, separated by spaces."""


class _Lines:
    """Lines of text in roles."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.spans: list[list[Span]] = []

    def add(self, *pieces: Piece) -> None:
        """Add a line."""
        text = ""
        spans: list[Span] = []
        for part, role in pieces:
            if part:
                spans += (Span(len(text), len(text) + len(part), each) for each in role.split())
            text += part
        self.texts.append(text)
        self.spans.append(spans)

    def body(self) -> TextBody:
        """The lines as a body."""
        return TextBody("\n".join(self.texts), style=lambda number, line: self.spans[number])


def claim_body(
    check: ReportCheck, number: int, disagreements: Iterable[int] = (), *, compact: bool = False
) -> TextBody:
    """Describe the claim of this number, from 0; if `compact`, the passages come before the claim's sentence."""
    claim = check.claims[number]
    role = _ROLES[Level(role_of(claim))]
    lines = _Lines()
    verdict = (f"{sign_of(claim)} {NAMES[claim.verdict]}", f"{role} strong")
    why = (clean_line(finding(claim), 600), "")
    if compact:
        lines.add(verdict, ("  ", ""), why)
    else:
        lines.add(verdict, (f"  {claim.kind}", "dim"))
        lines.add(why)
    for remark in claim.remarks[:4]:
        lines.add((f"! {clean_line(remark, 200)}", "warn"))
    if not compact:
        _add_sentence(lines, claim, role)
    shown = claim.evidence[:6]
    for count, evidence in enumerate(shown):
        if count or not compact:
            lines.add()
        of = f" {count + 1} of {len(shown)}" if len(shown) > 1 else ""
        heading = "Nearest passage" if claim.verdict in _WITHOUT_SOURCE else "In the source"
        _add_evidence(lines, check, evidence, heading + of, compact=compact)
    for each in disagreements:
        lines.add()
        _add_disagreement(lines, check, check.disagreements[each])
    if compact:
        _add_sentence(lines, claim, role)
    return lines.body()


def _add_sentence(lines: _Lines, claim: Claim, role: str) -> None:
    lines.add()
    section = clean_line(claim.section, 120)
    lines.add(("In the report", "heading"), (f"  {section}" if section else "", "dim"))
    lines.add(*_sentence(claim, role))
    if claim.url:
        lines.add((clean_line(claim.url, 400), "link"))


def opened_source(check: ReportCheck, claim: Claim) -> tuple[Source, Evidence] | None:
    """The source that is opened for a claim, and its passage: the first that can be opened; None if there is none."""
    for evidence in claim.evidence:
        source = _source(check, evidence)
        if source is not None and source.path and not source.gone:
            return source, evidence
    return None


def _source(check: ReportCheck, evidence: Evidence) -> Source | None:
    return check.sources[evidence.source] if 0 <= evidence.source < len(check.sources) else None


def _sentence(claim: Claim, role: str) -> list[Piece]:
    """The sentence around a claim with its words marked; only what is near of a long one."""
    sentence, text = claim.sentence, clean_line(claim.text, 2_000)
    end = claim.at + len(claim.text)
    if not sentence or sentence[claim.at : end] != claim.text:
        shown = clean_line(sentence, 2 * _AROUND)
        return [(text, f"{role} strong")] if not shown else [(shown, "")]
    before = sentence[max(0, claim.at - _AROUND) : claim.at]
    after = sentence[end : end + _AROUND]
    return [
        ("…" if claim.at > _AROUND else "", "dim"),
        (_flat(before), ""),
        (text, f"{role} strong"),
        (_flat(after), ""),
        ("…" if len(sentence) > end + _AROUND else "", "dim"),
    ]


def _flat(text: str) -> str:
    """A text on one line, with its spaces at both ends."""
    return clean(text).replace("\n", " ").replace("\t", " ")


def _add_evidence(
    lines: _Lines, check: ReportCheck, evidence: Evidence, heading: str, *, compact: bool
) -> None:
    source = _source(check, evidence)
    if source is None:
        return
    title = clean_line(source.title or source.url or source.path or _KINDS[source.kind], 300)
    if compact:
        lines.add((heading, "heading"), ("  ", ""), (title, "strong"))
    else:
        lines.add((heading, "heading"))
        lines.add((title, "strong"))
    if facts := _facts(source):
        lines.add((facts, "dim"))
    if source.url and source.title:
        lines.add((clean_line(source.url, 400), "link"))
    if evidence.passage:
        lines.add(*_passage(evidence))
    if source.gone:
        lines.add(("This source has been deleted since.", "warn"))


def _facts(source: Source) -> str:
    facts = [_KINDS[source.kind]]
    if source.published:
        facts.append(f"published {clean_line(source.published, 40).partition('T')[0]}")
    if source.read_at is not None:
        verb = (
            "found" if source.kind == "search_row" else "made" if source.kind in {"run", "file"} else "read"
        )
        facts.append(f"{verb} {_when(source.read_at)}")
    if source.session:
        facts.append(clean_line(source.session, 80))
    return " · ".join(facts)


def _when(at: datetime) -> str:
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    days = (datetime.now(UTC) - at).days
    age = f" ({days:,} {'day' if days == 1 else 'days'} ago)" if days > 0 else ""
    # The first and the last day that there are may have no time of this place.
    with suppress(OverflowError, OSError, ValueError):
        at = at.astimezone()
    return f"{at:%Y-%m-%d %H:%M}{age}"


def _passage(evidence: Evidence) -> list[Piece]:
    """The passage of a source with the marked words."""
    text = evidence.passage
    pieces: list[Piece] = [("“", "dim")]
    at = 0
    for start, end in sorted(evidence.marks):
        if at <= start < end <= len(text):
            pieces += [(_flat(text[at:start]), ""), (_flat(text[start:end]), "added-words")]
            at = end
    return [*pieces, (_flat(text[at:]), ""), ("”", "dim")]


def _add_disagreement(lines: _Lines, check: ReportCheck, disagreement: Disagreement) -> None:
    lines.add(("Sources disagree", "warn"), (f"  {clean_line(disagreement.subject, 200)}", ""))
    for value, source in _disagreement_values(check, disagreement):
        lines.add((f"{value}  ", "strong"), (source, "dim"))


def _disagreement_values(check: ReportCheck, disagreement: Disagreement) -> Sequence[tuple[str, str]]:
    """Each value of a disagreement with the title of its source."""
    pairs = zip(disagreement.values, disagreement.evidence, strict=False)
    found = [(clean_line(value, 80), _source(check, evidence)) for value, evidence in pairs]
    return [
        (value, clean_line(source.title or source.url or source.path, 120) if source else "")
        for value, source in found
    ]
