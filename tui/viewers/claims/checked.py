"""Finds the check of a file that is shown, with what was decided about its claims."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ua_tui.core.claims.checked_report import CheckedReport
from ua_tui.core.claims.files import LARGEST_REPORT, load_check, report_format
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.history.versions import TextOrigin, find_origin
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.compression import inner_name
from ua_tui.core.storage.files import Root
from ua_tui.tui.viewers.reader import FileUnviewable, read_piece

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace


class FoundCheck(NamedTuple):
    """Which report a file is, its newest check if there is one, and whether that is of another version."""

    origin: TextOrigin
    report: CheckedReport | None = None
    is_old: bool = False


def has_format(path: Path) -> bool:
    """Whether a file has a format that can be checked, by its name."""
    return report_format(inner_name(path.name)) is not None


def find_check(path: Path) -> FoundCheck | None:
    """Find the check of a report; None if the file is of no session, or no report. Blocks.

    Raises:
        Stopped: the result is no longer needed.
    """
    path = Path(os.path.abspath(path))
    origin = find_origin(path) if has_format(path) else None
    if origin is None:
        return None
    with suppress(UniversalAgentError, OSError):
        if (made := load_check(Root(origin.session), origin.source)) is not None:
            is_old = hashlib.sha256(_read(path)).hexdigest() != made.sha256
            return FoundCheck(origin, CheckedReport.read(made, origin.session), is_old)
    return FoundCheck(origin)


def check_again(path: Path, origin: TextOrigin, knowledge: KnowledgePlace | None) -> FoundCheck:
    """Check a report as it is now, without writing anything. Blocks.

    `knowledge` is the file of the knowledge base with what earlier sessions have read, if there is one.

    Raises:
        UniversalAgentError: the report or what its session read cannot be read.
        OSError: the same.
        Stopped: the result is no longer needed.
    """
    from ua_tui.observers.check.session import check_in_session

    made = check_in_session(_read(path), origin.source, origin.session, Redactor(), knowledge)
    return FoundCheck(origin, CheckedReport.read(made, origin.session))


def _read(path: Path) -> bytes:
    piece = read_piece(path, LARGEST_REPORT)
    if not piece.complete:
        raise FileUnviewable(f"This file is larger than {LARGEST_REPORT >> 20} MB and cannot be checked.")
    return piece.data
