"""The check of a file that is shown, and what was decided about its claims."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.claims.decisions import Answer, Decision, Decisions
from ua_tui.core.claims.files import (
    LARGEST_REPORT,
    CheckedSource,
    ReportCheck,
    decisions_path,
    load_check,
    report_format,
)
from ua_tui.core.claims.opinion import Opinion, Opinions, load_opinions
from ua_tui.core.claims.records import Claim
from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.history.versions import find_origin
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.files import Root
from ua_tui.tui.viewers.reader import FileUnviewable, read_piece

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace


@dataclass(frozen=True)
class CheckedFile:
    """A file of a session, the check of it, and what a person decided.

    Attributes:
        session: the folder of the session.
        report: the path of the report, relative to it.
        check: the newest check; None if there is none.
        is_current: whether the check is of the file as it is.
        decisions: the decision about each claim of the check; None for one that is open.
        signed: how many claims are decided, in words; empty if none is.
        notice: why stored decisions do not count; empty if they do.
        opinions: a model's second opinion about each claim; empty if there is none.
        opinion: what it said, in words.
    """

    session: Path
    report: str
    check: ReportCheck | None = None
    is_current: bool = False
    decisions: tuple[Decision | None, ...] = ()
    signed: str = ""
    notice: str = ""
    opinions: tuple[Opinion | None, ...] = ()
    opinion: str = ""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims of the check."""
        return self.check.claims if self.check is not None else ()

    def decision(self, number: int) -> Decision | None:
        """What was decided about a claim."""
        return self.decisions[number] if number < len(self.decisions) else None

    def answer(self, number: int) -> Answer | None:
        """How a claim was decided; None if it is open."""
        decision = self.decision(number)
        return decision.answer if decision is not None else None

    def opinion_on(self, number: int) -> Opinion | None:
        """The second opinion about a claim."""
        return self.opinions[number] if number < len(self.opinions) else None

    def source_of(self, claim: Claim) -> CheckedSource | None:
        """The source of a claim's first passage; None without a passage."""
        return self.check.sources[claim.passages[0].source] if self.check and claim.passages else None


def has_format(path: Path) -> bool:
    """Whether a file has a format that can be checked, by its name."""
    return report_format(inner_name(path.name)) is not None


def find_check(path: Path, stop: Stop = NEVER) -> CheckedFile | None:
    """Find the check of a report; None if the file is of no session, or no report. Blocks.

    Raises:
        Stopped: the flag was set.
    """
    path = Path(os.path.abspath(path))
    origin = find_origin(path) if has_format(path) else None
    if origin is None:
        return None
    found = CheckedFile(origin.session, origin.source)
    try:
        check = load_check(Root(origin.session), origin.source)
        if check is None:
            return found
        data = _read(path, stop)
    except (UniversalAgentError, OSError):
        return found
    is_current = hashlib.sha256(data).hexdigest() == check.sha256
    return _with_decisions(replace(found, check=check, is_current=is_current))


def check_again(
    path: Path, known: CheckedFile, stop: Stop = NEVER, *, knowledge: KnowledgePlace | None = None
) -> CheckedFile:
    """Check a report as it is now, without writing anything. Blocks.

    `knowledge` is the file of the knowledge base with what earlier sessions have read, if there is one.

    Raises:
        UniversalAgentError: the report or what its session read cannot be read.
        OSError: the same.
        Stopped: the flag was set.
    """
    from ua_tui.observers.check.session import check_in_session

    data = _read(path, stop)
    check = check_in_session(data, known.report, known.session, Redactor(), knowledge, stop)
    return _with_decisions(replace(known, check=check, is_current=True))


def decide(
    file: CheckedFile,
    numbers: Collection[int],
    answer: Answer | None,
    redactor: Redactor,
    note: str | None = None,
) -> CheckedFile:
    """Store an answer about some claims, None to open them again, or if there is a `note` only that. Blocks.

    Raises:
        WorkspaceError: the decisions cannot be written, or are somebody else's.
    """
    decisions = _decisions_of(file)
    answers = {number: answer if note is None else file.answer(number) for number in numbers}
    for each in set(answers.values()):
        same = [number for number in answers if answers[number] == each]
        decisions.decide(file.claims, same, each, redactor, note=note)
    return _use(file, decisions)


def with_opinions(file: CheckedFile, opinions: Opinions | None) -> CheckedFile:
    """The file with a second opinion."""
    if opinions is None:
        return replace(file, opinions=(), opinion="")
    said = " · ".join(filter(None, (opinions.summary(file.claims), opinions.notice)))
    return replace(file, opinions=tuple(opinions.of(file.claims)), opinion=said)


def _with_decisions(file: CheckedFile) -> CheckedFile:
    decisions = _decisions_of(file)
    file = with_opinions(file, load_opinions(Root(file.session), file.report))
    decisions.read()
    return _use(file, decisions)


def _decisions_of(file: CheckedFile) -> Decisions:
    return Decisions(file.session / decisions_path(file.report), file.report)


def _use(file: CheckedFile, decisions: Decisions) -> CheckedFile:
    found, signed = tuple(decisions.of(file.claims)), decisions.summary(file.claims)
    return replace(file, decisions=found, signed=signed, notice=decisions.notice)


def _read(path: Path, stop: Stop) -> bytes:
    piece = read_piece(path, LARGEST_REPORT, stop=stop)
    if not piece.complete:
        raise FileUnviewable(
            f"This file has more than {LARGEST_REPORT >> 20} MB: it is too large to be checked."
        )
    return piece.data
