"""Checks one report against the sources of its session."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.evidence.records import Claim, ReportCheck
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.observers.evidence.disagreements import find_disagreements
from ua_tui.observers.evidence.earlier import earlier_pages
from ua_tui.observers.evidence.figure_claims import check_figures
from ua_tui.observers.evidence.links import check_links, report_addresses
from ua_tui.observers.evidence.names import check_names
from ua_tui.observers.evidence.quotations import check_quotations
from ua_tui.observers.evidence.reading.document import read_report
from ua_tui.observers.evidence.report import Report
from ua_tui.observers.evidence.session_sources import read_sources
from ua_tui.observers.evidence.sources import Sources

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

Checker = Callable[[Report, Sources, Stop], Iterable[Claim]]
_CHECKERS: Sequence[Checker] = (check_links, check_quotations, check_figures, check_names)


def check_in_session(
    data: bytes,
    path: str,
    session: Path,
    redactor: Redactor,
    knowledge: KnowledgePlace | None = None,
    stop: Stop = NEVER,
) -> ReportCheck:
    """Check a report against what its session and earlier ones have read. Runs in a thread.

    Args:
        data: the report.
        path: where it is in the session's folder; its end names its format.
        session: the folder of the session.
        redactor: masks what the sources say.
        knowledge: where the knowledge base is with what earlier sessions have read; None if there is none.
        stop: a flag that ends the check.

    Raises:
        Stopped: the flag was set.
    """
    earlier = earlier_pages(knowledge, session, redactor)
    return check_report(data, path, read_sources(session, redactor, path, earlier, stop), stop=stop)


def check_report(
    data: bytes, path: str, sources: Sources, *, now: datetime | None = None, stop: Stop = NEVER
) -> ReportCheck:
    """Check a report; `path` names its format and is relative to the session's folder. Runs in a thread.

    Raises:
        Stopped: the flag was set.
    """
    started = time.perf_counter()
    report = read_report(data, path, stop)
    sources.look_up(report_addresses(report), stop)
    found = [claim for check in _CHECKERS for claim in check(report, sources, stop)]
    found.sort(key=lambda claim: (claim.start, claim.end))
    claims = tuple(msgspec.structs.replace(claim, id=number) for number, claim in enumerate(found, 1))
    return ReportCheck(
        report=path,
        sha256=hashlib.sha256(data).hexdigest(),
        title=report.title,
        checked_at=now or datetime.now(UTC),
        duration_ms=round((time.perf_counter() - started) * 1_000, 1),
        is_cut=report.is_cut,
        notices=(*report.notices, *sources.notices),
        claims=claims,
        disagreements=tuple(find_disagreements(claims, report, sources, stop)),
        sources=tuple(text.record for text in sources.texts),
    )
