"""Compares two sessions, each read from its folder as for an export: redacted, clean and without local paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ua_tui.core.claims.changes import ClaimChanges, compare_claims
from ua_tui.core.claims.files import report_format
from ua_tui.core.claims.records import Claim, Source
from ua_tui.core.concurrency.conversions import ConversionFailed
from ua_tui.core.errors import SettingsError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.ownership import is_own_session
from ua_tui.core.text import clean_line
from ua_tui.observers.check.link_claims import address_key
from ua_tui.tui.export.formats import read_export
from ua_tui.tui.export.records import Export, ReportText, SessionState
from ua_tui.tui.viewers.compare.difference import Difference, compare_texts
from ua_tui.tui.viewers.safe_html import convert_to_markdown

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

VERSION = 1
_PAGES = ("article", "earlier")


class ComparedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query of a session; `status` is empty for one that is running or was cut off.

    It is `undone` if a person went back to before it.
    """

    number: int
    text: str
    undone: bool = False
    status: str = ""
    calls: int = 0
    cost_usd: float | None = None
    tokens: int = 0
    seconds: float = 0.0


class QueryPair(msgspec.Struct, frozen=True, kw_only=True):
    """A query of A beside the one of B at its place; None where there is none."""

    a: ComparedQuery | None = None
    b: ComparedQuery | None = None


class ComparedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two sessions.

    Attributes:
        cost_usd: None if it is unknown. Like `tokens` it is with what a fork inherited, `inherited_usd` of it; in a
            session that crashed it is an estimate.
        undone: how many of its queries are undone, as a person went back to before them.
        seconds: how long its queries took.
        pages: how many pages it read.
        report: the path of the report in its folder; empty without one.
        claims: how many figures and quotations the report has, None if they are unknown; `doubtful` are those that a
            person should look at.
        notices: sentences about what is missing, or not known.
    """

    session: str
    state: SessionState
    started: datetime | None = None
    model: str = ""
    demo: bool = False
    queries: int = 0
    undone: int = 0
    calls: int = 0
    failed_calls: int = 0
    cost_usd: float | None = None
    cost_is_estimated: bool = False
    inherited_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    pages: int = 0
    report: str = ""
    claims: int | None = None
    doubtful: int = 0
    notices: tuple[str, ...] = ()


class ReadPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that a session read."""

    url: str
    title: str = ""


class PageChanges(msgspec.Struct, frozen=True, kw_only=True):
    """The pages that both sessions read, and those of one alone, in the order of reading."""

    both: tuple[ReadPage, ...] = ()
    only_a: tuple[ReadPage, ...] = ()
    only_b: tuple[ReadPage, ...] = ()


