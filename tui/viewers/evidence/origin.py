"""The check of a file that is shown: read from the session that the file is of, or made again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.evidence.files import LARGEST_REPORT, load_check, report_format
from ua_tui.core.evidence.records import ReportCheck
from ua_tui.core.history.versions import find_origin
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.files import Root
from ua_tui.tui.viewers.evidence.words import ClaimWords, words_of_sentences, words_of_texts
from ua_tui.tui.viewers.reader import FileUnviewable, read_piece

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace


@dataclass(frozen=True)
class CheckedFile:
    """A file of a session, and the check of it.

    Attributes:
        session: the folder of the session.
        report: the path of the report, relative to it.
        check: the newest check; None if there is none.
        is_current: whether the check is of the file as it is.
        rendered: the words of the report as a reader sees it.
        raw: the words of its source; empty if it is very long.
    """

    session: Path
    report: str
    check: ReportCheck | None = None
    is_current: bool = False
    rendered: ClaimWords = field(default_factory=ClaimWords)
    raw: ClaimWords = field(default_factory=ClaimWords)

    @cached_property
    def by_disagreement(self) -> Mapping[int, list[int]]:
        """For each id of a claim the numbers of the disagreements that concern it."""
        found: dict[int, list[int]] = {}
        for number, disagreement in enumerate(self.check.disagreements if self.check else ()):
            for claim in disagreement.claims:
                found.setdefault(claim, []).append(number)
        return found


def has_format(path: Path) -> bool:
    """Whether a file has a format that can be checked, by its name."""
    return report_format(inner_name(path.name)) is not None


def find_check(path: Path, stop: Stop = NEVER, *, words: bool = True) -> CheckedFile | None:
    """Find the check of a report; None if the file is of no session, or no report. Blocks.

    Without `words`, claims are not placed.

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
    found = replace(found, check=check, is_current=is_current)
    return _with_words(found, data, stop) if is_current and words else found


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
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.observers.evidence.check import check_in_session

    data = _read(path, stop)
    check = check_in_session(data, known.report, known.session, Redactor(), knowledge, stop)
    return _with_words(replace(known, check=check, is_current=True), data, stop)


def _read(path: Path, stop: Stop) -> bytes:
    piece = read_piece(path, LARGEST_REPORT, stop=stop)
    if not piece.complete:
        raise FileUnviewable(
            f"This file has more than {LARGEST_REPORT >> 20} MB: it is too large to be checked."
        )
    return piece.data


def _with_words(found: CheckedFile, data: bytes, stop: Stop) -> CheckedFile:
    """Place the claims of a check in the words of its report."""
    from ua_tui.observers.evidence.reading.document import read_report

    assert found.check is not None
    claims = found.check.claims
    report = read_report(data, found.report, stop)
    texts = [(block.text, block.offsets) for block in report.blocks if not block.is_hidden]
    rendered = words_of_texts(texts, claims, stop) if texts else words_of_sentences(claims)
    source = report.source
    raw = rendered
    if texts:
        is_short = len(source) <= (1 << 20)
        raw = words_of_texts([(source, range(len(source)))], claims, stop) if is_short else ClaimWords()
    return replace(found, rendered=rendered, raw=raw)
