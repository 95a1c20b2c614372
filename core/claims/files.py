"""The files of a check in the folder `report_checks` of its session, and the formats of reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from ua_tui.core.claims.records import Check, Claim, Source
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root, Written
from ua_tui.core.storage.folders import REPORT_CHECKS
from ua_tui.core.storage.paths import safe_name
from ua_tui.core.storage.workspace import Workspace

ReportFormat = Literal["html", "markdown", "text", "pdf"]
FORMATS: Mapping[str, ReportFormat] = {
    ".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
    ".mdown": "markdown", ".txt": "text", ".text": "text", ".pdf": "pdf",
}  # fmt: skip
"""The formats that are checked, by the endings of their names."""
LARGEST_REPORT = 64 << 20
"""Bytes of a report that is checked."""

LEDGER = ".claims.json"
"""How the names of the files with decisions and opinions end."""
VERSION = 2
_LARGEST = 32 << 20
_REPORTS = "work_products"


class ReportCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The check of one version of a report.

    `report` is its path relative to the session's folder, `sha256` that of the checked file. `Passage.source` of a
    claim is an index of `sources`.
    """

    version: int = VERSION
    report: str
    sha256: str
    checked_at: datetime | None = None
    duration_ms: float = 0.0
    check: Check
    sources: tuple[Source, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims, in the order of the report."""
        return self.check.claims


# Built as the module is imported: see `ua_tui.core.events.codec`.
_DECODER = msgspec.json.Decoder(ReportCheck)


def report_format(path: str) -> ReportFormat | None:
    """The format of a report by its name or path, also of one that a session compressed; None if it is no report."""
    return FORMATS.get(PurePosixPath(path.removesuffix(SUFFIX)).suffix.lower())


def is_report(path: str, kind: str) -> bool:
    """Whether a saved file is a report of its session: a finished work product in a format that is checked."""
    return kind == "work_product" and report_format(path) is not None


def check_path(report: str) -> str:
    """The path of the check of a report, both relative to the session's folder."""
    parts = PurePosixPath(report.removesuffix(SUFFIX)).parts
    parts = parts[1:] if parts[:1] == (_REPORTS,) else parts
    return f"{REPORT_CHECKS}/{safe_name('__'.join(parts), 150)}.json"


def ledger_path(report: str) -> str:
    """The path of the decisions and opinions about a report, both relative to the session's folder."""
    return f"{check_path(report).removesuffix('.json')}{LEDGER}"


def save_check(workspace: Workspace, check: ReportCheck) -> Written:
    """Write a check with its secrets masked, in place of the one before.

    Raises:
        WorkspaceError: it cannot be written.
    """
    return workspace.write_json(check_path(check.report), msgspec.to_builtins(check))


def load_check(root: Root, report: str) -> ReportCheck | None:
    """Read the newest check of a report; None if there is none, or none of this version.

    Whether it is of the report as it is now, its `sha256` says.
    """
    try:
        check = _DECODER.decode(root.read(check_path(report), _LARGEST))
    except (WorkspaceError, ValueError, RecursionError):
        return None
    if check.version != VERSION or check.report != report:
        return None
    known = range(len(check.sources))
    return check if all(each.source in known for claim in check.claims for each in claim.passages) else None