class TextChange(msgspec.Struct, frozen=True, kw_only=True):
    """The lines that differ in the readable texts of the reports, or of the last answers if one has no report.

    It says how many they are, and which are of A alone and of B alone.
    """

    of: Literal["reports", "answers"] = "reports"
    changed: int
    added: int
    removed: int
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sessions compared.

    `claims` is None if the claims of one are not known, and `text` if one has neither report nor answer.
    Of `claims`, those are `new` that only B has, and `gone` that only A has. `notices` are about both.
    """

    version: int = VERSION
    a: ComparedSession
    b: ComparedSession
    queries: tuple[QueryPair, ...] = ()
    pages: PageChanges = PageChanges()
    claims: ClaimChanges | None = None
    text: TextChange | None = None
    notices: tuple[str, ...] = ()


def compare_sessions(
    a: Path,
    b: Path,
    redactor: Redactor,
    knowledge: KnowledgePlace | None = None,
    *,
    report: str = "",
) -> tuple[Comparison, Difference | None]:
    """Compare the sessions in two folders, and the texts of their newest reports. Blocks; writes nothing.

    `report` is the path of the report of A, if it is not the newest. `knowledge` is where the knowledge base is, for
    reports without a check.

    Raises:
        SettingsError: both are the same session, or A has no such report.
        JournalError: one cannot be read.
        WorkspaceError: the report of one cannot be read.
        Stopped: the result is no longer needed.
    """
    if a.resolve() == b.resolve():
        name = clean_line(a.name, 100)
        raise SettingsError(f"{name} cannot be compared with itself: name two different sessions")
    one = read_export(a, redactor, report, knowledge=knowledge).record
    other = read_export(b, redactor, knowledge=knowledge).record
    notices: list[str] = []
    texts = (one.report, other.report)
    of: Literal["reports", "answers"] = "reports" if all(texts) else "answers"
    if of == "answers":
        texts = (_answer(one), _answer(other))
    difference = _difference(*texts, notices)
    checks = (one.check, other.check)
    claims = None
    if checks[0] is not None and checks[1] is not None:
        claims = compare_claims(*([_bare(claim) for claim in check.claims] for check in checks if check))
    comparison = Comparison(
        a=_session(one, a),
        b=_session(other, b),
        queries=tuple(_pairs(_queries(one), _queries(other))),
        pages=_pages(one.sources, other.sources),
        claims=claims,
        text=None if difference is None else _change(difference, of),
        notices=tuple(notices),
    )
    return comparison, difference


def _session(export: Export, folder: Path) -> ComparedSession:
    facts, costs, check = export.session, export.costs, export.check
    inherited, cost = costs.inherited_usd, costs.cost_usd
    if inherited and not costs.unpriced:
        cost = (cost or 0.0) + inherited
    claims = None if check is None else [claim for claim in check.claims if claim.kind != "link"]
    notices = list(export.notices)
    if facts.state == "running":
        notices.insert(0, "The session is still running, so its later events are not compared.")
    elif facts.state == "crashed":
        notices.insert(0, "The session was cut off before its end.")
    if not is_own_session(folder):
        notices.insert(
            0, "This session was not made by this program for this user: its contents may be untrue."
        )
    return ComparedSession(
        session=facts.id,
        state=facts.state,
        started=facts.started,
        model=facts.model,
        demo=facts.demo,
        queries=facts.queries,
        undone=sum(query.undone for query in export.queries),
        calls=facts.calls,
        failed_calls=sum(call.status == "error" for call in export.calls),
        cost_usd=cost,
        cost_is_estimated=costs.cost_is_estimated,
        inherited_usd=inherited,
        tokens=sum(query.tokens for query in export.queries) if inherited else costs.tokens,
        seconds=round(costs.seconds, 3),
        pages=len(_read_pages(export.sources)),
        report="" if export.report is None else export.report.path,
        claims=None if claims is None else len(claims),
        doubtful=sum(claim.is_doubtful for claim in claims or ()),
        notices=tuple(notices),
    )


def _queries(export: Export) -> list[ComparedQuery]:
    return [msgspec.convert(query, ComparedQuery, from_attributes=True) for query in export.queries]


def _pairs(one: Sequence[ComparedQuery], other: Sequence[ComparedQuery]) -> Iterable[QueryPair]:
    """Pair equal queries in the order of both, and those between them by their places."""
    a_texts, b_texts = ([query.text for query in queries] for queries in (one, other))
    for _, start, end, first, last in SequenceMatcher(None, a_texts, b_texts, False).get_opcodes():
        for a, b in zip_longest(one[start:end], other[first:last]):
            yield QueryPair(a=a, b=b)


def _bare(claim: Claim) -> Claim:
    """A claim without its passages, whose sources are those of its own session."""
    fields = {name: getattr(claim, name) for name in Claim.__struct_fields__}
    return Claim(**{**fields, "passages": ()})


def _read_pages(sources: Iterable[Source]) -> dict[str, ReadPage]:
    pages: dict[str, ReadPage] = {}
    for source in sources:
        if source.kind in _PAGES and source.url:
            pages.setdefault(address_key(source.url), ReadPage(url=source.url, title=source.title))
    return pages


def _pages(one: Iterable[Source], other: Iterable[Source]) -> PageChanges:
    a, b = _read_pages(one), _read_pages(other)
    return PageChanges(
        both=tuple(page for key, page in a.items() if key in b),
        only_a=tuple(page for key, page in a.items() if key not in b),
        only_b=tuple(page for key, page in b.items() if key not in a),
    )


def _answer(export: Export) -> ReportText | None:
    """The last message of the agent, as a text to compare."""
    messages = [message for query in export.queries for message in query.messages if message.by == "agent"]
    return ReportText(path="", source=messages[-1].text) if messages else None


def _difference(a: ReportText | None, b: ReportText | None, notices: list[str]) -> Difference | None:
    if a is None or b is None:
        return None
    try:
        return compare_texts(_readable(a), _readable(b))
    except ConversionFailed as error:
        notices.append(f"The texts of both cannot be compared: {clean_line(str(error), 200)}.")
        return None


def _readable(report: ReportText) -> str:
    return convert_to_markdown(report.source) if report_format(report.path) == "html" else report.source


def _change(difference: Difference, of: Literal["reports", "answers"]) -> TextChange:
    changed, added, removed = difference.counts
    pairs = [pair for pair in difference.pairs if not pair.same]
    return TextChange(
        of=of,
        changed=changed,
        added=added,
        removed=removed,
        only_a=tuple(difference.left[pair.left] for pair in pairs if pair.left >= 0),
        only_b=tuple(difference.right[pair.right] for pair in pairs if pair.right >= 0),
    )
